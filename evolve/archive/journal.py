r"""The journal of a run: a file of JSON lines that is only ever appended to, one event a line.

Every event has `event` (its name), `seq` (0, 1, 2, ... without a gap) and `t` (wall seconds). Whatever a clock or
the operating system measured stands under a key `measured`. A checksum chains each line to those before it
(`evolve.archive.lines`). `append` returns when the disk has the line, so that nothing is acted on that a crash could
take back (fdatasync: 0.15 ms an event on a virtual disk).

A run has one writer. It locks the journal itself, so that removing another file lets no second writer in; the kernel
releases the lock when its holder ends, however it ends. Before each append the writer checks that the file is still as
it left it: what somebody else wrote is never overwritten.

A writer that was killed leaves at most one line without its `\n`. Opening for writing ends that line if it is whole
and removes it if it is not; a reader waits for the rest of it. Damage anywhere else raises DamagedJournal, which names
the line; only `evolve resume --repair` cuts it off.
"""

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evolve.archive.disk import open_regular_file, os_errors_as_machine_errors, write_all
from evolve.archive.events import Event, document_of, read_event
from evolve.archive.lines import BEGINNING, MAX_LINE, SUM, format_of, seal, unseal
from evolve.core.errors import ArchiveError
from evolve.core.invocation import command

FORMAT = 3
"""The version of the archive's format, in the first event. Raised whenever older code could not read a new archive."""

_BUFFER = 1024 * 1024
_PROBES = 5
_PROBE_S = 0.02


class DamagedJournal(ArchiveError):
    """Raised when a line of the journal is damaged. All of it before `offset` is sound."""

    def __init__(self, path: Path, *, line: int, offset: int, why: str) -> None:
        self.line, self.offset, self.why = line, offset, why
        cure = "Restore the file from a copy"
        if line > 1:
            cure += f", or cut the journal off before that line: {command('resume', path.parent, '--repair')}"
        super().__init__(f"{path}, line {line} is damaged: {why}. {cure}; nothing was changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One event, and where it stands: its line (from 1), its place in the file and its length, in bytes."""

    event: Event
    line: int
    offset: int
    length: int


class Journal:
    """An open journal. Call `entries` once before the first `append` or `more`: reading is what finds the end."""

    def __init__(self, path: Path, *, write: bool) -> None:
        """Open it; to write, lock it. Raises ArchiveError if another process writes it, MachineError."""
        self.path = path
        self.writable = write
        with os_errors_as_machine_errors(path, "opened"):
            self._descriptor = open_regular_file(path, os.O_RDWR if write else os.O_RDONLY)
        self._closed = self._broken = False
        self._begin()
        try:
            if write:
                with os_errors_as_machine_errors(path, "locked"):
                    _lock(self._descriptor, path)
                self._require_in_place()
        except BaseException:  # boundary: whatever happened, the file is closed, and with it the lock goes
            self.close()
            raise

    def _begin(self) -> None:
        self._end = self._next = 0
        self._sum = BEGINNING

    def entries(self) -> Iterator[Entry]:
        """Every event in order, at least one. Raises DamagedJournal at the first line that is not one."""
        self._begin()  # a journal that was just made has its first event appended
        yield from self._further()
        if self._next == 0:
            raise ArchiveError(f"{self.path}: the journal is empty; restore the file from a copy, or begin a new run")

    def more(self) -> Iterator[Entry]:
        """The events that were appended since the last read. A last line that is not whole yet comes with a later call.
        Raises ArchiveError if the file was replaced or has become shorter."""
        self._require_in_place()
        with os_errors_as_machine_errors(self.path, "read"):
            size = os.fstat(self._descriptor).st_size
        if size < self._end:
            raise ArchiveError(f"{self.path}: the file has become shorter since it was read; open the run again")
        yield from self._further()

    def documents(self) -> Iterator[Mapping[str, Any]]:
        """The events that were read or appended so far, as JSON; none that another process appended since."""
        end, checksum, offset = self._end, BEGINNING, 0
        for line in self._lines(0):
            if offset >= end:
                return
            offset += len(line)
            document, checksum = self._again(line, checksum)
            yield document

    def document_at(self, offset: int, length: int) -> Mapping[str, Any]:
        """The event of the entry with that place and length, as JSON."""
        before = min(offset, SUM + 3)  # the checksum of the line before, and what ends that line
        with os_errors_as_machine_errors(self.path, "read"):
            data = os.pread(self._descriptor, length + before, offset - before)
        previous = data[:SUM].decode("ascii", "replace") if before else BEGINNING
        return self._again(data[before:], previous)[0]

    def append(self, event: Event) -> Entry:
        """Number an event, write it and wait for the disk. Returns the event as a reader will find it.

        Raises MachineError when it could not be written, ValueError for a field that readers would refuse; the journal
        is then unchanged. Raises ArchiveError when somebody else has changed the file, which is then left alone.
        """
        numbered = replace(event, seq=self._next, t=round(time.time(), 3))
        line, document, checksum = seal(document_of(numbered), self._sum)
        written = read_event(document)  # refuses what a reader would refuse
        if len(line) > MAX_LINE:
            raise ValueError(f"an event of {len(line)} bytes: none may have more than {MAX_LINE}")
        self._require_in_place()
        with os_errors_as_machine_errors(self.path, "written"):
            descriptor = self._descriptor
            if self._broken:
                os.ftruncate(descriptor, self._end)
                self._broken = False
            self._require_untouched(os.fstat(descriptor).st_size)
            try:
                os.lseek(descriptor, self._end, os.SEEK_SET)
                write_all(descriptor, line)
                os.fdatasync(descriptor)
            except OSError:
                # Set first: should cutting off what was written fail too, the next append does it again.
                self._broken = True
                os.ftruncate(descriptor, self._end)
                self._broken = False
                raise
        return self._take(written, checksum, len(line))

    def close(self) -> None:
        """Close the file, and let the next writer in. Harmless when done twice."""
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)

    def cut(self, offset: int) -> None:
        """Cut the file off at a place. Raises MachineError."""
        with os_errors_as_machine_errors(self.path, "written"):
            os.ftruncate(self._descriptor, offset)
            os.fsync(self._descriptor)

    # -- reading ------------------------------------------------------------------------------------------------

    def _further(self) -> Iterator[Entry]:
        for line in self._lines(self._end):
            if not line.endswith(b"\n"):
                yield from self._torn(line)
                return
            event, checksum = self._parse(line)
            yield self._take(event, checksum, len(line))

    def _lines(self, offset: int) -> Iterator[bytes]:
        """The lines from a place on, each with its end; the last one may lack it."""
        rest = b""
        while True:
            with os_errors_as_machine_errors(self.path, "read"):
                data = os.pread(self._descriptor, _BUFFER, offset)
            offset += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield line + b"\n"
            if len(rest) > MAX_LINE:
                raise self._damage(f"it is longer than {MAX_LINE >> 20} MB")
            if not data:
                break
        if rest:
            yield rest

    def _take(self, event: Event, checksum: str, length: int) -> Entry:
        entry = Entry(event=event, line=self._next + 1, offset=self._end, length=length)
        self._end += length
        self._next += 1
        self._sum = checksum
        return entry

    def _parse(self, line: bytes) -> tuple[Event, str]:
        if self._next == 0 and (number := format_of(line)) not in (None, FORMAT):
            raise ArchiveError(
                f"{self.path}: its format is {number!r:.40}, and this version of evolve reads {FORMAT}; "
                "read it with the version that wrote it, or begin a new run"
            )
        try:
            document, checksum = unseal(line, self._sum)
            event = read_event(document)
        except (ValueError, RecursionError) as cause:
            raise self._damage(str(cause)) from None
        if event.seq != self._next:
            raise self._damage(f"its `seq` is {event.seq} and should be {self._next}: lines are missing")
        return event, checksum

    def _again(self, line: bytes, previous: str) -> tuple[Mapping[str, Any], str]:
        try:
            return unseal(line, previous)
        except ValueError:
            raise ArchiveError(f"{self.path}: the file was changed since it was read; open the run again") from None

    def _torn(self, line: bytes) -> Iterator[Entry]:
        """A last line without an end. A writer ends it if it is complete, else cuts it off; a reader waits."""
        try:
            unseal(line[:-1], self._sum)
        except ValueError:
            pass  # as expected: a line that was cut off contains no whole one
        else:
            raise self._damage("its line end was changed")
        if not self.writable:
            return
        try:
            event, checksum = self._parse(line)
        except DamagedJournal:
            self.cut(self._end)
            return
        with os_errors_as_machine_errors(self.path, "written"):
            os.lseek(self._descriptor, self._end + len(line), os.SEEK_SET)
            write_all(self._descriptor, b"\n")
            os.fdatasync(self._descriptor)
        yield self._take(event, checksum, len(line) + 1)

    def _damage(self, why: str) -> DamagedJournal:
        return DamagedJournal(self.path, line=self._next + 1, offset=self._end, why=why)

    # -- is it still ours? ----------------------------------------------------------------------------------------

    def _require_in_place(self) -> None:
        """Raise ArchiveError unless the open file is the one of that name."""
        with os_errors_as_machine_errors(self.path, "read"):
            mine = os.fstat(self._descriptor)
            try:
                there = os.lstat(self.path)
            except FileNotFoundError:
                there = None
        if there is None or (mine.st_dev, mine.st_ino) != (there.st_dev, there.st_ino):
            what = "is not there any more" if there is None else "was replaced by another"
            raise ArchiveError(
                f"{self.path}: the file that this process opened {what}, so it stops reading and writing; "
                f"look for {self.path.parent}, then open the run again"
            )

    def _require_untouched(self, size: int) -> None:
        if size != self._end:
            what = "somebody else has written to it" if size > self._end else "somebody else has cut it"
            raise ArchiveError(
                f"{self.path}: {what} while this process was writing it ({size} bytes, not {self._end}); "
                f"nothing more is written. Find out which process did, then: {command('resume', self.path.parent)}"
            )


def _lock(descriptor: int, path: Path) -> None:
    """Lock the journal at `path`, open as `descriptor`, until that is closed.

    Raises ArchiveError, naming the process, when another writer holds it; OSError.
    """
    for last in (False,) * _PROBES + (True,):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # a process that only checks (`is_held`) has it for a moment
            if last:
                raise ArchiveError(
                    f"{path.parent} is being written by {_holder(descriptor)}; wait for it to end, or stop it first"
                ) from None
            time.sleep(_PROBE_S)
        else:
            return


def is_held(path: Path) -> bool:
    """Whether a writer holds the journal at `path` now. Changes nothing and does not wait."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # there is none, or it may not be read
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # this file system cannot tell
        return False
    finally:
        os.close(descriptor)  # which releases the lock
    return False


def _holder(descriptor: int) -> str:
    """The process that holds the lock, for the message, where the kernel names it."""
    inode = f":{os.fstat(descriptor).st_ino}"
    try:
        locks = Path("/proc/locks").read_text("ascii", "replace").splitlines()
    except OSError:
        locks = []
    for fields in map(str.split, locks):
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[3] == "WRITE" and fields[5].endswith(inode):
            return f"process {fields[4]}"
    return "another process"

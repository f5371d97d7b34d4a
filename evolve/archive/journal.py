r"""The journal of a run: a file of JSON lines that is only ever appended to, one event a line.

Every event has `event` (its name), `seq` (0, 1, 2, ... without a gap) and `t` (wall seconds). Whatever a clock or
the operating system measured stands under a key `measured`. `append` returns when the disk has the line, so that
nothing is acted on that a crash could take back (fdatasync: 0.15 ms an event on a virtual disk).

A writer that was killed leaves at most one line without its `\n`. Opening for writing ends that line if it is whole
and removes it if it is not; a reader passes over it, because the writer may be about to finish it. Damage anywhere
else is not mended: it raises ArchiveError with the line's number.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from evaluator.untrusted import cut, one_line
from evolve.archive.disk import using, write_all
from evolve.archive.plain import MAX_LINE, open_plain
from evolve.archive.schema import require_sound
from evolve.errors import ArchiveError

_BUFFER = 1024 * 1024
MAX_TEXT = 64 * 1024
"""Characters of a single text in an event; a longer one is cut, and says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One event, and where it stands: its line (from 1), its place in the file and its length, in bytes."""

    event: Mapping[str, Any]
    line: int
    offset: int
    length: int


class Journal:
    """An open journal. Call `entries` once before the first `append`: reading is what finds the end."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self.path = path
        self._write = write
        with using(path, "opened"):
            self._descriptor = open_plain(path, os.O_RDWR if write else os.O_RDONLY)
        self._closed = False
        self._end = 0
        self._next = 0
        self._broken = False

    def entries(self) -> Iterator[Entry]:
        """Every event in order. Raises ArchiveError at the first line that is not one."""
        self._end = self._next = 0
        with using(self.path, "read"), self._reading() as file:
            while line := file.readline(MAX_LINE + 1):
                if len(line) > MAX_LINE:
                    raise self.damaged(self._next + 1, f"it is longer than {MAX_LINE} bytes")
                if not line.endswith(b"\n"):
                    if self._write:
                        yield from self._mend(line)
                    return
                yield self._take(self._parse(line), len(line))

    def events(self) -> Iterator[Mapping[str, Any]]:
        """The events that were read or appended so far, again, and none that another process appended since."""
        left = self._end
        with using(self.path, "read"), self._reading() as file:
            while left > 0:
                line = file.readline(MAX_LINE)
                left -= len(line) or left
                yield self._event(line)

    def entry_at(self, offset: int, length: int) -> Mapping[str, Any]:
        """The event of the entry with that place and length."""
        with using(self.path, "read"):
            line = os.pread(self._descriptor, length, offset)
        return self._event(line)

    def append(self, name: str, fields: Mapping[str, Any]) -> Entry:
        """Write an event and wait for the disk. What is returned is the event as a reader will find it.

        Raises MachineError when it could not be written, ValueError for a field that no reader would take; the journal
        is then as it was before.
        """
        event = {"seq": self._next, "t": round(time.time(), 3), "event": name, **fields}
        line = json.dumps(_bounded(event), separators=(",", ":")).encode("ascii") + b"\n"
        written = json.loads(line)
        require_sound(written)  # what no reader would take is not written
        if len(line) > MAX_LINE:
            raise ValueError(f"an event of {len(line)} bytes: none may have more than {MAX_LINE}")
        with using(self.path, "written"):
            descriptor = self._descriptor
            if self._broken:
                os.ftruncate(descriptor, self._end)
                self._broken = False
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
        return self._take(written, len(line))

    def close(self) -> None:
        """Close the file. Harmless when done twice."""
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)

    def _reading(self) -> BinaryIO:
        """The file, opened again to be read from its beginning."""
        return os.fdopen(open_plain(self.path), "rb", _BUFFER)

    def _take(self, event: Mapping[str, Any], length: int) -> Entry:
        entry = Entry(event=event, line=self._next + 1, offset=self._end, length=length)
        self._end += length
        self._next += 1
        return entry

    def _event(self, line: bytes) -> Mapping[str, Any]:
        try:
            event = _loads(line)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            raise ArchiveError(f"{self.path}: the file was changed while it was being read; try again")
        return event

    def _parse(self, line: bytes) -> Mapping[str, Any]:
        try:
            event = _loads(line)
        except (ValueError, RecursionError) as cause:
            raise self.damaged(self._next + 1, f"it is not JSON ({one_line(str(cause), 120)})") from None
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            raise self.damaged(self._next + 1, "it is not an event")
        if event.get("seq") != self._next:
            raise self.damaged(
                self._next + 1, f"its `seq` is {event.get('seq')!r:.40} and should be {self._next}: lines are missing"
            )
        return event

    def _mend(self, line: bytes) -> Iterator[Entry]:
        """End the torn last line if all of it is there, else cut it off."""
        try:
            event = self._parse(line)
        except ArchiveError:
            with using(self.path, "written"):
                os.ftruncate(self._descriptor, self._end)
                os.fdatasync(self._descriptor)
            return
        with using(self.path, "written"):
            os.lseek(self._descriptor, self._end + len(line), os.SEEK_SET)
            write_all(self._descriptor, b"\n")
            os.fdatasync(self._descriptor)
        yield self._take(event, len(line) + 1)

    def damaged(self, line: int, why: str) -> ArchiveError:
        """The error that says that a line of the journal is damaged."""
        return ArchiveError(
            f"{self.path}: line {line} is damaged: {why}. Restore the file from a copy, "
            "or begin a new run; nothing was changed"
        )


def _loads(line: bytes) -> Any:
    """The value on a line. Raises ValueError (also for NaN and infinities, which are no JSON) and RecursionError."""
    return _DECODER.decode(line.decode("utf-8"))


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def _bounded(value: Any) -> Any:
    """`value` with every text in it cut to MAX_TEXT characters and a note."""
    if isinstance(value, str):
        return cut(value, MAX_TEXT)
    if isinstance(value, Mapping):
        return {key: _bounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_bounded(item) for item in value]
    return value

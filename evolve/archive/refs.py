"""The refs of `programs.git`: derived from the journal, one file each; tags in `packed-refs` once they are many.

Each is written beside and renamed into place, under the name that git itself takes as a ref's lock, and taken as git
takes it: where it exists, somebody else is writing that ref (measured: 0.1 ms a ref; a `git update-ref --stdin` kept
running: 0.12 ms, and a process to look after). They are not synced: what a crash takes away, the next opening for
writing puts back. So a ref that cannot be written ends no run: it waits, is tried again, and `trouble` tells of it.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from evolve.archive.disk import using, write_all
from evolve.archive.plain import MAX_PACKED_REFS, MAX_REF, read_plain
from evolve.errors import ArchiveError

BEST = "refs/heads/best"
ATTEMPTS = "refs/evolve/attempts"
CERTIFICATES = "refs/evolve/certificates"
_TAGS = "refs/tags/gen"
_OWN = (_TAGS, BEST, ATTEMPTS, CERTIFICATES)
"""The names that are ours, each a ref or a folder of refs; all others are left alone."""
_STALE_S = 1.0
"""git holds a lock for milliseconds: one that is older was left by a writer that was killed."""
_RETRIED = 4
"""How many of the refs that wait are tried again when one is written."""
_MANY = 64
"""Loose tags from which on they are packed, if they are also a sixteenth of those that are."""
_MOST = 300_000
"""Lines of `packed-refs`: those of as many programs."""
_HEADER = b"# pack-refs with: peeled fully-peeled sorted \n"


def tag(generation: int) -> str:
    """The ref of a generation's program."""
    return f"{_TAGS}/{generation}"


class Refs:
    """The refs of one bare repository."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._packed = repository / "packed-refs"
        self._waiting: dict[str, str] = {}  # what could not be written yet
        self._why = ""
        self._tags: set[str] = set()  # those with a file of their own
        self._packed_tags = 0

    @property
    def trouble(self) -> str | None:
        """Why refs are not as they should be, in one sentence; None when they are."""
        if not self._why:
            return None
        count = "a ref" if len(self._waiting) == 1 else f"{len(self._waiting) or 'some'} refs"
        return f"{self._repository}: {count} could not be written ({self._why}); opening the run again mends that"

    def read(self) -> dict[str, str]:
        """Our refs, as git would find them: a ref's own file counts before `packed-refs`. Raises MachineError."""
        with using(self._repository / "refs", "read"):
            found: dict[str, str] = {}
            for packed, lines in _parsed(self._packed_bytes())[1].items():
                if _is_own(name := packed.decode("utf-8", "surrogateescape")):
                    found[name] = lines[0].partition(b" ")[0].decode("ascii", "replace")
            self._packed_tags = len(found)
            self._tags = set()
            for name in self._loose():
                found[name] = read_plain(self._repository / name, MAX_REF).decode("utf-8", "replace").strip()
                if name.startswith(f"{_TAGS}/"):
                    self._tags.add(name)
        return found

    def write(self, name: str, commit: str) -> None:
        """Point a ref at a commit, and try again what waits. What cannot be written waits: see `trouble`."""
        self._waiting.pop(name, None)
        for other in [*list(self._waiting)[:_RETRIED], name]:
            value = self._waiting.get(other, commit)
            try:
                self._write(other, value)
            except OSError as cause:
                self._waiting[other] = value
                self._why = f"{other}: {cause.strerror or cause}"
            else:
                self._waiting.pop(other, None)
        if not self._waiting:
            self._why = ""

    def repair(self, expected: Mapping[str, str]) -> None:
        """Make our refs equal to `expected`, whatever was found. For who holds the run's lock. Raises MachineError
        where they cannot even be read."""
        with using(self._repository / "refs", "read"):
            self._sweep()
        present = self.read()
        for name, commit in expected.items():
            if present.get(name) != commit:
                self.write(name, commit)
        surplus = present.keys() - expected.keys()
        if not surplus:
            return
        try:
            self._rewrite({}, {name.encode("utf-8", "surrogateescape") for name in surplus})
            for name in surplus:
                (self._repository / name).unlink(missing_ok=True)
        except OSError as cause:
            self._why = f"packed-refs: {cause.strerror or cause}"

    def pack(self, *, least: int | None = None) -> None:
        """Put the tags into `packed-refs` if there are many, or at least so many. What cannot be done now is left for
        later."""
        if len(self._tags) < (max(_MANY, self._packed_tags // 16) if least is None else least):
            return
        try:
            values = {name: read_plain(self._repository / name, MAX_REF) for name in self._tags}
            self._rewrite({name.encode("ascii"): value.strip() for name, value in values.items()}, set())
            for name, value in values.items():
                path = self._repository / name
                if path.read_bytes() == value:
                    path.unlink()
        except OSError:  # git packs refs itself just now, or the disk is full: they are as good as they are
            return
        self._packed_tags += len(self._tags)
        self._tags = set()

    def _write(self, name: str, commit: str) -> None:
        path = str(self._repository / name)
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        with _replacing(path) as descriptor:
            write_all(descriptor, commit.encode("ascii") + b"\n")
        if name.startswith(f"{_TAGS}/"):
            self._tags.add(name)

    def _rewrite(self, values: Mapping[bytes, bytes], without: set[bytes]) -> None:
        """Write `packed-refs` anew, with those values and without those names; all else stays byte for byte."""
        with _replacing(str(self._packed)) as descriptor:
            header, found = _parsed(self._packed_bytes())
            found |= {name: [b"%s %s\n" % (value, name)] for name, value in values.items()}
            kept = (line for name in sorted(found) if name not in without for line in found[name])
            write_all(descriptor, header + b"".join(kept))
            os.fsync(descriptor)

    def _packed_bytes(self) -> bytes:
        try:
            data = read_plain(self._packed, MAX_PACKED_REFS)
        except FileNotFoundError:
            return b""
        if data.count(b"\n") > _MOST:
            raise ArchiveError(f"{self._packed}: it has more than {_MOST} lines, and so is none of a run; remove it")
        return data

    def _sweep(self) -> None:
        """Remove the locks that a killed writer left on our refs."""
        until = time.monotonic() + _STALE_S
        for path in [*self._locks(), Path(f"{self._packed}.lock")]:
            while (age := _age(path)) is not None:
                if age >= _STALE_S or time.monotonic() >= until:
                    path.unlink(missing_ok=True)
                    break
                time.sleep(0.02)

    def _locks(self) -> Iterator[Path]:
        for own in _OWN:
            path = self._repository / own
            yield path.with_name(f"{path.name}.lock")
            if path.is_dir():
                yield from path.glob("*.lock")

    def _loose(self) -> list[str]:
        names = []
        for own in _OWN:
            path = self._repository / own
            if path.is_file():
                names.append(own)
            elif path.is_dir():
                names += [f"{own}/{name}" for name in os.listdir(path) if not name.endswith(".lock")]  # noqa: PTH208
        return names


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[int]:
    """The lock of a ref, to write into: it takes the ref's place at the end. Raises OSError, FileExistsError among
    them."""
    descriptor = os.open(path + ".lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        try:
            yield descriptor
        finally:
            os.close(descriptor)
        os.rename(path + ".lock", path)  # noqa: PTH104
    except BaseException:  # boundary: whatever happened, nobody waits for a lock of ours
        with contextlib.suppress(OSError):
            os.unlink(path + ".lock")  # noqa: PTH108
        raise


def _age(path: Path) -> float | None:
    try:
        return time.time() - path.lstat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return None


def _parsed(data: bytes) -> tuple[bytes, dict[bytes, list[bytes]]]:
    """The header of `packed-refs`, and the lines of each ref by its name; the second is what a tag stands for."""
    header, found, name = _HEADER, dict[bytes, list[bytes]](), b""
    for line in filter(None, data.split(b"\n")):
        whole = line + b"\n"
        if line.startswith(b"#"):
            header = whole
        elif line.startswith(b"^"):
            found.setdefault(name, []).append(whole)
        else:
            name = line.strip().partition(b" ")[2]
            found[name] = [whole]
    return header, found


def _is_own(name: str) -> bool:
    """Whether a name in `packed-refs` is one of ours: never a way out of the repository, for it becomes a path."""
    folder, _, last = name.rpartition("/")
    return name in _OWN or (folder in _OWN and last not in ("", ".", "..") and "\0" not in last)

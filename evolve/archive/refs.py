"""The refs of `programs.git`, all of them in `packed-refs`: they follow the journal, and are written from it.

They are written together, now and then, so they may be some programs behind. They serve git's own commands alone:
nothing here reads a run by its refs, and opening a run for writing restores them. So refs that cannot be written end
no run: they are written later, and `trouble` says why.
"""

import contextlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from evolve.archive.disk import MAX_PACKED_REFS, os_errors_as_machine_errors, read_regular_file, write_all
from evolve.core.errors import ArchiveError

BEST = "refs/heads/best"
ATTEMPTS = "refs/evolve/attempts"
CERTIFICATES = "refs/evolve/certificates"
_TAGS = "refs/tags/gen"
_OWN = (_TAGS, BEST, ATTEMPTS, CERTIFICATES)
"""Our refs and folders of refs; all others are left alone."""
_STALE_S = 1.0
"""git holds a lock for milliseconds: an older one was left by a killed writer."""
_MOST = 300_000
"""Lines of `packed-refs`: one per program."""
_HEADER = b"# pack-refs with: peeled fully-peeled sorted \n"


def tag(generation: int) -> str:
    """The ref of a generation's program."""
    return f"{_TAGS}/{generation}"


class Refs:
    """The refs of one bare repository. `trouble`: why they are not as they should be, in a sentence."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._packed = repository / "packed-refs"
        self.trouble: str | None = None

    def follow(self, expected: Mapping[str, str]) -> None:
        """Make our refs equal to `expected`. Raises MachineError or ArchiveError where they cannot be read."""
        self.trouble = None
        with os_errors_as_machine_errors(self._packed, "read"):
            loose = self._loose()
            if not loose and self._following(expected) == self._read():
                return
        try:
            with _replacing(str(self._packed)) as descriptor:
                write_all(descriptor, self._following(expected))
                os.fsync(descriptor)
            for path in loose:
                path.unlink(missing_ok=True)
        except OSError as cause:
            why = f"{Path(cause.filename or self._packed).name}: {cause.strerror or cause}"
            self.postpone(why)

    def postpone(self, why: str) -> None:
        """Say that refs could not be written: they stay behind the journal."""
        self.trouble = f"{self._repository}: refs could not be written ({why}); opening the run again repairs them"

    def newest_attempts(self) -> str | None:
        """The commit that `packed-refs` names for ATTEMPTS. Raises MachineError or ArchiveError."""
        with os_errors_as_machine_errors(self._packed, "read"):
            named = re.search(rb"^([0-9a-f]{40}) refs/evolve/attempts$", self._read(), re.MULTILINE)
        return None if named is None else named[1].decode("ascii")

    def is_held(self) -> bool:
        """Whether some process holds the lock of git's refs now."""
        return Path(f"{self._packed}.lock").exists()

    def sweep(self) -> None:
        """Remove the lock that a killed writer left; needs the run's lock. Raises MachineError."""
        lock, until = Path(f"{self._packed}.lock"), time.monotonic() + _STALE_S
        with os_errors_as_machine_errors(lock, "removed"), contextlib.suppress(FileNotFoundError):
            while time.time() - lock.lstat().st_mtime < _STALE_S and time.monotonic() < until:
                time.sleep(0.02)
            lock.unlink()

    def _following(self, expected: Mapping[str, str]) -> bytes:
        """The content that `packed-refs` should have. Refs that are not ours stay byte for byte."""
        header, refs, name = _HEADER, dict[bytes, list[bytes]](), b""
        for line in filter(None, self._read().split(b"\n")):
            whole = line + b"\n"
            if line.startswith(b"#"):
                header = whole
            elif line.startswith(b"^"):  # what the tag before it stands for
                refs.setdefault(name, []).append(whole)
            else:
                name = line.strip().partition(b" ")[2]
                refs[name] = [whole]
        kept = {name: lines for name, lines in refs.items() if not _is_own(name)}
        kept |= {name.encode(): [f"{commit} {name}\n".encode()] for name, commit in expected.items()}
        return header + b"".join(line for name in sorted(kept) for line in kept[name]) if kept else b""

    def _read(self) -> bytes:
        try:
            data = read_regular_file(self._packed, MAX_PACKED_REFS)
        except FileNotFoundError:
            return b""
        if data.count(b"\n") > _MOST:
            raise ArchiveError(f"{self._packed}: it has more than {_MOST} lines, too many for a run; remove it")
        return data

    def _loose(self) -> list[Path]:
        """Our refs in files of their own, written by git or a clone: they would override `packed-refs`."""
        paths = [self._repository / own for own in _OWN]
        paths += [path for folder in paths if folder.is_dir() for path in folder.iterdir()]
        return [path for path in paths if path.is_file() and path.suffix != ".lock"]


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[int]:
    """Write a file as git does: into its lock file, which replaces it at the end. Raises OSError, FileExistsError among
    them."""
    descriptor = os.open(path + ".lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        try:
            yield descriptor
        finally:
            os.close(descriptor)
        os.rename(path + ".lock", path)  # noqa: PTH104
    except BaseException:  # boundary: whatever happened, no lock of ours stays
        with contextlib.suppress(OSError):
            os.unlink(path + ".lock")  # noqa: PTH108
        raise


def _is_own(name: bytes) -> bool:
    folder, _, _ = name.rpartition(b"/")
    return any(own.encode() in (name, folder) for own in _OWN)

"""Files of a run's folder: opened so that nothing else is, written so that they last; what goes wrong, in a sentence.

The folder may be somebody else's. A link in it would make us read or overwrite a file of the user's own, a pipe or a
device would never end. Opening a run looks once at every name that is used (`require_regular_files`); after that each
file is opened without following a link, waiting for a pipe or trusting a size.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evolve.core.errors import ArchiveError, MachineError

MAX_CONFIG: Final = 1024 * 1024
"""Bytes of a `run.yaml`."""
MAX_PACKED_REFS: Final = 24 * 1024 * 1024
MAX_DEPTH: Final = 8
"""Folders within folders of a run; ours are at most five deep."""

_KINDS: Final = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a folder"),
)

_ADVICE = {
    errno.ENOSPC: "make room on that disk, then try again",
    errno.EDQUOT: "your disk quota is used up; make room, then try again",
    errno.EFBIG: "the limit on the size of a file is reached (ulimit -f); raise it, then try again",
    errno.EROFS: "the file system is read-only; run where you may write",
    errno.EACCES: "check the permissions of that path, or run where you may write",
    errno.EPERM: "check the permissions of that path, or run where you may write",
    errno.ENOTDIR: "a part of that path is a file; move it away, or run elsewhere",
    errno.EMFILE: "too many files are open (ulimit -n); raise the limit, then try again",
    errno.ENOLCK: "this file system cannot lock files; keep runs on a local disk",
}


@contextmanager
def os_errors_as_machine_errors(path: Path, action: str) -> Iterator[None]:
    """Turn an OSError of the body into a MachineError: `path` could not be `action` ("written", "read"), and why."""
    try:
        yield
    except OSError as cause:
        reason = cause.strerror or str(cause)
        advice = _ADVICE.get(cause.errno or 0, "check the disk, then try again")
        raise MachineError(f"{path}: cannot be {action} ({reason}); {advice}") from cause


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`; a single write may take less than all of it. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def write_file(path: Path, data: bytes) -> None:
    """Write a new file and wait until the disk has it. Raises OSError, FileExistsError among them."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flusher(folder: Path) -> Callable[[int], None]:
    """The function that makes new files under `folder` durable before the next synced write to a file next to them.

    Where a file system has one ordered log (ext4, xfs, and overlay on one of the two, as in containers), it is enough
    that the data is on the disk: names and sizes follow with the log when the journal's event is synced. Elsewhere each
    file is synced by itself. Measured on ext4, for the four objects of a program and the journal's event, with both
    cores busy: not flushed 27.7 ms, flushed so 25.4 ms, by fsync 40.9 ms (with the cores half busy 11.5, 9.4 and
    25.6 ms).
    """
    if _kind_of_file_system(folder) not in _ORDERED:
        return os.fsync
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "sync_file_range", None)
    if call is None:
        return os.fsync
    call.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]

    def flush(descriptor: int) -> None:
        if call(descriptor, 0, 0, _WAIT_BEFORE | _WRITE | _WAIT_AFTER) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return flush


_ORDERED = frozenset({"ext4", "xfs", "overlay"})
_WAIT_BEFORE, _WRITE, _WAIT_AFTER = 1, 2, 4  # sync_file_range(2)


def _kind_of_file_system(folder: Path) -> str | None:
    device = os.stat(folder).st_dev  # noqa: PTH116
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text("utf-8", "replace")
    except OSError:  # no /proc: unknown, so the slower way is used
        return None
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        if fields.split()[2] == number:
            return rest.split()[0]
    return None


def sync_folder(path: Path) -> None:
    """Wait until the disk has the names in a folder. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def kind_of(mode: int) -> str:
    """In words, what a path with this mode is, such as "a pipe"."""
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "a file")


def _refused(path: Path, mode: int) -> ArchiveError:
    """The error for a path of a run that is something else than a file (or a folder)."""
    wanted = "a folder" if stat.S_ISREG(mode) else "a file" if stat.S_ISDIR(mode) else "a file or folder"
    return ArchiveError(
        f"{path} is {kind_of(mode)}, where {wanted} of the run should be; it was not read. Links within a run's "
        "folder are not followed: put the file or folder itself there, or restore the run from a copy"
    )


def open_regular_file(path: Path | str, flags: int = os.O_RDONLY, *, within: int | None = None) -> int:
    """Open a regular file; returns its descriptor. `within` is its open folder; without it, links on the way are
    followed. Raises ArchiveError for anything else, OSError as `os.open` does."""
    name = path if within is None else Path(path).name
    try:
        descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666, dir_fd=within)
    except OSError as cause:
        if cause.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            mode = os.stat(name, dir_fd=within, follow_symlinks=False).st_mode
            raise _refused(Path(path), mode) from None
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise _refused(Path(path), mode)
    return descriptor


def read_regular_file(path: Path | str, most: int, *, within: int | None = None) -> bytes:
    """Read a regular file of at most `most` bytes; `within` as for open_regular_file. Raises ArchiveError, OSError."""
    with os.fdopen(open_regular_file(path, within=within), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ArchiveError(f"{path}: it is larger than {most} bytes, so it is no such file of a run; it was not read")
    return data


def require_regular_files(folder: Path, files: tuple[str, ...], folders: tuple[str, ...]) -> None:
    """Raise ArchiveError if one of the `files` or anything within the `folders` of a run's folder is neither a regular
    file nor a folder. Missing ones are skipped. The folder itself may be a link: its owner put it there."""
    with os_errors_as_machine_errors(folder, "read"):
        for name in files:
            _require(folder / name, stat.S_ISREG)
        for name in folders:
            _require((folder / name).parent if "/" in name else folder / name, stat.S_ISDIR)
        waiting = [(folder / name, 1) for name in folders]
        while waiting:
            path, depth = waiting.pop()
            if not _require(path, stat.S_ISDIR):
                continue
            if depth > MAX_DEPTH:
                raise ArchiveError(f"{path}: folders are nested more than {MAX_DEPTH} deep; this is no run's folder")
            try:
                with os.scandir(path) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append((path / entry.name, depth + 1))
                        elif not entry.is_file(follow_symlinks=False):
                            _require(path / entry.name, stat.S_ISREG)
            except FileNotFoundError:  # a writer removed it meanwhile
                continue


def _require(path: Path, is_kind: Callable[[int], bool]) -> bool:
    """Whether the path exists. Raises ArchiveError if it is of another kind."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    if not is_kind(mode):
        raise _refused(path, mode)
    return True

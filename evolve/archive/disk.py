"""What can go wrong with a disk, said in one sentence with advice."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evolve.errors import MachineError

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
def using(path: Path, action: str) -> Iterator[None]:
    """Turn an OSError of the body into a MachineError: `path` could not be `action` ("written", "read"), and why."""
    try:
        yield
    except OSError as cause:
        reason = cause.strerror or str(cause)
        advice = _ADVICE.get(cause.errno or 0, "see what ails the disk, then try again")
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


def sync_folder(path: Path) -> None:
    """Wait until the disk has the names in a folder. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Files of a run's folder, opened so that nothing else is: no link is followed, no pipe waited for, no size trusted.

The folder may be somebody else's. A link in it would make us read or overwrite a file of the user's own, a pipe or a
device would never end. Opening looks at every name that is used (`require_plain`), once; after that each file is
opened without following a link.
"""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from evolve.archive.disk import using
from evolve.core.errors import ArchiveError

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


def refused(path: Path, mode: int) -> ArchiveError:
    """The error that says that there is something else where a file (or a folder) of a run should be."""
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "a file")
    wanted = "folder" if stat.S_ISREG(mode) else "file"
    return ArchiveError(
        f"{path} is {kind}, where a plain {wanted} of the run should be; nothing of it was read. Within a run's folder "
        "no link is followed: put the thing itself there, or restore the folder from a copy"
    )


def open_plain(path: Path | str, flags: int = os.O_RDONLY) -> int:
    """The descriptor of a plain file. Raises ArchiveError for anything else, OSError as `os.open` does."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as cause:
        if cause.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise refused(Path(path), os.lstat(path).st_mode) from None
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise refused(Path(path), mode)
    return descriptor


def read_plain(path: Path | str, most: int) -> bytes:
    """What is in a plain file of at most `most` bytes. Raises ArchiveError, OSError."""
    with os.fdopen(open_plain(path), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ArchiveError(f"{path}: it is larger than {most} bytes, and so no such file of a run; it was not read")
    return data


def require_plain(folder: Path, files: tuple[str, ...], folders: tuple[str, ...]) -> None:
    """Raise ArchiveError if one of the `files` or anything within the `folders` of a run's folder is neither a plain
    file nor a folder. What is not there is passed over. The folder itself may be a link: its owner put it there."""
    with using(folder, "read"):
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
                raise ArchiveError(f"{path}: folders are nested more than {MAX_DEPTH} deep; that is no run's folder")
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
    """Whether there is such a thing. Raises ArchiveError if it is of another kind."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    if not is_kind(mode):
        raise refused(path, mode)
    return True

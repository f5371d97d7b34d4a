"""One writer per run: a lock on a file, which the kernel takes back when its holder ends, however it ends."""

import fcntl
import os
import time
from pathlib import Path

from evolve.archive.disk import using, write_all
from evolve.archive.plain import open_plain
from evolve.errors import ArchiveError

_PROBES = 5
_PROBE_S = 0.02


def is_held(path: Path) -> bool:
    """Whether a writer holds the lock at `path` now. Changes nothing, and waits for nobody."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # no lock was ever taken here, or it may not be looked at
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # this file system cannot tell
        return False
    finally:
        os.close(descriptor)  # which lets the lock go, too
    return False


class Lock:
    """Held from construction to `release`. Raises ArchiveError, naming the process, when another writer holds it.

    The file stays when the lock goes: what counts is the lock on it, so there is no stale one to recognise.
    The process id inside is only for the message.
    """

    def __init__(self, path: Path) -> None:
        with using(path, "written"):
            self._descriptor: int | None = open_plain(path, os.O_RDWR | os.O_CREAT)
            try:
                self._take(self._descriptor)
                os.ftruncate(self._descriptor, 0)
                write_all(self._descriptor, f"{os.getpid()}\n".encode())
            except BlockingIOError:
                holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
                os.close(self._descriptor)
                raise ArchiveError(
                    f"{path.parent} is being written by process {holder}; wait for it to end, or stop it first"
                ) from None
            except OSError:
                os.close(self._descriptor)
                raise

    def _take(self, descriptor: int) -> None:
        """Lock, or raise BlockingIOError. Who only looks whether it is held (`is_held`) has it for a moment."""
        for _ in range(_PROBES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_PROBE_S)
            else:
                return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        """Let the next writer in. Harmless when done twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

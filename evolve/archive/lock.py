"""One writer per run: a lock on the journal itself, which the kernel takes back when its holder ends, however it ends.

The lock is on what is written, not on a file beside it: removing a file lets no second writer in.
"""

import fcntl
import os
import time
from pathlib import Path

from evolve.core.errors import ArchiveError

_PROBES = 5
_PROBE_S = 0.02


def take(descriptor: int, path: Path) -> None:
    """Lock the journal at `path`, open as `descriptor`, until that is closed.

    Raises ArchiveError, naming the process, when another writer holds it; OSError.
    """
    for last in (False,) * _PROBES + (True,):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # who only looks whether it is held (`is_held`) has it for a moment
            if last:
                raise ArchiveError(
                    f"{path.parent} is being written by {_holder(descriptor)}; wait for it to end, or stop it first"
                ) from None
            time.sleep(_PROBE_S)
        else:
            return


def is_held(path: Path) -> bool:
    """Whether a writer holds the journal at `path` now. Changes nothing, and waits for nobody."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # there is none, or it may not be looked at
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


def _holder(descriptor: int) -> str:
    """Who holds the lock, for the message alone: the kernel knows, and need not tell."""
    inode = f":{os.fstat(descriptor).st_ino}"
    try:
        locks = Path("/proc/locks").read_text("ascii", "replace").splitlines()
    except OSError:
        locks = []
    for fields in map(str.split, locks):
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[3] == "WRITE" and fields[5].endswith(inode):
            return f"process {fields[4]}"
    return "another process"

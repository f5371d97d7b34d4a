"""A temporary folder that goes with its process. What a killed process left is removed by the next one.

A process holds a lock on its folder. The kernel releases it, however the process ends.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "evolve-packed-"


class OwnFolder:
    """A new folder, `path`, after the removal of those whose processes have ended."""

    def __init__(self) -> None:
        for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with suppress(OSError):  # it is another user's, or gone
                _remove_if_left(left)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            with suppress(FileNotFoundError):  # another process took it for one that was left
                self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                fcntl.flock(self._lock, fcntl.LOCK_EX)
                if self.path.is_dir():
                    return
                os.close(self._lock)

    def close(self) -> None:
        """Remove the folder; a second call does nothing."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def _remove_if_left(folder: Path) -> None:
    """Remove a folder that no process has locked. Raises OSError for one that is locked or may not be opened."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)

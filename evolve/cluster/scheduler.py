"""A scheduler on loopback for a cluster on this machine: `python -m evolve.cluster.scheduler PORT FOLDER`.

It is confined like the broker, since it unpickles what its peers send. It writes its address to its standard output,
and ends with its standard input.
"""

import asyncio
import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from evaluator.errors import SandboxError
from evolve.cluster.confinement import confine
from evolve.cluster.engine import schedule


def end_with_input(end: Callable[[], object]) -> None:
    """Call `end` when the standard input of this process ends: with the process that holds its other end."""

    def wait() -> None:
        while os.read(0, 1 << 16):
            continue
        end()

    threading.Thread(target=wait, daemon=True).start()


def _vanish(folder: Path) -> None:
    """End at once, and leave no file: the folder's owner may have been killed."""
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _say(address: str) -> None:
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()


def main(port: int, folder: Path) -> None:
    """Run until the input ends; `folder` is all that it may write."""
    try:
        confine(folder)
        end_with_input(lambda: _vanish(folder))
        asyncio.run(schedule(port, folder, _say))
    except (SandboxError, OSError) as why:
        sys.stderr.write(f"{why}\n")
        sys.stderr.flush()
        os._exit(3)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))

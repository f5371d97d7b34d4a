"""The page of a run beside the run: a process of its own, so that the run waits for nothing, which ends with it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evolve.view.listening import address, listen


@contextmanager
def page_beside(folder: Path) -> Iterator[str]:
    """Serve the run in `folder`, and those beside it, and open its page; the address. What serves yields to whatever
    else wants the processor, and ends when the block does, or with this process, however that ends."""
    with listen(None) as listening:
        where = address(listening, folder.name)
        child = subprocess.Popen(
            [sys.executable, "-m", "evolve", "view", str(folder.absolute()), "--socket", str(listening.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listening.fileno()],
            start_new_session=True,  # Ctrl-C is the run's
        )
    assert child.stdin is not None
    try:
        yield where
    finally:
        child.stdin.close()
        child.wait()

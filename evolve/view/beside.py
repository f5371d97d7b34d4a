"""The page of a run beside the run: a process of its own, so that the run waits for nothing, which ends with it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evolve.view.listening import address, listen, new_key


@contextmanager
def page_beside(folder: Path) -> Iterator[str]:
    """Serve the run in `folder`, and those beside it, and open its page; the address. What serves yields to whatever
    else wants the processor, and ends when the block does, or with this process, however that ends; pages that are open
    are told the last that was recorded first."""
    folder = folder.resolve()  # by which name the server knows the run, if the folder is a link
    key = new_key()
    with listen(None) as listening:
        where = address(listening, key, folder.name)
        child = subprocess.Popen(
            [sys.executable, "-m", "evolve", "view", str(folder), "--socket", str(listening.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listening.fileno()],
            start_new_session=True,  # Ctrl-C is the run's
        )
    assert child.stdin is not None
    try:
        with suppress(BrokenPipeError):  # the page has failed, which is no reason for the run to
            os.write(child.stdin.fileno(), f"{key}\n".encode())  # no argument: other users can read those
        yield where
    finally:
        child.stdin.close()
        child.wait()

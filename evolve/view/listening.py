"""Where the pages are had: a port of this machine alone, a key to them, a browser that opens them, and a process of
its own for the page of a run that goes on."""

import os
import secrets
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from evolve.core.errors import InputError, MachineError
from evolve.core.invocation import command

HOST: Final = "127.0.0.1"
PORT: Final = 8321
"""Taken where none is asked for and this one is free."""


def listen(port: int | None) -> socket.socket:
    """A socket that listens at a port of this machine; None: at `PORT`, or at any other where that is taken. Raises
    InputError where the port that was asked for cannot be had, MachineError."""
    for wanted in (PORT, 0) if port is None else (port,):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, wanted))
            listening.listen(64)
        except (OSError, OverflowError) as cause:
            listening.close()
            failure = cause
        else:
            return listening
    why = (failure.strerror if isinstance(failure, OSError) else None) or str(failure)
    if port is None:
        raise MachineError(f"this machine has no free port to listen at ({why})")
    raise InputError(
        f"port {port} (--port) cannot be listened at ({why}); name another, or none, and a free one is taken: "
        f"{command('view')}"
    )


def new_key() -> str:
    """What an address must begin with, so that no other user of this machine can guess it."""
    return secrets.token_urlsafe(18)


def address(listening: socket.socket, key: str, run: str | None = None) -> str:
    """What to open in a browser: the runs, or one of them."""
    view = "" if run is None else f"#/run/{quote(run, safe='')}"
    return f"http://{HOST}:{listening.getsockname()[1]}/{key}/{view}"


def open_in_browser(where: str) -> bool:
    """Open an address where there is a screen to open it on; whether it was opened."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    with suppress(webbrowser.Error):
        return webbrowser.open(where)
    return False


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

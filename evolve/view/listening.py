"""Access to the pages: a port on this machine only, a key, a browser, and a background server for a run in progress."""

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
"""The default port, if it is free."""


def listen(port: int | None) -> socket.socket:
    """A socket that listens on a port of this machine; None: on `PORT`, or on any free one if that is taken. Raises
    InputError if the requested port is unavailable, MachineError if no port is."""
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
        raise MachineError(f"this machine has no free port to listen on ({why})")
    raise InputError(
        f"cannot listen on port {port} (--port): {why}; name another one, or leave it out to use any free port: "
        f"{command('view')}"
    )


def new_key() -> str:
    """A random key for the addresses, so that other users of this machine cannot guess them."""
    return secrets.token_urlsafe(18)


def address(listening: socket.socket, key: str, run: str | None = None) -> str:
    """The address of all runs, or of one of them."""
    view = "" if run is None else f"#/run/{quote(run, safe='')}"
    return f"http://{HOST}:{listening.getsockname()[1]}/{key}/{view}"


def open_in_browser(where: str) -> bool:
    """Open an address in a browser if there is a screen; whether it was opened."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    with suppress(webbrowser.Error):
        return webbrowser.open(where)
    return False


@contextmanager
def background_page(folder: Path) -> Iterator[str]:
    """Serve the run in `folder` and its neighbours from a background process of low priority; the address of the run's
    page. The server ends with the block or with this process, and first sends open pages the last events."""
    folder = folder.resolve()  # the server knows the run by this name, also if the folder is a link
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
        with suppress(BrokenPipeError):  # a failed page must not stop the run
            os.write(child.stdin.fileno(), f"{key}\n".encode())  # not an argument: other users can read those
        yield where
    finally:
        child.stdin.close()
        child.wait()

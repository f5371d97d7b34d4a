"""Commands in a terminal of their own."""

import fcntl
import os
import pty
import struct
import sys
import termios
import threading
from functools import partial
from pathlib import Path

from tests.loop.climbing import ROOT, forked


def screen(*words: str, width: int, typed: bytes = b"", code: int = 0, **environment: str) -> str:
    """What a terminal `width` columns wide gets from a command that must end with `code`; `typed` is typed there."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
    kept |= {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **environment}
    received: list[bytes] = []
    reader = threading.Thread(target=_read_all, args=(master, received))
    reader.start()
    os.write(master, typed)
    try:
        ran = forked(Path.cwd(), words, kept, partial(_move_to, os.ttyname(slave)))
    finally:
        os.close(slave)
        reader.join()
        os.close(master)
    text = b"".join(received).decode("utf-8").replace("\r\n", "\n")
    assert ran.returncode == code, text
    return text


def _move_to(terminal: str) -> None:
    """Let the standard streams of this process be a terminal."""
    opened = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    for descriptor in (0, 1, 2):
        os.dup2(opened, descriptor)
    os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115


def _read_all(terminal: int, received: list[bytes]) -> None:
    """Read what a terminal gets until nobody has its other end open."""
    try:
        while chunk := os.read(terminal, 65536):
            received.append(chunk)
    except OSError:  # how Linux tells that the other end was closed
        pass

"""A Dask worker that is not honest: `python hostile_worker.py ADDRESS NAME KIND ARGUMENT`.

It reports on itself as an honest one does. What it returns for a program is of some KIND.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evolve.cluster import serving
from evolve.cluster.engine import work
from evolve.cluster.serving import DESK, EVALUATE

ADDRESS, NAME, KIND, ARGUMENT = sys.argv[1:]


class Attack:
    """Runs code where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        path, victim = ARGUMENT.split(",")
        return exec, (ATTACKS.format(path=path, victim=victim), {})


ATTACKS = """
import os, pickle, signal, socket
path, there = {path!r}, {path!r} + '.there'
for attempt in (
    lambda: open(path, 'w').close(),
    lambda: os.mkdir(path),
    lambda: os.symlink('/', path),
    lambda: os.unlink(there),
    lambda: os.truncate(there, 0),
    lambda: os.chmod(there, 0o777),
    lambda: os.utime(there, (1, 1)),
    lambda: os.setxattr(there, 'user.x', b'1'),
    lambda: os.kill({victim}, signal.SIGKILL),
    lambda: signal.pidfd_send_signal(os.pidfd_open({victim}), signal.SIGKILL),
    lambda: os.system('touch ' + path),
    lambda: os.fork() or os._exit(0),
    lambda: open('/proc/{victim}/mem', 'r+b').close(),
):
    try:
        attempt()
    except OSError:
        pass
"""
"""Each would change a file or a process of the head."""


class Sleeping:
    """Ends never where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return time.sleep, (1e6,)


class Deadly:
    """Ends the process that unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (0,)


class Huge:
    """Takes a gigabyte where it is unpickled, and seems small where it was made."""

    def __sizeof__(self) -> int:
        return 100

    def __reduce__(self) -> tuple[Any, ...]:
        return str, ("x" * (1 << 30),)


def endless(text: str) -> str:
    """A report with twenty thousand instances."""
    document = json.loads(text)
    process = document["recording"]["process"]
    process["turns"] += process["turns"][-1:] * 20_000
    return json.dumps(document)


def better(text: str) -> str:
    """A report of a program that gave the best answers; the questions are those that were asked."""
    document = json.loads(text)
    for turn, best in zip(document["recording"]["process"]["turns"][1:], ARGUMENT.split(","), strict=True):
        for reply in turn["replies"]:
            reply.update(answer=best, failure=None, detail="", fault=None)
        turn.update(failure=None, detail="", alive=True)
    return json.dumps(document)


ODD: dict[str, Callable[[str], Any]] = {
    "number": lambda _: 5,
    "pickle": lambda _: Attack(),
    "sleeping": lambda _: Sleeping(),
    "gigabyte": lambda _: (True, "x" * (1 << 30)),
    "hidden gigabyte": lambda _: Huge(),
    "nonsense": lambda _: (True, "[]"),
    "endless": lambda text: (True, endless(text)),
    "better": lambda text: (True, better(text)),
    "dead": lambda _: os._exit(1),
    "dead of": lambda text: (True, text),
}


class HostileDesk:
    """The desk of an honest worker, with other results."""

    def call(self, function: str, text: str) -> Any:
        if KIND == "dead of" and function == EVALUATE and ARGUMENT in text:
            os._exit(1)
        if KIND == "deadly of":
            return Deadly() if function == EVALUATE and ARGUMENT in text else DESK.call(function, text)
        ok, result = DESK.call(function, text)
        return ODD[KIND](result) if function == EVALUATE else (ok, result)


serving.DESK = HostileDesk()  # type: ignore[misc,assignment]
with tempfile.TemporaryDirectory() as folder:
    DESK.begin(NAME, Path(folder))
    asyncio.run(work(ADDRESS, NAME, Path(folder), lost=lambda: os._exit(4)))
os._exit(0)

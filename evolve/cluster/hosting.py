"""A worker on this machine: `evolve worker ADDRESS`.

Two processes. One, without Dask, keeps the other running: it starts another one when that one died or lost its
scheduler, and ends when the scheduler closed it or cannot be reached for a minute. The other is the Dask worker. It
ends with the first, and every candidate ends with it.
"""

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from evolve.cluster.confinement import environment
from evolve.cluster.engine import SchedulerGone, work
from evolve.cluster.scheduler import end_with_input
from evolve.cluster.serving import DESK

PATIENCE_S: Final = 60.0
"""Seconds without a scheduler after which a worker gives up."""
_CLOSED: Final = 0
_NO_SCHEDULER: Final = 3
_LOST_SCHEDULER: Final = 4
_PAUSE_S: Final = 1.0


def command_of(address: str, name: str, *, until_closed: bool) -> list[str]:
    """The command that hosts a worker; `until_closed`: until its standard input is closed."""
    more = ["--until-closed"] if until_closed else []
    return [sys.executable, "-m", "evolve.cluster.hosting", address, "--name", name, *more]


def host(address: str, name: str) -> int:
    """Keep a worker running; an exit code."""
    with tempfile.TemporaryDirectory(prefix="evolve-worker-") as folder:
        return _keep_running([sys.executable, "-m", "evolve.cluster.hosting", address, "--name", name, "--in", folder])


def _keep_running(command: Sequence[str]) -> int:
    reached = time.monotonic()
    while True:
        began = time.monotonic()
        status = _run(command)
        if status == _CLOSED:
            return 0
        if status != _NO_SCHEDULER and time.monotonic() - began > _PAUSE_S:
            reached = time.monotonic()
        if time.monotonic() - reached > PATIENCE_S:
            sys.stderr.write(f"evolve: no scheduler at {command[3]} for {PATIENCE_S:.0f} s\n")
            return 3
        time.sleep(_PAUSE_S)


def _run(command: Sequence[str]) -> int:
    """The exit status of a process whose input ends with this one."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment(_script_variables())) as process:
        try:
            return process.wait()
        finally:
            process.kill()


def _end(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


_PASSED: Final = "EVOLVE_WORKER_ENVIRONMENT"
"""Names the variables of the user's shell that the task's script gets."""


def _script_variables() -> list[str]:
    return [_PASSED, *os.environ.get(_PASSED, "").split()]


def hosting_environment(names: Sequence[str]) -> dict[str, str]:
    """The environment of a hosting process whose task's script gets these variables."""
    return environment(names) | ({_PASSED: " ".join(names)} if names else {})


def _serve(address: str, name: str, folder: Path) -> int:
    folder.mkdir(exist_ok=True)
    DESK.begin(name, folder)
    try:
        asyncio.run(work(address, name, folder, lost=lambda: _vanish(folder, _LOST_SCHEDULER)))
    except SchedulerGone as why:
        sys.stderr.write(f"{why}\n")
        return _NO_SCHEDULER
    return _CLOSED


def main(words: Sequence[str] | None = None) -> int:
    """Host a worker, or be one; an exit code."""
    parser = argparse.ArgumentParser(prog="evolve.cluster.hosting")
    parser.add_argument("address")
    parser.add_argument("--name", required=True)
    parser.add_argument("--until-closed", action="store_true")
    parser.add_argument("--in", dest="folder", type=Path)
    given = parser.parse_args(words)
    if given.folder is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that hosts this one
        end_with_input(lambda: _vanish(given.folder))
        os._exit(_serve(given.address, given.name, given.folder))
    signal.signal(signal.SIGTERM, _end)
    if given.until_closed:
        end_with_input(lambda: os.kill(os.getpid(), signal.SIGTERM))
    try:
        return host(given.address, given.name)
    except KeyboardInterrupt:
        return 130


def _vanish(folder: Path, status: int = _CLOSED) -> None:
    """End at once, whatever is evaluated: candidates end with this process."""
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())

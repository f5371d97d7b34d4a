"""Ctrl-C, twice: it ends every process, also one whose Python cannot hear it since a call into C does not return."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A search that takes years and holds the interpreter's lock, so that no handler of a signal runs.
_STUCK = """
    import re, threading, time
    def stuck():
        print("stuck", flush=True)
        re.fullmatch("(a*)*b", "a" * 60)
    def elsewhere():
        threading.Thread(target=stuck, daemon=True).start()
        time.sleep(600)
"""
_DEAF = """
    import time
    def elsewhere():
        print("stuck", flush=True)
        while True:
            time.sleep(600)
"""
_INTERRUPTIBLE = (
    "from evolve.cli.interrupting import interruptible\nwith interruptible(lambda: None):\n    elsewhere()\n"
)
_THREADS = "from evaluator.waiting import threads\nwith threads(1, cancel=int) as pool:\n    elsewhere()\n"
_COMMAND = """
import sys, types, evolve.cli.main, evolve.__main__
sys.modules["evolve.cli.stuck"] = types.SimpleNamespace(run=lambda parsed: elsewhere())
evolve.cli.main._parse = lambda words: types.SimpleNamespace(command="stuck")
evolve.__main__.main()
"""
_VIEW = """
import socket, threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from evolve.view.server import serve
with socket.create_server(("127.0.0.1", 0)) as listening:
    threading.Timer(0.5, elsewhere).start()
    serve(Path.cwd(), listening, "key")
"""


@pytest.mark.parametrize("how", [_INTERRUPTIBLE, _THREADS, _COMMAND, _VIEW], ids=["run", "threads", "command", "view"])
def test_a_second_ctrl_c_ends_a_process_that_is_stuck_in_c(how: str) -> None:
    with _started(textwrap.dedent(_STUCK) + how) as process:
        begun = _cpu_ticks(process.pid)
        while _cpu_ticks(process.pid) < begun + 20:  # only the search takes any
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):  # nobody hears the first one
            process.wait(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once_what_does_not_care_for_the_first(number: signal.Signals) -> None:
    asks = "from evolve.cli.interrupting import interruptible\n"
    asks += "with interruptible(lambda: print('asked', flush=True)):\n    elsewhere()\n"
    with _started(textwrap.dedent(_DEAF) + asks) as process:
        assert process.stdout is not None
        process.send_signal(number)
        assert process.stdout.readline() == "asked\n"  # it goes on
        process.send_signal(number)
        assert process.wait(20) == -signal.SIGINT  # as Python ends after a KeyboardInterrupt


def test_an_end_that_is_held_up_after_the_second_ctrl_c_is_cut_short_by_a_third() -> None:
    asks = "from evolve.cli.interrupting import interruptible\n"
    asks += "with interruptible(lambda: print('asked', flush=True)):\n"
    asks += "    try:\n        elsewhere()\n    finally:\n        elsewhere()\n"
    with _started(textwrap.dedent(_DEAF) + asks) as process:
        assert process.stdout is not None
        for line in ("asked\n", "stuck\n"):
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == line
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT


def test_an_end_that_takes_too_long_after_the_second_ctrl_c_is_cut_short() -> None:
    asks = "from evolve.cli import interrupting\ninterrupting._LONGEST_END_S = 1\n"
    asks += "with interrupting.interruptible(lambda: print('asked', flush=True)):\n"
    asks += "    try:\n        elsewhere()\n    finally:\n        elsewhere()\n"
    with _started(textwrap.dedent(_DEAF) + asks) as process:
        assert process.stdout is not None
        for line in ("asked\n", "stuck\n"):
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == line
        assert process.wait(30) == -signal.SIGALRM


def _cpu_ticks(process: int) -> int:
    """Hundredths of a second of CPU that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@contextmanager
def _started(code: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that has said that it is stuck; none is left."""
    words = [sys.executable, "-c", code]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "stuck\n"
            yield process
        finally:
            process.kill()

"""Whose fault it was when a script's sandbox goes down: the first process of the sandbox is killed from outside."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluator.errors import HarnessError
from evaluator.evaluation import Evaluation, Outcome
from evaluator.opening import OpenedEvaluator, open_evaluator
from tests.builders import one_file
from tests.evaluator.process_table import descendants
from tests.script_folders import GOOD, MIRROR, make_task

SLOW = MIRROR.replace("import sys\n", "import sys\nimport time\n\ntime.sleep(1.5)\n", 1)
"""There is time to kill it."""


def sandboxes() -> set[int]:
    """The processes that stand around a script, below this one."""
    found = set()
    for pid in descendants(os.getpid()):
        try:
            if b"tree_init.py" in (Path("/proc") / str(pid) / "cmdline").read_bytes():
                found.add(pid)
        except OSError:
            continue
    return found


def while_killed(evaluate: Callable[[], Evaluation], times: int) -> "Evaluation | BaseException":
    """Evaluate, while some sandboxes, one after the other, are killed."""
    found: list[Evaluation | BaseException] = []

    def run() -> None:
        try:
            found.append(evaluate())
        except HarnessError as cause:
            found.append(cause)

    running = threading.Thread(target=run)
    running.start()
    killed = 0
    while running.is_alive() and killed < times:
        there = sandboxes()
        if there:
            time.sleep(0.3)  # every process that is starting has started
            for pid in sandboxes():
                os.kill(pid, signal.SIGKILL)
            killed += 1
            while there & sandboxes():
                time.sleep(0.01)
        time.sleep(0.01)
    running.join(60)
    assert killed == times
    return found[0]


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenedEvaluator]:
    task = make_task(tmp_path_factory.mktemp("slow") / "slow", evaluate=SLOW)
    with open_evaluator(task, task.suite(), workers=2) as opened:
        yield opened


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_program_whose_sandbox_was_killed_is_tried_again(slow: OpenedEvaluator, times: int) -> None:
    found = while_killed(lambda: slow.evaluate(one_file(GOOD)), times)
    assert isinstance(found, Evaluation)
    assert (found.outcome, found.combined_score) == (Outcome.OK, 1.5)


def test_where_the_initial_program_goes_down_as_well_there_is_no_verdict(slow: OpenedEvaluator) -> None:
    found = while_killed(lambda: slow.evaluate(one_file(GOOD)), 3)
    assert isinstance(found, HarnessError)
    assert "the fault is this machine's, and there is no verdict" in str(found)

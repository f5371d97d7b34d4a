"""Cancelling and closing: whatever is under way ends at once, and nothing of it is a verdict."""

import dataclasses
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from process_table import descendants, gone

from evaluator.errors import EvaluationCancelled, EvaluatorError
from evaluator.evaluation import Evaluation
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task import Suite, Task
from evaluator.task_files import load_task
from tests.builders import one_file

HONEST = "def smallest(items):\n    return items.index(min(items))\n"
FOR_EVER = "def smallest(items):\n    while True: pass\n"
BLOCKS = "import os\ndef smallest(items):\n    os.read(3, 1)\n"
DRIPS = (
    "import os, time\ndef smallest(items):\n    os.write(4, b'\\0\\0\\xff\\xff')\n    while True:\n"
    "        end = time.perf_counter() + 0.05\n        while time.perf_counter() < end: pass\n"
    "        os.write(4, b'x')\n"
)
LOADS_FOR_EVER = "while True: pass\n"
READS_A_CLOCK = "import time\n" + HONEST
PATIENCE_S = 30
"""Far more than anything here takes, and far less than the candidates would run."""


def patient(task: Task) -> Suite:
    """The suite with limits of ten minutes."""
    suite = task.suite()
    return dataclasses.replace(suite, limits=dataclasses.replace(suite.limits, cpu_per_instance_s=600, cpu_total_s=600))


class Waiting:
    """Calls in threads of their own; what each came to."""

    def __init__(self, *calls: Callable[[], Evaluation]) -> None:
        self.found: list[Evaluation | EvaluatorError] = []
        self._threads = [threading.Thread(target=self._run, args=(call,), daemon=True) for call in calls]
        for thread in self._threads:
            thread.start()

    def _run(self, call: Callable[[], Evaluation]) -> None:
        try:
            self.found.append(call())
        except EvaluatorError as error:
            self.found.append(error)

    def ended(self) -> bool:
        for thread in self._threads:
            thread.join(PATIENCE_S)
        return not any(thread.is_alive() for thread in self._threads)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(
    "source", [FOR_EVER, BLOCKS, DRIPS, LOADS_FOR_EVER], ids=["spins", "blocks", "drips", "loads for ever"]
)
def test_cancelling_ends_what_runs_and_what_waits(smallest: Task, source: str) -> None:
    before = descendants(os.getpid())
    with SandboxedEvaluator(smallest, patient(smallest), workers=1) as evaluator:
        waiting = Waiting(*[lambda: evaluator.evaluate(one_file(source))] * 4)
        until(lambda: len(descendants(os.getpid()) - before) > 1)
        evaluator.cancel()
        assert waiting.ended()
        assert [type(found) for found in waiting.found] == [EvaluationCancelled] * 4
        with pytest.raises(EvaluationCancelled):
            evaluator.evaluate(one_file(HONEST))
    assert gone(descendants(os.getpid()) - before)


def test_cancelling_ends_an_examination_wherever_it_is(smallest: Task) -> None:
    """One is waiting for the next second, the others start the second pool of workers, or ask."""
    with SandboxedEvaluator(smallest, patient(smallest), workers=2) as evaluator:
        once = "first = []\ndef smallest(items):\n    while first: pass\n    return items.index(min(items))\n"
        evaluations = [(source, evaluator.evaluate(one_file(source))) for source in (READS_A_CLOCK, once, HONEST)]
        hangs = once.replace("first = []", "first = [1]")
        waiting = Waiting(
            lambda: evaluator.examine(one_file(READS_A_CLOCK), evaluations[0][1]),
            lambda: evaluator.examine(one_file(hangs), evaluations[1][1]),
            lambda: evaluator.examine(one_file(hangs), evaluations[2][1]),
        )
        evaluator.cancel()
        assert waiting.ended()
    assert [type(found) for found in waiting.found] == [EvaluationCancelled] * 3


def test_closing_ends_long_candidates_and_their_workers(smallest: Task) -> None:
    before = descendants(os.getpid())
    evaluator = SandboxedEvaluator(smallest, patient(smallest), workers=2)
    waiting = Waiting(*[lambda: evaluator.evaluate(one_file(FOR_EVER))] * 3)
    until(lambda: len(descendants(os.getpid()) - before) > 3)
    evaluator.close()
    assert waiting.ended()
    assert [type(found) for found in waiting.found] == [EvaluationCancelled] * 3
    assert gone(descendants(os.getpid()) - before)
    evaluator.close()  # closed is closed


def test_closing_does_not_wait_for_the_tasks_own_code(folder: Path) -> None:
    """A judge that hangs cannot be stopped; the candidate that waits for it can."""
    (folder / "judge.py").write_text(
        "import pathlib, time\n" + (folder / "judge.py").read_text() + "\n\nfirst = judge\n\n\n"
        "def judge(instance, answer):\n"
        f"    pathlib.Path({str(folder / 'asked')!r}).touch()\n"
        f"    while not pathlib.Path({str(folder / 'go on')!r}).exists():\n        time.sleep(0.01)\n"
        "    return first(instance, answer)\n"
    )
    task = load_task(str(folder))
    before = descendants(os.getpid())
    evaluator = SandboxedEvaluator(task, patient(task), workers=1)
    waiting = Waiting(lambda: evaluator.evaluate(one_file(HONEST)))
    until((folder / "asked").exists)
    evaluator.close()
    assert gone(descendants(os.getpid()) - before)
    assert waiting.found == []
    (folder / "go on").touch()
    assert waiting.ended()
    assert [type(found) for found in waiting.found] == [EvaluationCancelled]

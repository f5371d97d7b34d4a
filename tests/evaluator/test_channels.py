"""Two candidates that work together: nothing that one does tells the other, and what confirms a score runs alone."""

import dataclasses
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import confinement
from process_table import descendants

from evaluator.errors import EvaluationCancelled, EvaluatorError
from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox import bubblewrap
from evaluator.task import Suite, Task
from evaluator.task_files import load_task
from tests.builders import one_file

HONEST = "def smallest(items):\n    return items.index(min(items))\n"
# A page of libc's file is in the memory of every process. One candidate waits on a futex there, the other one wakes it.
_FUTEX = """
import ctypes, time
libc = ctypes.CDLL(None, use_errno=True)
place = ctypes.cast(libc.strerror, ctypes.c_void_p).value & ~0xfff
word = ctypes.c_int.from_address(place).value
class Moment(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))
"""
WAITS = (
    _FUTEX + "heard = []\ndef smallest(items):\n"
    "    if not heard:\n"
    "        patience = ctypes.byref(Moment(3, 0))\n"
    "        heard.append(libc.syscall(202, ctypes.c_void_p(place), 0, word, patience, None, 0) == 0)\n"
    "    return items.index(min(items) if heard[0] else max(items))\n"
)
WAKES = (
    _FUTEX + "import threading\npause = threading.Event()\ndef smallest(items):\n"
    "    for _ in range(20):\n"
    "        if libc.syscall(202, ctypes.c_void_p(place), 1, 64, None, None, 0) > 0:\n            break\n"
    "        pause.wait(0.005)\n"
    "    return items.index(min(items))\n"
)


@pytest.fixture
def suite(smallest: Task) -> Suite:
    suite = smallest.suite()
    limits = dataclasses.replace(suite.limits, cpu_per_instance_s=1, cpu_total_s=20)
    return dataclasses.replace(suite, limits=limits)


def heard(evaluator: SandboxedEvaluator) -> bool:
    """Whether a waiting candidate was woken by another one that ran at the same time."""
    found: list[bool] = []
    waiting = threading.Thread(target=lambda: found.append(evaluator.evaluate(one_file(WAITS)).results[0].cost == 1))
    waiting.start()
    while waiting.is_alive():
        evaluator.evaluate(one_file(WAKES))
    return found[0]


@pytest.mark.parametrize("level", ["strong", "standard"])
def test_no_futex_is_shared_by_two_candidates(smallest: Task, suite: Suite, level: str) -> None:
    if level == "strong" and bubblewrap.find() is None:
        pytest.skip("bubblewrap is not installed")
    with SandboxedEvaluator(smallest, suite, workers=2, confined=confinement(level)) as evaluator:
        assert not heard(evaluator)


def test_without_the_filter_a_futex_is_shared(smallest: Task, suite: Suite) -> None:
    """The test above bites."""
    open_to_it = confinement("standard", without=("seccomp",))
    with SandboxedEvaluator(smallest, suite, workers=2, confined=open_to_it) as evaluator:
        assert heard(evaluator)


LOCKS = """
import queue
waiting = queue.Queue()
def smallest(items):
    try:
        waiting.get(timeout=0.01)
    except queue.Empty:
        waiting.put(items.index(min(items)))
    return waiting.get(timeout=1)
"""


@pytest.mark.parametrize("level", ["strong", "standard"])
def test_locks_of_its_own_work(smallest: Task, suite: Suite, level: str) -> None:
    if level == "strong" and bubblewrap.find() is None:
        pytest.skip("bubblewrap is not installed")
    with SandboxedEvaluator(smallest, suite, workers=1, confined=confinement(level)) as evaluator:
        evaluation = evaluator.evaluate(one_file(LOCKS))
        assert evaluation.correct, evaluation.detail


SLOW = (
    "import time\ndef smallest(items):\n    end = time.process_time() + 0.02\n"
    "    while time.process_time() < end: pass\n    return items.index(min(items))\n"
)


def test_while_a_program_is_confirmed_no_other_candidate_runs(folder: Path) -> None:
    """In no evaluator of this process, and the others go on afterwards: the judge writes down in which thread it is."""
    judged = folder / "judged"
    (folder / "judge.py").write_text(
        (folder / "judge.py").read_text() + "\n\nimport pathlib, threading\nfirst = judge\n\n\n"
        "def judge(instance, answer):\n"
        f"    with pathlib.Path({str(judged)!r}).open('a') as file:\n"
        "        file.write(f'{threading.get_ident()}\\n')\n"
        "    return first(instance, answer)\n"
    )
    task = load_task(str(folder))
    with (
        SandboxedEvaluator(task, task.suite(), workers=3) as evaluator,
        SandboxedEvaluator(task, task.suite(), workers=1, alone=True) as second,
    ):
        first = evaluator.evaluate(one_file(SLOW))
        done = threading.Event()

        def others() -> None:
            while not done.is_set():
                assert evaluator.evaluate(one_file(SLOW)).correct

        threads = [threading.Thread(target=others) for _ in range(2)]
        for thread in threads:
            thread.start()
        me = str(threading.get_ident())
        judged.unlink()
        seen: list[list[str]] = []
        try:
            for confirm in (lambda: evaluator.examine(one_file(SLOW), first), lambda: second.evaluate(one_file(SLOW))):
                until(lambda: judged.exists() and len(judged.read_text().split()) > 4)
                confirm()
                until(lambda: judged.read_text().split()[-1] != me)
                seen.append(judged.read_text().split())
                judged.unlink()
        finally:
            done.set()
            for thread in threads:
                thread.join(60)
        for order in seen:
            assert me in order
            mine = [index for index, thread in enumerate(order) if thread == me]
            assert mine == list(range(mine[0], mine[-1] + 1))  # nobody else's in between
            assert len(set(order)) > 1


def test_who_waits_to_be_alone_can_be_cancelled(smallest: Task) -> None:
    """The program that it waits for runs on."""
    suite = smallest.suite()
    limits = dataclasses.replace(suite.limits, cpu_per_instance_s=600, cpu_total_s=600)
    with (
        SandboxedEvaluator(smallest, dataclasses.replace(suite, limits=limits), workers=1) as busy,
        SandboxedEvaluator(smallest, suite, workers=1, alone=True) as second,
    ):
        found: list[EvaluatorError] = []

        def run(evaluator: SandboxedEvaluator, source: str) -> None:
            try:
                evaluator.evaluate(one_file(source))
            except EvaluatorError as error:
                found.append(error)

        before = descendants(os.getpid())
        running = threading.Thread(target=run, args=(busy, "def smallest(items):\n    while True: pass\n"))
        running.start()
        until(lambda: bool(descendants(os.getpid()) - before))
        waiting = threading.Thread(target=run, args=(second, HONEST))
        waiting.start()
        second.cancel()
        waiting.join(30)
        assert not waiting.is_alive()
        assert running.is_alive()
        assert [type(error) for error in found] == [EvaluationCancelled]
        busy.cancel()
        running.join(30)
        assert not running.is_alive()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)

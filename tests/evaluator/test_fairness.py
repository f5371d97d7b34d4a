"""Nobody is blamed for the machine: a busy core, a kernel short of memory; and nobody gains by pretending."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile import confinement
from process_table import descendants

from evaluator.evaluation import Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox import bubblewrap, supervisor
from evaluator.task import Limits, Suite, Task
from tests.builders import one_file

HONEST = "def smallest(items):\n    return items.index(min(items))\n"
SPINS = (
    "import time\ndef smallest(items):\n    end = time.process_time() + 0.35\n"
    "    while time.process_time() < end: pass\n    return items.index(min(items))\n"
)
SLEEPS = "import os\ndef smallest(items):\n    os.read(3, 1)\n"
# A lock waits without a call that is refused; the interpreter's own machinery is there to be found.
_PAUSE = "import sys\nlock = sys.modules['_thread'].allocate_lock()\nlock.acquire()\n"
DRIPS = (
    "import os\n"
    + _PAUSE
    + (
        "def smallest(items):\n    os.write(4, (60_000).to_bytes(4, 'big'))\n"
        "    while True:\n        lock.acquire(timeout=0.2)\n        os.write(4, b' ')\n"
    )
)
DRIPS_WHILE_LOADING = DRIPS.partition("def smallest")[0] + (
    "os.write(4, (60_000).to_bytes(4, 'big'))\nwhile True:\n    lock.acquire(timeout=0.1)\n    os.write(4, b' ')\n"
)


class Tight(Limits):
    """A second of wall time for an instance and two in all: what a busy core takes more than."""

    @property
    def wall_per_instance_s(self) -> float:
        return 1.0

    @property
    def wall_total_s(self) -> float:
        return 2.0


@pytest.fixture
def suite(quick_suite: Suite) -> Suite:
    return dataclasses.replace(
        quick_suite, limits=Tight(cpu_per_instance_s=0.8, cpu_total_s=10, memory_mb=quick_suite.limits.memory_mb)
    )


@pytest.fixture(params=["standard", pytest.param("strong", marks=pytest.mark.slow)])
def evaluator(request: pytest.FixtureRequest, smallest: Task, suite: Suite) -> Iterator[SandboxedEvaluator]:
    if request.param == "strong" and bubblewrap.find() is None:
        pytest.skip("bubblewrap is not installed")
    with SandboxedEvaluator(smallest, suite, workers=1, confined=confinement(request.param)) as evaluator:
        yield evaluator


@pytest.mark.parametrize("source", [SLEEPS, DRIPS, DRIPS_WHILE_LOADING], ids=["sleeps", "drips", "while loading"])
def test_who_waits_for_nothing_is_stopped_at_the_wall_limit(evaluator: SandboxedEvaluator, source: str) -> None:
    evaluation = evaluator.evaluate(one_file(source))
    assert evaluation.outcome is Outcome.TIMEOUT
    assert "over the limit of 1 s of wall time" in evaluation.detail


def test_a_question_that_is_taken_drop_by_drop_is_no_reason_to_wait(smallest: Task, suite: Suite) -> None:
    long = {"items": list(range(1, 200_000))}
    lengthened = dataclasses.replace(suite, instances=(dataclasses.replace(suite.instances[0], data=long),))
    takes_over = (
        f"import os\n{_PAUSE}def smallest(items):\n    return 0\n"
        "def sip(size):\n    while True:\n        lock.acquire(timeout=0.1)\n        os.read(3, 4096)\n"
        "sys._getframe(1).f_globals['_read_exactly'] = sip\n"
    )
    with SandboxedEvaluator(smallest, lengthened, workers=1, confined=confinement("standard")) as evaluator:
        evaluation = evaluator.evaluate(one_file(takes_over))
    assert evaluation.outcome is Outcome.TIMEOUT, evaluation.detail


@pytest.fixture
def busy_core() -> Iterator[int]:
    """One core that six others use, and this process too."""
    allowed = os.sched_getaffinity(0)
    core = min(allowed)
    os.sched_setaffinity(0, {core})
    spin = [sys.executable, "-c", "while True: pass"]
    # A session each: where the kernel shares a core among sessions, a worker has one of its own, too.
    others = [subprocess.Popen(spin, start_new_session=True) for _ in range(6)]
    try:
        yield core
    finally:
        for other in others:
            other.kill()
            other.wait()
        os.sched_setaffinity(0, allowed)


@pytest.mark.slow
@pytest.mark.skipif(not supervisor.scheduled_s(os.getpid())[0], reason="this kernel keeps no account of waiting")
def test_a_busy_core_is_no_timeout(smallest: Task, suite: Suite, busy_core: int) -> None:
    """0.35 s of CPU take more than two seconds here, over the wall limit of one for an instance and two in all."""
    with SandboxedEvaluator(
        smallest, dataclasses.replace(suite, instances=suite.instances[:1]), workers=1
    ) as evaluator:
        evaluation = evaluator.evaluate(one_file(SPINS))
        assert evaluation.outcome is Outcome.OK, evaluation.detail
        if max(result.wall_s for result in evaluation.results) <= 1:
            pytest.skip("the core was not busy: this shows nothing")
        assert evaluator.evaluate(one_file(SLEEPS)).outcome is Outcome.TIMEOUT


def killed_while(source: str, evaluator: SandboxedEvaluator, times: int) -> Evaluation:
    """Evaluate, while the candidate's process (the youngest) is killed `times` times."""
    found: list[Evaluation] = []
    running = threading.Thread(target=lambda: found.append(evaluator.evaluate(one_file(source))))
    running.start()
    killed: set[int] = set()
    while running.is_alive() and len(killed) < times:
        for pid in sorted(candidates() - killed)[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
            time.sleep(0.1)
    running.join(60)
    assert len(killed) == times
    return found[0]


def candidates() -> set[int]:
    """The children of workers, which are this process's own children where there is no bubblewrap around them."""
    return {pid for worker in children(os.getpid()) for pid in children(worker)}


def children(pid: int) -> set[int]:
    with contextlib.suppress(OSError):
        return {
            int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()
        }
    return set()


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_who_is_killed_from_outside_is_tried_again(smallest: Task, suite: Suite, times: int) -> None:
    shorter = SPINS.replace("0.35", "0.1")
    with SandboxedEvaluator(smallest, suite, workers=2, confined=confinement("standard")) as evaluator:
        evaluation = killed_while(shorter, evaluator, times)
    assert evaluation.outcome is Outcome.OK, evaluation.detail


def test_candidates_are_the_first_that_the_kernel_ends(evaluator: SandboxedEvaluator) -> None:
    family = descendants(os.getpid())
    workers = [pid for pid in family if b"zygote.py" in (Path("/proc") / str(pid) / "cmdline").read_bytes()]
    assert workers
    assert {(Path("/proc") / str(pid) / "oom_score_adj").read_text().strip() for pid in workers} == {"1000"}

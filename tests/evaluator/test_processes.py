"""Nothing outlives an evaluation: no process, no descriptor; and what a program writes by itself is not believed."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from process_table import descendants, gone

from evaluator.errors import HarnessError, SandboxError, TaskError
from evaluator.evaluation import Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox.options import Confinement, SandboxOptions
from evaluator.sandbox.worker import Worker, WorkerSettings
from evaluator.task import Suite, Task
from tests.builders import one_file

HONEST = "def smallest(items):\n    return items.index(min(items))\n"


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_two_hundred_candidates_leave_no_descriptor_and_no_process(smallest: Task) -> None:
    before_all = descendants(os.getpid())
    with SandboxedEvaluator(smallest, smallest.suite(), workers=1) as evaluator:
        evaluator.evaluate(one_file(HONEST))
        before, processes = open_descriptors(), descendants(os.getpid())
        for number in range(200):
            source = HONEST if number % 4 else "import os\ndef smallest(items):\n    os._exit(1)\n"
            evaluator.evaluate(one_file(source))
        assert open_descriptors() == before
        assert descendants(os.getpid()) == processes
    assert descendants(os.getpid()) <= before_all


def test_closing_ends_the_workers(smallest: Task) -> None:
    before = descendants(os.getpid())
    evaluator = SandboxedEvaluator(smallest, smallest.suite(), workers=2)
    started = descendants(os.getpid()) - before
    assert started
    evaluator.close()
    assert gone(started)


def test_no_orphan_when_the_harness_is_killed(smallest: Task) -> None:
    """A harness with a candidate that never ends, killed without a chance to clean up."""
    script = textwrap.dedent(
        f"""
        from evaluator.evaluator import SandboxedEvaluator
        from evaluator.task_files import load_task
        import dataclasses, threading
        task = load_task({str(smallest.folder)!r})
        suite = task.suite()
        limits = dataclasses.replace(suite.limits, cpu_per_instance_s=60, cpu_total_s=60)
        evaluator = SandboxedEvaluator(task, dataclasses.replace(suite, limits=limits), workers=1)
        print("ready", flush=True)
        evaluator.evaluate("def smallest(items):\\n    while True: pass\\n")
        """
    )
    harness = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert harness.stdout is not None
    assert harness.stdout.readline() == b"ready\n"
    end = time.monotonic() + 10
    while len(family := descendants(harness.pid)) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert len(family) >= 2  # a zygote and its candidate
    harness.send_signal(signal.SIGKILL)
    harness.wait()
    harness.stdout.close()
    assert gone(family)


def test_a_worker_that_dies_is_replaced_and_nobody_is_blamed(smallest: Task) -> None:
    before = descendants(os.getpid())
    with SandboxedEvaluator(smallest, smallest.suite(), workers=1) as evaluator:
        for pid in descendants(os.getpid()) - before:
            with contextlib.suppress(ProcessLookupError):  # it may have died with the one before
                os.kill(pid, signal.SIGKILL)
        assert evaluator.evaluate(one_file(HONEST)).correct


def test_workers_that_die_under_every_program_are_the_machines_fault(smallest: Task) -> None:
    """There is no verdict: nothing of it may enter a record, or be held against the program later."""
    before = descendants(os.getpid())
    with SandboxedEvaluator(
        smallest, smallest.suite(), workers=1, confined=SandboxOptions(confinement=Confinement())
    ) as evaluator:
        done = threading.Event()

        def assassin() -> None:
            while not done.is_set():
                for pid in descendants(os.getpid()) - before:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        continue

        thread = threading.Thread(target=assassin)
        thread.start()
        try:
            with pytest.raises(HarnessError, match="then the task's initial program could not either") as raised:
                evaluator.evaluate(one_file("def smallest(items):\n    while True: pass\n"))
        finally:
            done.set()
            thread.join()
        assert raised.value.exit_code == 3
        assert evaluator.evaluate(one_file(HONEST)).correct


KILLS_ITS_WORKER = "import os, signal\ndef smallest(items):\n    os.kill(os.getppid(), signal.SIGKILL)\n"


def test_a_program_that_takes_its_worker_down_each_time_has_crashed(smallest: Task) -> None:
    """Possible only where nothing confines it; the initial program, in the same place, says whose fault it is."""
    with SandboxedEvaluator(
        smallest, smallest.suite(), workers=2, confined=SandboxOptions(confinement=Confinement(layers=()))
    ) as evaluator:
        evaluation = evaluator.evaluate(one_file(KILLS_ITS_WORKER))
        assert evaluation.outcome is Outcome.CRASH
        assert evaluation.detail.startswith("the program takes its worker down: ")
        assert {result.outcome for result in evaluation.results} == {Outcome.NOT_RUN}
        assert (evaluation.correct, evaluation.combined_score) == (False, 0)
        assert "takes its worker down" in evaluation.feedback
        assert evaluator.evaluate(one_file(HONEST)).correct


def test_the_control_is_the_callers_to_choose(smallest: Task) -> None:
    with (
        SandboxedEvaluator(
            smallest,
            smallest.suite(),
            workers=1,
            confined=SandboxOptions(confinement=Confinement(layers=())),
            control=one_file(KILLS_ITS_WORKER),
        ) as evaluator,
        pytest.raises(HarnessError),
    ):
        evaluator.evaluate(one_file("# another program\n" + KILLS_ITS_WORKER))


def test_a_program_that_takes_its_worker_down_once_is_judged_by_what_it_does_then(
    smallest: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first two workers die, as the machine would have it; the third evaluation counts."""
    spawn, deaths = Worker.spawn, [SandboxError("gone"), SandboxError("gone")]

    def spawns(worker: Worker, request: int, reply: int) -> int:
        if deaths:
            raise deaths.pop()
        return spawn(worker, request, reply)

    with SandboxedEvaluator(smallest, smallest.suite(), workers=1) as evaluator:
        monkeypatch.setattr(Worker, "spawn", spawns)
        assert evaluator.evaluate(one_file(HONEST)).correct
    assert deaths == []


def test_several_threads_share_the_workers(smallest: Task) -> None:
    evaluations: list[Evaluation] = []
    with SandboxedEvaluator(smallest, smallest.suite(), workers=2) as evaluator:

        def score() -> None:
            evaluations.extend(evaluator.evaluate(one_file(HONEST)) for _ in range(5))

        threads = [threading.Thread(target=score) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(evaluations) == 25
    assert {evaluation.combined_score for evaluation in evaluations} == {evaluations[0].ceiling}


def forging(writes: str) -> str:
    """A program that writes to its reply channel by itself on the second instance."""
    return (
        "import os, json, sys\n"
        "calls = []\n"
        "def frame(payload):\n"
        "    return len(payload).to_bytes(4, 'big') + payload\n"
        "def nonce():\n"
        "    return sys._getframe(3).f_locals['nonce']\n"
        f"def forge():\n{textwrap.indent(writes, '    ')}\n"
        "def smallest(items):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 2:\n"
        "        forge()\n"
        "    return items.index(min(items))\n"
    )


FORGERIES = [
    ('os.write(4, frame(b\'{"nonce": "x", "answer": 0}\') * 60)', {Outcome.PROTOCOL}),
    ("os.write(4, frame(json.dumps({'nonce': nonce(), 'answer': 1}).encode()) * 2)", {Outcome.PROTOCOL}),
    ("os.write(4, b'\\xff\\xff\\xff\\xff')", {Outcome.PROTOCOL}),
    ("os.write(4, frame(b'[' * 30000))", {Outcome.PROTOCOL}),
    ("os.write(4, os.urandom(1000))", {Outcome.PROTOCOL}),
    ("os.write(4, b'\\0\\0')\nwhile True: pass", {Outcome.CPU_LIMIT}),
    ("for fd in range(3, 16):\n    try: os.dup2(0, fd)\n    except OSError: pass", {Outcome.EXITED, Outcome.PROTOCOL}),
]


@pytest.mark.parametrize(("writes", "outcomes"), FORGERIES, ids=range(len(FORGERIES)))
def test_a_program_that_writes_its_own_replies_gains_nothing(
    evaluator: SandboxedEvaluator, writes: str, outcomes: set[Outcome]
) -> None:
    evaluation = evaluator.evaluate(one_file(forging(writes)))
    assert evaluation.outcome in outcomes, evaluation.detail
    assert not evaluation.correct
    assert evaluation.combined_score < 1
    assert evaluator.evaluate(one_file(HONEST)).correct


def test_a_program_that_breaks_its_own_channel_is_waited_for_only_so_long(smallest: Task, quick_suite: Suite) -> None:
    silence = (
        "runner = sys._getframe(2).f_globals\n"
        "for name in list(runner):\n    if name.startswith('_w'): runner[name] = lambda *arguments: 1"
    )
    with SandboxedEvaluator(smallest, quick_suite, workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(forging(silence)))
    assert evaluation.outcome is Outcome.TIMEOUT


def test_a_forged_reply_for_its_own_request_is_only_an_answer(smallest: Task) -> None:
    """Only the program itself knows the nonce: what it sends is judged like what it returns."""
    writes = 'os.write(4, frame(json.dumps({"nonce": nonce(), "answer": 0}).encode()))\nwhile True: pass'
    with SandboxedEvaluator(smallest, smallest.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(forging(writes)))
    assert evaluation.results[1].cost == 5  # its answer, as bad as it is
    assert not evaluation.correct


def test_the_environment_of_a_candidate_is_empty(smallest: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "sk-1234")
    source = (
        "import os, sys\n"
        "def smallest(items):\n"
        "    raise ValueError(sorted(os.environ), sorted(os.listdir('/proc/self/fd')), sys.argv, sys.path)\n"
    )
    with SandboxedEvaluator(smallest, smallest.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(source))
    assert "SECRET_KEY" not in evaluation.detail


def test_an_adapter_that_does_not_load_is_reported_at_the_start(smallest: Task) -> None:
    settings = WorkerSettings(
        entry_point="smallest", adapter_source="import nonesuch", packages=(), memory_mb=512, cpu_total_s=1
    )
    with pytest.raises(
        TaskError,
        match=r"adapter\.py line 1, while it was loaded: raised ModuleNotFoundError: No module named 'nonesuch'",
    ):
        Worker(settings, Confinement())


def test_workers_start_and_score_whatever_lies_in_the_current_folder(
    with_numpy: Task, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("json", "struct", "socket", "gc", "evaluator", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", ".")
    with SandboxedEvaluator(with_numpy, with_numpy.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file("import json, numpy\n" + HONEST))
    assert evaluation.correct, evaluation.detail

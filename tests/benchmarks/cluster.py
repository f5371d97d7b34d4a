"""Evaluations on workers of this machine. Usage: python -m tests.benchmarks.cluster [overhead | throughput] ...

`overhead`: what a candidate of 0.01, 0.1 and 1 s of CPU time takes longer on a worker than at home, one at a time, in
turn. `throughput`: 200 candidates of 0.5 s, eight in flight on `dask:local:4`, against the ideal of the machine's cores
and against as many workers at home as it has cores, in turn. Scheduler, broker, head and workers share those cores;
what each takes per candidate is printed. Without an argument: both.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from evaluator.evaluation import Evaluation, Outcome
from evaluator.opening import open_evaluator
from evaluator.remote import RemoteEvaluator, WorkerActivity
from evaluator.task import Task
from evaluator.task_files import load_task
from evolve.cluster.remote import open_remote
from evolve.core.clusters import read_address
from tests.evaluator.process_table import descendants

SMALLEST = Path(__file__).parent.parent / "data" / "smallest"
SECONDS, TURNS = (0.01, 0.1, 1.0), {0.01: 100, 0.1: 40, 1.0: 10}
CANDIDATES, IN_FLIGHT, EACH_S, ROUNDS = 200, 8, 0.5, 2
PROGRAM = """# {number}
import time
def smallest(items):
    end = time.process_time() + {each}
    while time.process_time() < end:
        pass
    return items.index(min(items))
"""


def program(seconds: float, number: int) -> str:
    """A program that takes so much CPU time for the five instances together."""
    return PROGRAM.format(each=seconds / 5, number=number)


@contextmanager
def patient_task() -> Iterator[Task]:
    """The task `smallest`, with room for these programs."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(SMALLEST, Path(place) / "smallest"))
        path = folder / "task.yaml"
        path.write_text(path.read_text().replace("0.4, cpu_total_s: 1.0", "10, cpu_total_s: 30"))
        yield load_task(str(folder))


@contextmanager
def cluster(task: Task, workers: int, at_home: int) -> Iterator[RemoteEvaluator]:
    """An evaluator on `workers` workers, each of which has its task."""
    suite, control = task.suite(), task.initial.read_text()
    with (
        open_evaluator(task, suite, workers=at_home) as home,
        open_remote(read_address(f"dask:local:{workers}"), task, suite, control=control, level=home.sandbox) as remote,
    ):
        while [worker.state for worker in remote.workers()].count(WorkerActivity.IDLE) < workers:
            time.sleep(0.1)
        yield RemoteEvaluator(home, remote)


def took(evaluate: Callable[[str], Evaluation], source: str) -> float:
    began = time.perf_counter()
    assert evaluate(source).outcome is Outcome.OK
    return time.perf_counter() - began


def overhead() -> None:
    with patient_task() as task, cluster(task, 1, 1) as evaluator:
        for seconds in SECONDS:
            sources = [program(seconds, number) for number in range(TURNS[seconds])]
            pairs = [(took(evaluator.evaluate, source), took(evaluator.home.evaluate, source)) for source in sources]
            there, here = (1000 * median(side) for side in zip(*pairs, strict=True))
            more = 1000 * median(a - b for a, b in pairs)
            print(
                f"{seconds:g} s of CPU: {there:.0f} ms on a worker, {here:.0f} ms at home: {more:.1f} ms more (median)"
            )


def all_of(evaluate: Callable[[str], Evaluation], in_flight: int) -> float:
    sources = [program(EACH_S, number) for number in range(CANDIDATES)]
    began = time.perf_counter()
    with ThreadPoolExecutor(in_flight) as threads:
        assert all(evaluation.outcome is Outcome.OK for evaluation in threads.map(evaluate, sources))
    return time.perf_counter() - began


def cpu_s() -> dict[str, float]:
    """The CPU seconds so far of the head, and of each kind of process of the cluster; candidates excepted."""
    spent = {"head": time.process_time()}
    for process in descendants(os.getpid()):
        try:
            words = Path(f"/proc/{process}/cmdline").read_text().split("\0")
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        kind = next((word.rpartition(".")[2] for word in words if word.startswith("evolve.cluster.")), None)
        if kind is not None:
            spent[kind] = spent.get(kind, 0.0) + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return spent


def throughput() -> None:
    cores = len(os.sched_getaffinity(0))
    ideal = CANDIDATES * EACH_S / cores
    with patient_task() as task, cluster(task, 4, cores) as evaluator:
        for _ in range(ROUNDS):
            before = cpu_s()
            there = all_of(evaluator.evaluate, IN_FLIGHT)
            more = {kind: 1000 * (spent - before.get(kind, 0.0)) / CANDIDATES for kind, spent in cpu_s().items()}
            here = all_of(evaluator.home.evaluate, IN_FLIGHT)
            print(
                f"{CANDIDATES} candidates of {EACH_S:g} s on {cores} cores: {there:.1f} s on dask:local:4, "
                f"{100 * ideal / there:.0f} % of the ideal; {here:.1f} s at home, {100 * ideal / here:.0f} %"
            )
            shares = ", ".join(f"{kind} {spent:.1f}" for kind, spent in more.items())
            print(f"CPU per candidate beyond its own: {sum(more.values()):.1f} ms ({shares})")


if __name__ == "__main__":
    parts = {"overhead": overhead, "throughput": throughput}
    for name in sys.argv[1:] or parts:
        parts[name]()

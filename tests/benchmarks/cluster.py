"""Evaluations on workers of this machine. Usage: python -m tests.benchmarks.cluster [overhead | throughput | scale] ...

`overhead`: what a candidate of 0.01, 0.1 and 1 s of CPU time takes longer on a worker than at home, one at a time, in
turn. `throughput`: 200 candidates of 0.5 s, eight in flight on `dask:local:4`, against the ideal of the machine's cores
and against as many workers at home as it has cores, in turn. Scheduler, broker, head and workers share those cores;
what each takes per candidate is printed. `scale`: candidates that sleep, on 1 to 64 workers that are all kept busy,
against as many candidates a second as the workers could finish; with the memory of all processes of the cluster.
Without an argument: the first two.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from evaluator.evaluation import Evaluation, Outcome
from evaluator.opening import open_evaluator
from evaluator.program_files import Files
from evaluator.remote import RemoteEvaluator, WorkerActivity
from evaluator.task import Task
from evaluator.task_files import load_task
from evolve.cluster.remote import open_remote
from evolve.core.clusters import read_address
from tests.builders import one_file
from tests.evaluator.process_table import descendants
from tests.script_folders import make_task

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


SLEEPER = """import json, sys, time

time.sleep(float(open(sys.argv[1]).readline()[1:]))
json.dump({"correct": True, "combined_score": 1.0}, open(sys.argv[2], "w"))
"""
"""A script that sleeps for the seconds in a program's first line: only a script may."""
WORKERS, SLEEPS = (1, 4, 16, 64), (0.1, 1.0, 10.0)
ABOUT_S = 12.0


def program(seconds: float, number: int) -> str:
    """A program that takes that much CPU time for the five instances together."""
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
def sleeping_task() -> Iterator[Task]:
    """A task whose script sleeps."""
    with tempfile.TemporaryDirectory() as place:
        yield make_task(Path(place) / "sleeper", SLEEPER, "# 0\n")


@contextmanager
def cluster(task: Task, workers: int, at_home: int) -> Iterator[RemoteEvaluator]:
    """An evaluator on `workers` workers, each of which has its task."""
    suite, control = task.suite(), task.initial_files()
    with (
        open_evaluator(task, suite, workers=at_home) as home,
        open_remote(read_address(f"dask:local:{workers}"), task, suite, control=control, level=home.sandbox) as remote,
    ):
        while [worker.state for worker in remote.workers()].count(WorkerActivity.IDLE) < workers:
            time.sleep(0.1)
        yield RemoteEvaluator(home, remote)


def took(evaluate: Callable[[Files], Evaluation], program: Files) -> float:
    began = time.perf_counter()
    assert evaluate(program).outcome is Outcome.OK
    return time.perf_counter() - began


def overhead() -> None:
    with patient_task() as task, cluster(task, 1, 1) as evaluator:
        for seconds in SECONDS:
            sources = [one_file(program(seconds, number)) for number in range(TURNS[seconds])]
            pairs = [(took(evaluator.evaluate, source), took(evaluator.home.evaluate, source)) for source in sources]
            there, here = (1000 * median(side) for side in zip(*pairs, strict=True))
            more = 1000 * median(a - b for a, b in pairs)
            print(
                f"{seconds:g} s of CPU: {there:.0f} ms on a worker, {here:.0f} ms at home: {more:.1f} ms more (median)"
            )


def all_of(evaluate: Callable[[Files], Evaluation], in_flight: int) -> float:
    sources = [one_file(program(EACH_S, number)) for number in range(CANDIDATES)]
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


def memory_mb(processes: Iterable[int]) -> float:
    """The proportional memory of the processes."""
    total = 0
    for process in processes:
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended, or belongs to another user
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def scale() -> None:
    for workers in WORKERS:
        with sleeping_task() as task, cluster(task, workers, 1) as evaluator:
            print(f"{workers} workers: {memory_mb([os.getpid(), *descendants(os.getpid())]):.0f} MB in all")
            for seconds in SLEEPS:
                count = workers * max(2, round(min(ABOUT_S / seconds, 1000 / workers)))
                sources = [one_file(f"# {seconds}\n# {number}\n") for number in range(count)]
                before, began = cpu_s(), time.perf_counter()
                with ThreadPoolExecutor(4 * workers) as threads:
                    outcomes = [evaluation.outcome for evaluation in threads.map(evaluator.evaluate, sources)]
                took = time.perf_counter() - began
                assert set(outcomes) == {Outcome.OK}
                shares = {kind: 1000 * (spent - before.get(kind, 0.0)) / count for kind, spent in cpu_s().items()}
                print(
                    f"  {seconds:g} s asleep, {count} candidates, {4 * workers} in flight: {count / took:.1f}/s, "
                    f"{100 * count * seconds / workers / took:.0f} % of what the workers could; CPU ms per candidate: "
                    + ", ".join(f"{kind} {spent:.1f}" for kind, spent in shares.items())
                )


if __name__ == "__main__":
    parts = {"overhead": overhead, "throughput": throughput, "scale": scale}
    for name in sys.argv[1:] or ("overhead", "throughput"):
        parts[name]()

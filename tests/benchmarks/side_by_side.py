"""Two checkouts side by side, offline: the same seeds, and the best programs of both scored again alike.

    PYTHONPATH=. python tests/benchmarks/side_by_side.py OLD NEW [--seeds 10] [--generations 100] [--only SUITE ...]

OLD and NEW are folders of checkouts, each with its `.venv`. Of each suite and seed both run the offline proposer, one
proposal at a time. This checkout then scores both bests: in five orders that neither run used (where the judge has
`permuted`), and on the held-out suite. Printed are the paired differences as shares of what OLD gained on the initial
program, with a 95 % interval (Student's t over the seeds): above 0 NEW is better.
"""

import argparse
import json
import random
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median, stdev
from typing import Final

from evaluator.opening import OpenedEvaluator, open_evaluator
from evaluator.task import Suite, Task
from evaluator.task_files import load_task
from tests.builders import one_file

SUITES: Final = {"or3": "bin_packing", "skewed": "placement", "tight": "placement", "published": "txn_scheduling"}
ORDERS: Final = 5
T_95: Final = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""The 97.5 % point of Student's t, by how many seeds there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A program's scores: the median over other orders (the suite's own where there are none), and held out."""

    suite: float
    held_out: float | None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=list(SUITES))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for suite in given.only:
            compare(suite, given.old, given.new, given.seeds, given.generations, Path(folder))


def compare(suite: str, old: Path, new: Path, seeds: int, generations: int, folder: Path) -> None:
    """Run both on a suite, and print how their bests differ."""
    task = load_task(SUITES[suite])
    jobs = [(checkout, seed) for seed in range(seeds) for checkout in (old, new)]
    with ThreadPoolExecutor(2) as pool:
        sources = list(
            pool.map(lambda job: best_of(job[0], task.name, suite, job[1], generations, folder / suite), jobs)
        )
    with ExitStack() as stack:
        chosen = task.suite(suite)
        evaluators = [
            stack.enter_context(open_evaluator(task, each, workers=2)) for each in reordered(task, chosen) or [chosen]
        ]
        held_out = None
        if chosen.held_out is not None:
            held_out = stack.enter_context(open_evaluator(task, task.suite(chosen.held_out), workers=2))
        initial = scored(task.initial.read_text(encoding="utf-8"), evaluators, held_out)
        found = [scored(source, evaluators, held_out) for source in sources]
    pairs = list(zip(found[::2], found[1::2], strict=True))
    report(f"{task.name}/{suite}", initial.suite, [(a.suite, b.suite) for a, b in pairs])
    if initial.held_out is not None:
        both = [(a.held_out or 0.0, b.held_out or 0.0) for a, b in pairs]
        report(f"{task.name}/{suite} held out", initial.held_out, both)


def best_of(checkout: Path, task: str, suite: str, seed: int, generations: int, folder: Path) -> str:
    """The source of the best program of one run."""
    work = folder / f"{checkout.name}-{seed}"
    work.mkdir(parents=True)
    evolve = str(checkout.resolve() / ".venv" / "bin" / "evolve")
    settings = ["--task", task, "--suite", suite, "--seed", str(seed), "--generations", str(generations)]
    command = [evolve, "run", *settings, "--parallel", "1", "--set", "workers=1", "--name", "one"]
    subprocess.run(command, cwd=work, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([evolve, "export", "runs/one", "best", "-o", "best.py"], cwd=work, check=True, capture_output=True)
    return (work / "best.py").read_text(encoding="utf-8")


def reordered(task: Task, suite: Suite) -> list[Suite]:
    """The suite in orders that no run used; none where the judge has no `permuted`."""
    if task.judge.permuted is None:
        return []
    return [
        replace(
            suite,
            instances=tuple(
                replace(
                    each,
                    data=task.judge.permuted(each.fresh(), random.Random(f"side by side:{number}:{each.index}")),
                )
                for each in suite.instances
            ),
        )
        for number in range(ORDERS)
    ]


def scored(source: str, evaluators: list[OpenedEvaluator], held_out: OpenedEvaluator | None) -> Scored:
    """What a program comes to. One that fails somewhere has the score of a failed program there."""
    scores = [evaluator.evaluate(one_file(source)).combined_score for evaluator in evaluators]
    return Scored(
        suite=median(scores), held_out=None if held_out is None else held_out.evaluate(one_file(source)).combined_score
    )


def report(name: str, initial: float, pairs: list[tuple[float, float]]) -> None:
    """Print the paired differences, as shares of the old gain."""
    gain = mean(old for old, _ in pairs) - initial
    differences = [100 * (new - old) / gain for old, new in pairs] if gain else [0.0 for _ in pairs]
    half = T_95.get(len(pairs), 2.0) * stdev(differences) / len(pairs) ** 0.5 if len(pairs) > 1 else float("inf")
    middle = mean(differences)
    line = {
        "suite": name,
        "initial": round(initial, 4),
        "old": [round(old, 4) for old, _ in pairs],
        "new": [round(new, 4) for _, new in pairs],
        "difference_percent_of_old_gain": round(middle, 2),
        "interval": [round(middle - half, 2), round(middle + half, 2)],
    }
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()

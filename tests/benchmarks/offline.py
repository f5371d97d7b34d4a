"""How many programs the offline proposer needs. Usage: python tests/benchmarks/offline.py [SUITE [SEEDS]]

On `adrs` (10 seeds, at most 300 programs): until 26.0, 26.2 and the ceiling. On `tight` (5 seeds, at most 200
programs), where the initial program fails 29 of 30 instances: until a program is correct, and until its
`max_kvpr_inverse` is within 10 and within 1 % of the optimum's. A run ends at its last mark.
"""

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from evaluator.suite_scorer import SuiteScorer
from evaluator.task_files import load_task
from evolve.archive.archive import Archive
from evolve.archive.ranking import CEILING_TOLERANCE
from evolve.core.config import build_config
from evolve.loop.session import new_session
from evolve.progress import Evaluated, Event, Progress

SEEDS = {"adrs": 10, "tight": 5}
GENERATIONS = {"adrs": 300, "tight": 200}


def marks(suite: str) -> dict[str, float]:
    """The scores that are waited for, lowest first, by what they are called."""
    task = load_task("placement")
    ceiling = SuiteScorer(task, task.suite(suite)).ceiling
    assert ceiling is not None
    if suite == "adrs":
        return {">= 26.0": 26.0, ">= 26.2": 26.2, "ceiling": ceiling - CEILING_TOLERANCE}
    # combined_score is 1 + max_kvpr_inverse of a program that is correct
    return {"correct": 1.0, "within 10 %": 1 + 0.9 * (ceiling - 1), "within 1 %": 1 + 0.99 * (ceiling - 1)}


class Watch:
    """Notes the first generation at or above each mark, and ends the run when all are reached."""

    def __init__(self, marks: Mapping[str, float]) -> None:
        self.marks = marks
        self.reached: dict[str, int] = {}
        self.done = threading.Event()

    def tell(self, event: Event, progress: Progress) -> None:
        if isinstance(event, Evaluated) and event.record.correct:
            for name, mark in self.marks.items():
                if event.record.combined_score >= mark:
                    self.reached.setdefault(name, event.record.generation)
            if len(self.reached) == len(self.marks):
                self.done.set()

    def tick(self, progress: Progress) -> None:
        pass


def main() -> None:
    suite = sys.argv[1] if len(sys.argv) > 1 else "adrs"
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else SEEDS[suite]
    wanted = marks(suite)
    found: dict[str, list[float]] = {name: [] for name in wanted}
    print("seed    " + "".join(f"{name:<13}" for name in wanted) + "seconds", flush=True)
    for seed in range(seeds):
        values = {"suite": suite, "seed": seed, "generations": GENERATIONS[suite], "parallel": 1}
        config = build_config(values, origin="benchmark")
        watch = Watch(wanted)
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, new_session(config, Path(folder) / "run") as session:
            assert isinstance(session.archive, Archive)
            session.run(watch, watch.done)
        for name in wanted:
            found[name].append(watch.reached.get(name, float("inf")))
        cells = "".join(f"{watch.reached.get(name, '-')!s:<13}" for name in wanted)
        print(f"{seed:<8}{cells}{time.monotonic() - began:.1f}", flush=True)
    print("median  " + "".join(f"{statistics.median(found[name]):<13}" for name in wanted))


main()

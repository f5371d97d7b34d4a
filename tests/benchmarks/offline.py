"""How many programs the offline proposer needs on `adrs`. Usage: python tests/benchmarks/offline.py [SEEDS]"""

import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from evolve.archive.archive import Archive
from evolve.config import build_config
from evolve.progress import Evaluated, Event, Progress
from evolve.run.session import new_session

MARKS = (26.0, 26.2, 26.255971)


class Watch:
    """Notes the first generation at or above each mark."""

    def __init__(self) -> None:
        self.reached: dict[float, int] = {}

    def tell(self, event: Event, progress: Progress) -> None:
        if isinstance(event, Evaluated) and event.record.correct:
            for mark in MARKS:
                if event.record.combined_score >= mark:
                    self.reached.setdefault(mark, event.record.generation)

    def tick(self, progress: Progress) -> None:
        pass


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    found: dict[float, list[float]] = {mark: [] for mark in MARKS}
    print("seed  " + "  ".join(f">= {mark:<10}" for mark in MARKS) + "  seconds")
    for seed in range(seeds):
        config = build_config({"seed": seed, "generations": 300, "parallel": 1}, origin="benchmark")
        watch = Watch()
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, new_session(config, Path(folder) / "run") as session:
            assert isinstance(session.archive, Archive)
            session.run(watch, threading.Event())
        for mark in MARKS:
            found[mark].append(watch.reached.get(mark, float("inf")))
        cells = "  ".join(f"{watch.reached.get(mark, '-')!s:<13}" for mark in MARKS)
        print(f"{seed:<5} {cells}  {time.monotonic() - began:.1f}", flush=True)
    print("median " + "  ".join(f"{statistics.median(found[mark]):<13}" for mark in MARKS))


main()

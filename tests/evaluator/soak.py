"""Many candidates, a tenth of them hostile, on two workers. Usage: python tests/evaluator/soak.py [COUNT]

Raises AssertionError when an honest one is scored wrong, or when descriptors, processes or memory grow.
"""

import dataclasses
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hostile import HONEST, LIMITS, attacks, confinement, shooting_range
from process_table import descendants

from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox import bubblewrap
from evaluator.task_files import load_task
from tests.builders import one_file

SMALLEST = Path(__file__).parent.parent / "data" / "smallest"


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


# Slow enough that two of them at once need both workers.
SLOW = "for _ in range(3_000_000): pass\n" + HONEST


def state() -> tuple[int, int]:
    """How many descriptors are open, and how many processes there are."""
    return len(list(Path("/proc/self/fd").iterdir())), len(descendants(os.getpid()))


def soak(count: int) -> dict[str, float]:
    """Candidates per second, and growth in MB."""
    task = load_task(str(SMALLEST))
    suite = dataclasses.replace(task.suite(), limits=LIMITS)
    level = "standard" if bubblewrap.find() is None else "strong"
    # Those that use up their time limits are left out: they are many seconds of waiting, and no more than that.
    hostile = [
        attack
        for attack in attacks()
        if attack.missing() is None and not {"cpu_limit", "timeout"} & {outcome.value for outcome in attack.expected}
    ]
    with (
        shooting_range() as place,
        SandboxedEvaluator(task, suite, workers=2, confined=confinement(level)) as evaluator,
        ThreadPoolExecutor(2) as pool,
    ):
        sources = [
            place.fill_in(hostile[number // 10 % len(hostile)]) if number % 10 == 9 else HONEST
            for number in range(count)
        ]
        list(pool.map(evaluator.evaluate, map(one_file, [*sources[:20], SLOW, SLOW])))
        before, memory, began = state(), resident_mb(), time.monotonic()
        for number, evaluation in enumerate(pool.map(evaluator.evaluate, map(one_file, sources))):
            if number % 10 != 9:
                assert evaluation.combined_score == evaluation.ceiling, (number, evaluation.detail)
                assert evaluation.correct
            else:
                assert "Breach" not in evaluation.detail
        took = time.monotonic() - began
        list(
            pool.map(evaluator.evaluate, map(one_file, [SLOW, SLOW]))
        )  # a hostile one may have been the last of its worker
        grown = resident_mb() - memory
        left = all(now <= then for now, then in zip(state(), before, strict=True))
        assert left, f"descriptors and processes: {before} before, {state()} after"
        assert grown < 16, f"memory grew by {grown:.1f} MB"
        assert place.untouched()
    return {"candidates/s": count / took, "grown MB": grown}


if __name__ == "__main__":
    print(soak(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))

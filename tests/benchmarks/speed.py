"""Whether the clock tells programs apart, on a busy machine: the task `tests/data/sorting`.

Usage: python -m tests.benchmarks.speed [REPETITIONS]

While two other processes compute without a pause, three programs are scored in each repetition: one that sorts
SLOWER times over, one of equal speed (another text of the same), and one that sorts FASTER times over (20 % faster).
Counted is how often the second and the third would have become the best in place of the first.
"""

import subprocess
import sys
import time
from pathlib import Path

from evaluator.evaluation import Evaluation
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task_files import load_task
from evolve.archive.ranking import would_be_best
from tests.builders import one_file, recorded

SORTING = Path(__file__).resolve().parent.parent / "data" / "sorting"
SLOWER, FASTER = 6, 5
BUSY = 2


def sorting(source: str, passes: int, variable: str) -> str:
    """A program that sorts again and again."""
    return (
        source.replace("def ordered(", "def once(")
        + f"\n\ndef ordered(numbers):\n    for {variable} in range({passes}):\n        result = once(numbers)\n"
        "    return result\n"
    )


def shown(evaluation: Evaluation) -> str:
    low, high = evaluation.spread or (0.0, 0.0)
    if not evaluation.correct:
        return f"{evaluation.outcome.value}: {evaluation.detail}"
    return f"{evaluation.combined_score:.4f} ({low:.4f} to {high:.4f})"


def main() -> None:
    """Measure and print."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    task = load_task(str(SORTING))
    reference = (SORTING / "reference.py").read_text()
    slow, equal, fast = (
        sorting(reference, SLOWER, "_"),
        sorting(reference, SLOWER, "again"),
        sorting(reference, FASTER, "_"),
    )
    busy = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(100000))"]) for _ in range(BUSY)]
    equals = fasters = disagreeing = 0
    began = time.perf_counter()
    try:
        with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
            for number in range(1, repetitions + 1):
                first, second, third = map(evaluator.evaluate, map(one_file, (slow, equal, fast)))
                best = recorded(first)
                equals += would_be_best(best, 1, second)
                fasters += would_be_best(best, 1, third)
                for source, evaluation in ((slow, first), (equal, second), (fast, third)):
                    disagreeing += not evaluator.examine(one_file(source), evaluation).correct
                print(f"{number:3}  {shown(first)}   equal {shown(second)}   faster {shown(third)}", flush=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    each = (time.perf_counter() - began) / repetitions / 3
    print(f"equal speed called better: {equals} of {repetitions}")
    print(f"20 % faster called better: {fasters} of {repetitions}")
    print(f"not correct after strict re-evaluation: {disagreeing} of {3 * repetitions}")
    print(f"seconds for one evaluation and examination: {each:.1f}")


if __name__ == "__main__":
    main()

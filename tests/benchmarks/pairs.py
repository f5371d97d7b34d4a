"""Whether pairs of runs tell programs of a repository apart, on a busy machine, by CPU time.

Usage: python -m tests.benchmarks.pairs [EQUAL [FASTER]]

While two other processes compute without a pause, EQUAL programs that do the same as the unchanged code (200 if nothing
else is said) go the way of a search: 4 pairs, then the comparison with the best where they score above it. Those that
are called better are measured again in 32 fresh pairs. FASTER programs (20) are 1.1 times as fast: the start of a
process, which is in each measurement, is measured first, and their work is shorter by as much as that needs.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evaluator.program_files import Files
from evaluator.repository.evaluator import RepositoryEvaluator
from tests.repository_tasks import written

WORK = """def work():
    total = 0
    for number in range({count}):
        total += number * {factor}
    return total
"""
COUNT = 1_000_000
GAIN = 1.1
BUSY = 2


def program(name: int, *, count: int = COUNT) -> Files:
    """A program of its own text that adds that many numbers."""
    return Files.single("work.py", WORK.format(count=count, factor=name % 7 + 2) + f"# program {name}\n")


def called_better(evaluator: RepositoryEvaluator, candidate: Files) -> bool:
    """Whether a search would call it better than the unchanged code."""
    evaluation = evaluator.evaluate(candidate)
    assert evaluation.correct, evaluation.detail
    if evaluation.combined_score <= 1:
        return False
    examined = evaluator.examine(candidate, evaluation)
    assert examined.against is not None, examined.detail
    return examined.against.is_better


def faster_count(evaluator: RepositoryEvaluator) -> int:
    """How many numbers a program adds that is `GAIN` times as fast, the start of its process included."""
    start = evaluator.evaluate(program(0, count=0))
    times = start.combined_score
    print(f"a process takes {1 / times:.0%} of the CPU time to start", flush=True)
    return round(COUNT * (times / GAIN - 1) / (times - 1))


def main() -> None:
    """Measure and print."""
    given = [int(word) for word in sys.argv[1:3]]
    equal, faster = (*given, *(200, 20)[len(given) :])
    busy = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(100000))"]) for _ in range(BUSY)]
    began = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "repository"
            tree.mkdir()
            for name, text in program(0).items():
                (tree / name).write_text(text)
            (tree / "bench.py").write_text("from work import work\n\nwork()\n")
            keys: dict[str, object] = {
                "edit": ["work.py"],
                "test": "python -c 'import work'",
                "bench": "python bench.py",
            }
            task = written(Path(folder), keys)
            with RepositoryEvaluator(task, task.suite(), workers=1) as evaluator:
                print(evaluator.noise().sentence(), flush=True)
                count = faster_count(evaluator)
                times = evaluator.measured_again(program(1000, count=count), "").times
                print(f"a faster program in 32 pairs: {times:.3f} times", flush=True)
                quick = (program(1001 + number, count=count) for number in range(faster))
                found = sum(called_better(evaluator, each) for each in quick)
                print(f"faster programs found: {found} of {faster}", flush=True)
                wrong = [each for each in map(program, range(1, equal + 1)) if called_better(evaluator, each)]
                print(f"equal programs called better: {len(wrong)} of {equal}", flush=True)
                still = sum(evaluator.measured_again(each, "").is_better for each in wrong)
                print(f"and still after 32 fresh pairs: {still}", flush=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()

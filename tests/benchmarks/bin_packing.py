"""The judge of the task `bin_packing` against the definition, on random sequences of answers.

Usage: python -m tests.benchmarks.bin_packing [SEQUENCES] [IN_THE_SANDBOX]

Most sequences (10,000) are given to the judge's conversation in this process; some (300) are answered by a program in
the sandbox, so that the adapter and both pipes take part. One in seven is right, the others are broken in one place.
Prints for each kind how many there were, how many were accepted, and in how many the slow judge said anything else
(0 is right); then the CPU time that the judge takes for 10,000 items.
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from evaluator.evaluation import Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task import Instance, Limits, Suite
from evaluator.task_files import load_task
from tests.builders import one_file
from tests.evaluator.tasks.bin_packing.slow_bin_packing import slow_bins

TASK = load_task("bin_packing")
LIMITS = Limits(cpu_per_instance_s=5, cpu_total_s=5, memory_mb=512)
PROGRAM = "nan, inf = float('nan'), float('inf')\nANSWERS = {answers}\ndef place(*_):\n    return ANSWERS.pop(0)\n"

Break = Callable[[random.Random, list[int], int, list[int]], Any]
"""A wrong answer, from the room in the bins that are open, the size of the item, and the bins that have no room."""

BREAKS: dict[str, Break] = {
    "no such bin": lambda rng, free, item, small: rng.choice(
        [len(free), len(free) + rng.randint(1, 9), -2, -9, 10**40]
    ),
    "no room": lambda rng, free, item, small: rng.choice(small),
    "no integer": lambda rng, free, item, small: rng.choice([0.0, -1.0, 0.5, None, "0", [0], {}, rng.random()]),
    "NaN or infinite": lambda rng, free, item, small: rng.choice([float("nan"), float("inf"), -float("inf")]),
    "bool": lambda rng, free, item, small: rng.random() < 0.5,
}
VALID, COUNT = "valid", "too few or many"
KINDS = (VALID, *BREAKS, COUNT)


def drawn(rng: random.Random, kind: str) -> tuple[dict[str, Any], list[Any]]:
    """An instance, and answers to it that are valid but in one place (nowhere, for `valid`)."""
    while True:
        capacity = rng.choice([1, 2, 10, 150, 10**15])
        data = {"capacity": capacity, "items": [rng.randint(1, capacity) for _ in range(rng.randint(1, 30))]}
        answers, where = answered(rng, data, kind)
        if kind == COUNT:
            answers = rng.choice([answers[:-1], [*answers, -1]])
        if where is not None or kind in (VALID, COUNT):
            return data, answers


def answered(rng: random.Random, data: dict[str, Any], kind: str) -> tuple[list[Any], int | None]:
    """Answers drawn from those possible, one of them broken, and where; None where no item could be."""
    free: list[int] = []
    answers: list[Any] = []
    wrong: list[tuple[int, Any]] = []
    for number, item in enumerate(data["items"]):
        small = [index for index, room in enumerate(free) if room < item]
        if kind in BREAKS and (small or kind != "no room"):
            wrong.append((number, BREAKS[kind](rng, free, item, small)))
        chosen = rng.choice([-1, *(index for index, room in enumerate(free) if room >= item)])
        answers.append(chosen)
        free += [data["capacity"]] if chosen == -1 else []
        free[chosen] -= item
    if not wrong:
        return answers, None
    where, answer = rng.choice(wrong)
    answers[where] = answer
    return answers, where


def judged(data: dict[str, Any], answers: list[Any]) -> int | Outcome:
    """What the judge says, in this process."""
    verdict = TASK.judge.judge(Instance(index=0, data=data), answers)
    return verdict.outcome if verdict.cost is None else int(verdict.cost)


def sandboxed(data: dict[str, Any], answers: list[Any]) -> int | None:
    """The number of bins that these answers use; None where they fail."""
    suite = Suite(name="drawn", instances=(Instance(index=0, data=data),), limits=LIMITS, digest="")
    with SandboxedEvaluator(TASK, suite, workers=1) as evaluator:
        cost = evaluator.evaluate(one_file(PROGRAM.format(answers=answers))).results[0].cost
    return None if cost is None else int(cost)


def main() -> None:
    """Compare and print."""
    sequences, through = [int(text) for text in [*sys.argv[1:], "10000", "300"][:2]]
    rng = random.Random(17)
    counts: dict[str, Counter[str]] = {"here": Counter(), "in the sandbox": Counter()}
    for place, count in zip(counts, (sequences, through), strict=True):
        for number in range(count):
            kind = KINDS[number % len(KINDS)]
            if place != "here" and kind == COUNT:
                continue  # a program cannot answer more or less than it is asked
            data, answers = drawn(rng, kind)
            slow = slow_bins(data, answers)
            if place == "here":
                accepted, same = judged(data, answers), judged(data, answers) == slow
            else:
                accepted = sandboxed(data, answers)
                same = accepted == (None if isinstance(slow, Outcome) else slow)
            counts[place].update(
                {kind: 1, f"{kind} accepted": isinstance(accepted, int), f"{kind} otherwise": not same}
            )
    for place, found in counts.items():
        for kind in KINDS:
            accepted, otherwise = found[f"{kind} accepted"], found[f"{kind} otherwise"]
            print(f"{place:15} {kind:16} {found[kind]:6}, accepted {accepted:6}, judged otherwise {otherwise}")
    data = {"capacity": 100, "items": [rng.randint(1, 100) for _ in range(10_000)]}
    began = time.process_time()
    judged(data, [-1] * 10_000)
    print(f"10,000 items: {1000 * (time.process_time() - began):.1f} ms of CPU")


if __name__ == "__main__":
    main()

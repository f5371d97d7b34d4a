"""The judge of the task `txn_scheduling` against a slow simulator, on random answers, whole and broken.

Usage: python -m tests.benchmarks.txn_scheduling [ANSWERS]

Answers are drawn for workloads of the three recipes, cut down to 1 to 25 transactions; half of them are then broken in
one way. Prints how many answers were judged (10,000), how many of each way, in how many the slow simulator said
anything else (0 is right), and the CPU time that the judge takes for a published workload.
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from evaluator import InvalidAnswer
from evaluator.task_files import load_task
from evaluator.tasks.txn_scheduling.judge import judge
from evaluator.tasks.txn_scheduling.recipes import SHAPES, draw_workload
from tests.evaluator.tasks.txn_scheduling.slow_txn_scheduling import slow_judge

Order = list[Any]


def replaced(change: Callable[[int, int], Any]) -> Callable[[Order, random.Random], Any]:
    """A way to break an order: one item becomes what `change` makes of it and of the count of transactions."""

    def broken(order: Order, rng: random.Random) -> Any:
        place = rng.randrange(len(order))
        return [*order[:place], change(order[place], len(order)), *order[place + 1 :]]

    return broken


def twice(order: Order, rng: random.Random) -> Any:
    """One transaction stands in two places."""
    return [*order, rng.choice(order)]


def left_out(order: Order, rng: random.Random) -> Any:
    """One transaction is missing."""
    place = rng.randrange(len(order))
    return order[:place] + order[place + 1 :]


WAYS: dict[str, Callable[[Order, random.Random], Any]] = {
    "one left out": left_out,
    "one twice": twice,
    "one instead of another": replaced(lambda index, count: (index + 1) % count if count > 1 else count),
    "index behind the last": replaced(lambda index, count: count),
    "index from the end": replaced(lambda index, count: index - count),
    "huge index": replaced(lambda index, count: 10**30),
    "bool": replaced(lambda index, count: bool(index)),
    "float": replaced(lambda index, count: float(index)),
    "not a number": replaced(lambda index, count: float("nan")),
    "infinite": replaced(lambda index, count: float("inf")),
    "string": replaced(lambda index, count: str(index)),
    "null": replaced(lambda index, count: None),
    "list": replaced(lambda index, count: [index]),
    "object": replaced(lambda index, count: {"index": index}),
    "makespan behind": lambda order, rng: [order, 1],
    "makespan alone": lambda order, rng: 1,
    "object of indices": lambda order, rng: {str(place): index for place, index in enumerate(order)},
    "named makespan": lambda order, rng: {"schedule": order, "makespan": 1},
    "text": lambda order, rng: ",".join(map(str, order)),
    "nothing": lambda order, rng: None,
    "empty": lambda order, rng: [],
    "indices from 1": lambda order, rng: [index + 1 for index in order],
}
"""The ways in which an answer can be broken; each makes another JSON value of a whole answer."""


def judged(workload: Any, answer: Any) -> int | None:
    """What the judge says; None: refused."""
    try:
        return judge(workload, answer)
    except InvalidAnswer:
        return None


def main() -> None:
    """Compare and print."""
    answers = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rng = random.Random(12)
    drawn: Counter[str] = Counter()
    different = refused = 0
    for number in range(answers):
        shape = sorted(SHAPES)[number % len(SHAPES)]
        transactions = rng.sample(draw_workload(rng, shape)["transactions"], rng.randint(1, 25))
        answer: Any = rng.sample(range(len(transactions)), len(transactions))
        way = rng.choice(list(WAYS)) if rng.random() < 0.5 else "whole"
        if way != "whole":
            answer = WAYS[way](answer, rng)
        drawn[way] += 1
        found = judged({"transactions": transactions}, answer)
        refused += found is None
        different += found != slow_judge(transactions, answer) or (found is None) != (way != "whole")
    print(f"{answers} answers, {refused} refused, judged otherwise by the slow simulator: {different}")
    print(", ".join(f"{way}: {count}" for way, count in drawn.most_common()))
    workload = load_task("txn_scheduling").suite("published").instances[0].fresh()
    began = time.process_time()
    for _ in range(100):
        judge(workload, rng.sample(range(100), 100))
    print(f"100 transactions with 1,600 operations: {10 * (time.process_time() - began):.2f} ms of CPU")


if __name__ == "__main__":
    main()

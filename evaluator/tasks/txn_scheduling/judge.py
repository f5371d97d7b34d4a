"""Judging schedules: exact integers, from the pristine workload, believing nothing that the candidate says.

A workload is told of in `rule.py`, where the rule stands too; an answer is a permutation of the indices of its
transactions, and nothing else is one: the makespan is computed here, and none is read. The rule and the first three
workloads are those of the ADRS benchmark "transaction scheduling" (SkyDiscover, Apache-2.0).
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from evaluator import InvalidAnswer
from evaluator.evaluation import Verdict
from evaluator.tasks.txn_scheduling import recipes
from evaluator.tasks.txn_scheduling.rule import makespan, starts

_SHOWN = 8
_PICTURE_WIDTH, _ROW_HEIGHT = 800, 6


def judge(instance: Mapping[str, Any], answer: object) -> int:
    """The makespan of one schedule, in slots. Raises InvalidAnswer for any JSON value that is no permutation."""
    count = len(instance["transactions"])
    if type(answer) is not list:
        raise InvalidAnswer(f"the answer is {_shown(answer)}, not a list of all {count} indices of transactions")
    seen = [False] * count
    for index in answer:
        if type(index) is not int:
            raise InvalidAnswer(f"the schedule holds {_shown(index)}; it must hold ints from 0 to {count - 1}")
        if not 0 <= index < count:
            raise InvalidAnswer(f"there is no transaction {_shown(index)}: the indices go from 0 to {count - 1}")
        if seen[index]:
            raise InvalidAnswer(f"transaction {index} is scheduled twice; each must be scheduled exactly once")
        seen[index] = True
    missing = [index for index in range(count) if not seen[index]]
    if missing:
        raise InvalidAnswer(_left_out(missing, count))
    return makespan(instance, answer)


def summarise(verdicts: Sequence[Verdict], instances: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """`makespan`: the sum over the workloads of a suite, as the benchmark scores. Fewer slots are better.

    A workload without a valid schedule counts as all its transactions one after another, so that failing never helps.
    """
    if not verdicts or len(verdicts) != len(instances):
        raise ValueError(f"{len(verdicts)} verdicts for {len(instances)} instances")
    total = 0
    for verdict, instance in zip(verdicts, instances, strict=True):
        serial = sum(length for length, _ in instance["transactions"])
        total += serial if verdict.cost is None else int(verdict.cost)
    return {"makespan": float(total)}


def renamed(data: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """The workload with the keys that it has anyway, dealt out anew."""
    keys = sorted({key for _, operations in data["transactions"] for _, key, _ in operations})
    other = dict(zip(keys, rng.sample(keys, len(keys)), strict=True))
    return {
        **data,
        "transactions": [
            [length, [[kind, other[key], position] for kind, key, position in operations]]
            for length, operations in data["transactions"]
        ],
    }


def permuted(data: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """The workload with its transactions in another order."""
    return {**data, "transactions": rng.sample(data["transactions"], len(data["transactions"]))}


def draw_instance(rng: random.Random, suite: str) -> dict[str, Any]:
    """A new workload of the suite's recipe; every suite has the same three shapes."""
    return recipes.draw_workload(rng, rng.choice(sorted(recipes.SHAPES)))


def describe(instance: Mapping[str, Any]) -> str:
    """What a workload is like: `100 transactions, 1600 operations on 165 keys, 56 % writes`."""
    operations = [operation for _, held in instance["transactions"] for operation in held]
    keys = len({key for _, key, _ in operations})
    writes = sum(kind == "w" for kind, _, _ in operations) / len(operations)
    return (
        f"{len(instance['transactions'])} transactions, {len(operations)} operations on {keys} keys, "
        + f"{writes:.0%} writes".replace("%", " %")
    )


def draw(instance: Mapping[str, Any], answer: Sequence[int]) -> str:
    """The schedule as an SVG: a row for every transaction in the order of the answer, slots from left to right.

    Writes are dark, reads light; slots without an access are grey.
    """
    transactions = instance["transactions"]
    scale = _PICTURE_WIDTH / makespan(instance, answer)
    shapes = []
    for row, (index, start) in enumerate(zip(answer, starts(transactions, answer), strict=True)):
        length, operations = transactions[index]
        shapes.append(_bar(row, start, length, scale, "#ddd"))
        for kind, _, position in operations:
            shapes.append(_bar(row, start + position - 1, 1, scale, "#b03a2e" if kind == "w" else "#7fb3d5"))
    height = _ROW_HEIGHT * len(answer)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_PICTURE_WIDTH} {height}">'
    return "\n".join([head, *shapes, "</svg>"])


def _bar(row: int, start: int, slots: int, scale: float, colour: str) -> str:
    x, width = (start - 1) * scale, slots * scale
    y, height = row * _ROW_HEIGHT, _ROW_HEIGHT - 1
    return f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{height}" fill="{colour}"/>'


def _shown(value: object) -> str:
    """A short name for an untrusted value. Strings and containers are named by their type only."""
    if type(value) is int:
        return str(value) if abs(value) < 10**12 else "a number far out of range"
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    names = {"list": "a list", "dict": "an object", "str": "a string"}
    return names.get(type(value).__name__, "no JSON value")


def _left_out(missing: Sequence[int], total: int) -> str:
    names = ", ".join(map(str, missing[:_SHOWN]))
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return f"{len(missing)} of {total} transactions left out: {names}{more}"

"""Online bin packing: the judge owns the bins and asks where to put one item at a time.

An instance is `{"capacity": C, "items": [size, ...]}` in integers, 1 <= size <= C. The answer to an item is the index
of an open bin, counted from 0 in the order in which bins were opened, or -1 for a new one. The cost is how many bins
were opened. Nothing of the items to come, not even their number, leaves the judge.
"""

import random
from collections.abc import Generator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from evaluator import Infeasible, InvalidAnswer
from evaluator.evaluation import Verdict
from evaluator.tasks.bin_packing import recipes

NEW = -1
_DRAWN = 400  # bins in a picture


def converse(instance: Mapping[str, Any]) -> Generator[dict[str, int], object, int]:
    """Ask where each item goes. Raises InvalidAnswer for what names no bin, Infeasible where the item does not fit."""
    capacity = instance["capacity"]
    free: list[int] = []
    for number, item in enumerate(instance["items"]):
        chosen = yield {"item": item, "capacity": capacity} if number == 0 else {"item": item}
        _put(free, chosen, item, capacity)
    return len(free)


def _put(free: list[int], chosen: object, item: int, capacity: int) -> int:
    """Put an item where an untrusted answer says; the index of its bin."""
    if type(chosen) is not int:
        raise InvalidAnswer(f"the answer is {_shown(chosen)}; it must be an int: the index of an open bin, or -1")
    if chosen == NEW:
        free.append(capacity)
        chosen = len(free) - 1
    if not 0 <= chosen < len(free):
        raise InvalidAnswer(f"{_shown(chosen)} is no open bin: {_existing(len(free))}, and -1 opens a new one")
    if free[chosen] < item:
        raise Infeasible(f"bin {chosen} has room for {free[chosen]}, and the item's size is {item}")
    free[chosen] -= item
    return chosen


def least(instance: Mapping[str, Any]) -> int:
    """What no packing goes below: the sum of the sizes over the capacity, rounded up."""
    return -(-int(sum(instance["items"])) // int(instance["capacity"]))


def summarise(verdicts: Sequence[Verdict], instances: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The mean over the instances of how many per cent more bins than `least` were used.

    A failed instance counts as one bin for each item, which is what the worst correct program uses.
    """
    if not verdicts or len(verdicts) != len(instances):
        raise ValueError(f"{len(verdicts)} verdicts for {len(instances)} instances")
    used = [
        Fraction(len(instance["items"])) if verdict.cost is None else Fraction(verdict.cost)
        for verdict, instance in zip(verdicts, instances, strict=True)
    ]
    excess = [bins / least(instance) - 1 for bins, instance in zip(used, instances, strict=True)]
    return {
        "excess_percent": float(100 * sum(excess) / len(excess)),
        "mean_bins": float(sum(used) / len(used)),
    }


def permuted(data: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """The instance with its items in another order."""
    return {**data, "items": rng.sample(data["items"], len(data["items"]))}


def draw_instance(rng: random.Random, suite: str) -> dict[str, Any]:
    """A new instance of a suite's recipe."""
    return recipes.draw_instance(rng, suite)


def describe(instance: Mapping[str, Any]) -> str:
    """What an instance is like: `500 items, capacity 150, at least 201 bins`."""
    return f"{len(instance['items'])} items, capacity {instance['capacity']}, at least {least(instance)} bins"


def draw(instance: Mapping[str, Any], answer: Sequence[int]) -> str:
    """The first bins as columns, from the first opened; what is not filled stays blank."""
    capacity = instance["capacity"]
    free: list[int] = []
    items = []
    for item, chosen in zip(instance["items"], answer, strict=True):
        index = _put(free, chosen, item, capacity)
        if index < _DRAWN:
            items.append(f'<rect x="{2 * index}" y="{free[index]}" width="1.8" height="{item}"/>')
    width = 2 * min(len(free), _DRAWN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {capacity}" width="800" height="300" '
        f'preserveAspectRatio="none"><rect width="{width}" height="{capacity}" fill="#eee"/>'
        f'<g fill="#47a" stroke="#fff" stroke-width="0.3">{"".join(items)}</g></svg>'
    )


def _existing(count: int) -> str:
    return f"they are 0 to {count - 1}" if count else "there is none yet"


def _shown(value: object) -> str:
    """A short name for an untrusted value. Strings and containers are named by their type only."""
    if type(value) is int:
        return str(value) if abs(value) < 10**12 else "a number far out of range"
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    names = {"list": "a list", "dict": "an object", "str": "a string"}
    return names.get(type(value).__name__, "no JSON value")

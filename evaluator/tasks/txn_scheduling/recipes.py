"""Recipes of workloads of the three shapes of the published benchmark: from a `random.Random`, and nothing else.

The shapes (100 transactions each) follow what the published workloads look like, not how they were made.
"""

import random
from collections.abc import Callable
from typing import Any

COUNT = 100
_DISTRICTS = 4
_RARE_KEYS = 50
_USUAL_PLACE = {1: 11, 2: 14, 3: 3, 4: 2, 5: 4, 6: 7, 7: 9, 8: 12, 9: 13, 10: 6, 11: 7, 12: 14, 13: 14, 14: 5, 15: 15}
"""Where popular keys stand, give or take a slot, as in an application's fixed sequence of statements."""


def _popular(rng: random.Random) -> list[Any]:
    """Sixteen operations, one a slot, on as many keys: four keys stand in every transaction, then each with a chance
    that falls with its rank; whatever is missing is drawn from a long tail. 55 % are writes."""
    keys = [1, 2, 3, 4]
    for rank in range(5, 40):
        if len(keys) < 16 and rng.random() < min(0.93, 5.8 / rank):
            keys.append(rank)
    while len(keys) < 16:
        key = 40 + min(5000, int(12 / (1 - rng.random())))
        if key not in keys:
            keys.append(key)
    places = {key: _USUAL_PLACE.get(key, rng.uniform(1, 16)) + rng.uniform(-1.5, 1.5) for key in keys}
    keys.sort(key=lambda key: places[key])
    return [16, [["w" if rng.random() < 0.55 else "r", key, place] for place, key in enumerate(keys, start=1)]]


def _lookup(rng: random.Random) -> list[Any]:
    """Long: reads a district (one of four), then reads and writes a rare key, and computes on for 18 slots."""
    district, rare = rng.randint(1, _DISTRICTS), rng.randint(_DISTRICTS + 1, _RARE_KEYS)
    return [21, [["r", district, 1], ["r", rare, 2], ["w", rare, 3]]]


def _update(rng: random.Random) -> list[Any]:
    """Short: reads and writes a district, then reads and writes a rare key."""
    district, rare = rng.randint(1, _DISTRICTS), rng.randint(_DISTRICTS + 1, _RARE_KEYS)
    return [5, [["r", district, 1], ["w", district, 2], ["r", rare, 3], ["w", rare, 4]]]


def _copies(rng: random.Random) -> list[Any]:
    """Nine slots: a read of one key at the first, a write of another key at the last. Ten keys."""
    source, target = rng.sample(range(1, 11), 2)
    return [9, [["r", source, 1], ["w", target, 9]]]


SHAPES: dict[str, Callable[[random.Random], list[list[Any]]]] = {
    "popular": lambda rng: [_popular(rng) for _ in range(COUNT)],
    "accounts": lambda rng: [_lookup(rng) if index < COUNT // 2 else _update(rng) for index in range(COUNT)],
    "copies": lambda rng: [_copies(rng) for _ in range(COUNT)],
}
"""The transactions of a workload, by the shape's name: W1, W2 and W3 of the benchmark, in this order."""


def draw_workload(rng: random.Random, shape: str) -> dict[str, Any]:
    """A new workload of a shape."""
    return {"transactions": SHAPES[shape](rng)}

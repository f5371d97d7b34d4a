"""The recipes of bin packing: the items of the held-out suites and of fresh instances.

`or3` and `weibull` are published data. Fresh instances of them are drawn as those were: sizes uniform in 20 .. 100 at
capacity 150 (Beasley, OR-Library, u500), and Weibull of scale 45 and shape 3, rounded and cut to 1 .. 100, at capacity
100 (Romera-Paredes et al., Nature 2023). The held-out suites test a rule under other conditions: other seeds, other
numbers of items, another capacity, another distribution.
"""

import random
from collections.abc import Callable
from typing import Any, Final

Draw = Callable[[random.Random, int], int]
"""A size of an item, for a capacity."""


def uniform(rng: random.Random, capacity: int) -> int:
    """From 2/15 to 10/15 of the capacity, as 20 .. 100 of 150."""
    return rng.randint(-(-2 * capacity // 15), 10 * capacity // 15)


def weibull(rng: random.Random, capacity: int) -> int:
    """Weibull of scale 0.45 of the capacity and shape 3."""
    return min(capacity, max(1, round(rng.weibullvariate(0.45 * capacity, 3))))


def bimodal(rng: random.Random, capacity: int) -> int:
    """Small items and large ones in equal shares, about a fifth and a half of the capacity."""
    middle = 0.2 if rng.random() < 0.5 else 0.5
    return min(capacity, max(1, round(rng.gauss(middle, 0.06) * capacity)))


RECIPES: Final[dict[str, tuple[tuple[Draw, int, int], ...]]] = {
    "or3": ((uniform, 150, 500),),
    "or3-holdout": ((uniform, 150, 1000), (uniform, 120, 1000), (bimodal, 150, 1000)),
    "weibull": ((weibull, 100, 5000),),
    "weibull-holdout": ((weibull, 100, 10000), (weibull, 80, 5000), (uniform, 100, 5000), (bimodal, 100, 5000)),
}
"""For each suite the kinds of its instances: how a size is drawn, the capacity, and how many items there are."""


def make(rng: random.Random, kind: tuple[Draw, int, int]) -> dict[str, Any]:
    """An instance of one kind."""
    draw, capacity, count = kind
    return {"capacity": capacity, "items": [draw(rng, capacity) for _ in range(count)]}


def draw_instance(rng: random.Random, suite: str) -> dict[str, Any]:
    """A new instance of a suite, of one of its kinds."""
    return make(rng, rng.choice(RECIPES[suite]))

"""The recipes of the placement instances, for the shipped suites and for fresh instances.

Each suite has a recipe, and shares it with its held-out suite. The caller gives the source of the numbers: one stream
of numpy's legacy generator for the shipped suites (`make_suites`), `random.Random` for fresh instances
(`draw_instance`).
"""

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

GPU_MEM_SIZE: Final = 80
"""GB of one GPU."""
_HELD_OUT: Final = "-holdout"


class Source(NamedTuple):
    """Where a recipe takes its random choices from: one of low .. high - 1, and items in another order."""

    integer: Callable[[int, int], int]
    shuffled: Callable[[Sequence[Any]], list[Any]]


def adrs(source: Source) -> dict[str, Any]:
    """The published benchmark: 5 to 9 GPUs, two models each."""
    draw = source.integer
    gpu_num = draw(5, 10)
    return {"gpu_num": gpu_num, "models": [[draw(10, 30), draw(1, 10), draw(5, 10)] for _ in range(2 * gpu_num)]}


def tight(source: Source) -> dict[str, Any]:
    """6 to 12 GPUs, 90 to 97 % of their memory taken: cut from a hidden placement, so that one exists."""
    draw = source.integer
    gpu_num = draw(6, 13)
    goal = -(-draw(900, 971) * GPU_MEM_SIZE * gpu_num // 1000)
    used = [goal // gpu_num + (gpu < goal % gpu_num) for gpu in range(gpu_num)]
    for _ in range(2 * gpu_num):
        more, less = draw(0, gpu_num), draw(0, gpu_num)
        if more != less and used[more] < GPU_MEM_SIZE - 1 and used[less] > 64:
            used[more] += 1
            used[less] -= 1
    models = [[size, draw(1, 20), draw(5, 13)] for total in used for size in _cut(total, draw(2, 5), source)]
    return {"gpu_num": gpu_num, "models": source.shuffled(models)}


def _cut(total: int, parts: int, source: Source) -> list[int]:
    """`total` GB as `parts` sizes of at least 8 GB."""
    while True:
        cuts = sorted(source.integer(1, total) for _ in range(parts - 1))
        sizes = [after - before for before, after in zip([0, *cuts], [*cuts, total], strict=True)]
        if min(sizes) >= 8:
            return sizes


def skewed(source: Source) -> dict[str, Any]:
    """8 to 16 GPUs, rates by Zipf's law (a few very hot models), SLOs from 2 to 20.

    Drawn again when a fifth of the memory is not free, or when a single model alone is above the pressure that
    all models would have if they could be spread evenly: then nothing would be left to decide.
    """
    draw = source.integer
    while True:
        gpu_num = draw(8, 17)
        hottest, exponent = draw(150, 400), draw(8, 13) / 10
        models = [
            [draw(8, 41), max(1, int(hottest / rank**exponent)), (2, 4, 5, 10, 20)[draw(0, 5)]]
            for rank in range(1, draw(2 * gpu_num, 5 * gpu_num // 2 + 1) + 1)
        ]
        instance = {"gpu_num": gpu_num, "models": source.shuffled(models)}
        free = GPU_MEM_SIZE * gpu_num - sum(size for size, _, _ in models)
        if 5 * free < GPU_MEM_SIZE * gpu_num:
            continue
        alone = max(Fraction(rate, slo * (GPU_MEM_SIZE - size)) for size, rate, slo in models)
        if alone <= sum(Fraction(rate, slo) for _, rate, slo in models) / free:
            return instance


def fleet(source: Source) -> dict[str, Any]:
    """64 to 256 GPUs with 4 to 8 models each: what takes a program more than linear time shows here."""
    draw = source.integer
    gpu_num, each = draw(64, 257), draw(4, 9)
    models = [[draw(3, 112 // each), draw(1, 50), draw(4, 13)] for _ in range(each * gpu_num)]
    return {"gpu_num": gpu_num, "models": models}


RECIPES: Final[dict[str, Callable[[Source], dict[str, Any]]]] = {
    "adrs": adrs,
    "tight": tight,
    "skewed": skewed,
    "fleet": fleet,
}
"""The recipe of each suite, by its name."""


def draw_instance(rng: random.Random, suite: str) -> dict[str, Any]:
    """A new instance of a suite's recipe."""
    return RECIPES[suite.removesuffix(_HELD_OUT)](Source(rng.randrange, lambda items: rng.sample(items, len(items))))

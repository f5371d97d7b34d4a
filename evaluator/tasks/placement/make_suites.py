"""Makes the placement suites from their seeds: `python -m evaluator.tasks.placement.make_suites`.

The files are data that ships with the package; this script says where they come from, and a test holds both
together.
"""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.tasks.placement.judge import GPU_MEM_SIZE

FOLDER = Path(__file__).resolve().parent / "suites"


def adrs(seed: int = 42, count: int = 50) -> list[dict[str, Any]]:
    """The published benchmark: one stream of numpy's legacy generator for all instances."""
    import numpy as np

    draw = np.random.RandomState(seed).randint  # the same stream as np.random.seed(seed), but no global state
    instances = []
    for _ in range(count):
        gpu_num = int(draw(5, 10))
        models = [[int(draw(10, 30)), int(draw(1, 10)), int(draw(5, 10))] for _ in range(2 * gpu_num)]
        instances.append({"gpu_num": gpu_num, "models": models})
    return instances


def tight(seed: int, count: int = 30) -> list[dict[str, Any]]:
    """6 to 12 GPUs, 90 to 97 % of their memory taken: cut from a hidden placement, so that one exists."""
    import numpy as np

    random = np.random.RandomState(seed)
    draw = random.randint
    instances = []
    for _ in range(count):
        gpu_num = int(draw(6, 13))
        goal = -(-int(draw(900, 971)) * GPU_MEM_SIZE * gpu_num // 1000)
        used = [goal // gpu_num + (gpu < goal % gpu_num) for gpu in range(gpu_num)]
        for _ in range(2 * gpu_num):
            more, less = int(draw(gpu_num)), int(draw(gpu_num))
            if more != less and used[more] < GPU_MEM_SIZE - 1 and used[less] > 64:
                used[more] += 1
                used[less] -= 1
        models = [
            [size, int(draw(1, 20)), int(draw(5, 13))] for total in used for size in _cut(total, int(draw(2, 5)), draw)
        ]
        instances.append({"gpu_num": gpu_num, "models": [models[i] for i in random.permutation(len(models))]})
    return instances


def _cut(total: int, parts: int, draw: Callable[..., int]) -> list[int]:
    """`total` GB as `parts` sizes of at least 8 GB."""
    while True:
        cuts = sorted(int(draw(1, total)) for _ in range(parts - 1))
        sizes = [after - before for before, after in zip([0, *cuts], [*cuts, total], strict=True)]
        if min(sizes) >= 8:
            return sizes


def skewed(seed: int, count: int = 30) -> list[dict[str, Any]]:
    """8 to 16 GPUs, rates by Zipf's law (a few very hot models), SLOs from 2 to 20.

    Drawn again when a fifth of the memory is not free, or when a single model alone is above the pressure that
    all models would have if they could be spread evenly: then nothing would be left to decide.
    """
    import numpy as np

    random = np.random.RandomState(seed)
    draw = random.randint
    instances: list[dict[str, Any]] = []
    while len(instances) < count:
        gpu_num = int(draw(8, 17))
        hottest, exponent = int(draw(150, 400)), int(draw(8, 13)) / 10
        models = [
            [int(draw(8, 41)), max(1, int(hottest / rank**exponent)), (2, 4, 5, 10, 20)[int(draw(5))]]
            for rank in range(1, int(draw(2 * gpu_num, 5 * gpu_num // 2 + 1)) + 1)
        ]
        instance = {"gpu_num": gpu_num, "models": [models[i] for i in random.permutation(len(models))]}
        free = GPU_MEM_SIZE * gpu_num - sum(size for size, _, _ in models)
        if 5 * free < GPU_MEM_SIZE * gpu_num:
            continue
        alone = max(Fraction(rate, slo * (GPU_MEM_SIZE - size)) for size, rate, slo in models)
        if alone <= sum(Fraction(rate, slo) for _, rate, slo in models) / free:
            instances.append(instance)
    return instances


def fleet(seed: int, count: int = 10) -> list[dict[str, Any]]:
    """64 to 256 GPUs with 4 to 8 models each: what takes a program more than linear time shows here."""
    import numpy as np

    draw = np.random.RandomState(seed).randint
    instances = []
    for _ in range(count):
        gpu_num, each = int(draw(64, 257)), int(draw(4, 9))
        models = [[int(draw(3, 112 // each)), int(draw(1, 50)), int(draw(4, 13))] for _ in range(each * gpu_num)]
        instances.append({"gpu_num": gpu_num, "models": models})
    return instances


SUITES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "adrs": adrs,
    "adrs-holdout": partial(adrs, seed=1042),
    "tight": partial(tight, seed=1),
    "tight-holdout": partial(tight, seed=1001),
    "skewed": partial(skewed, seed=2),
    "skewed-holdout": partial(skewed, seed=1002),
    "fleet": partial(fleet, seed=3),
    "fleet-holdout": partial(fleet, seed=1003),
}
"""Every suite by its name, as a function without arguments that makes its instances. A held-out twin is the same
recipe with another seed."""


def as_text(suite: str, instances: Sequence[dict[str, Any]]) -> str:
    """The file of a suite: JSON, one instance a line."""
    lines = ",\n".join(json.dumps(instance, separators=(",", ":")) for instance in instances)
    return f'{{"suite": {json.dumps(suite)}, "instances": [\n{lines}\n]}}\n'


def main() -> None:
    """Writes every suite beside this script."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in SUITES.items():
        path = FOLDER / f"{name}.json"
        path.write_text(as_text(name, make()), encoding="utf-8")


if __name__ == "__main__":
    main()

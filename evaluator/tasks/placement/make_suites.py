"""Makes the placement suites from their seeds: `python -m evaluator.tasks.placement.make_suites`.

The files are data that ships with the package, this script is their origin, and a test compares both. The recipe
(`recipes.py`) describes the instances, and makes fresh ones too.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.tasks.placement.recipes import RECIPES, Source
from evaluator.tasks.suite_files import as_text

FOLDER = Path(__file__).resolve().parent / "suites"


def make(recipe: str, *, seed: int, count: int) -> list[dict[str, Any]]:
    """`count` instances of a recipe, from one stream of numpy's legacy generator, like the published benchmark."""
    import numpy as np

    drawn = np.random.RandomState(seed)  # the same stream as np.random.seed(seed), but no global state
    source = Source(
        lambda low, high: int(drawn.randint(low, high)),
        lambda items: [items[index] for index in drawn.permutation(len(items))],
    )
    return [RECIPES[recipe](source) for _ in range(count)]


SUITES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "adrs": partial(make, "adrs", seed=42, count=50),
    "adrs-holdout": partial(make, "adrs", seed=1042, count=50),
    "tight": partial(make, "tight", seed=1, count=30),
    "tight-holdout": partial(make, "tight", seed=1001, count=30),
    "skewed": partial(make, "skewed", seed=2, count=30),
    "skewed-holdout": partial(make, "skewed", seed=1002, count=30),
    "fleet": partial(make, "fleet", seed=3, count=10),
    "fleet-holdout": partial(make, "fleet", seed=1003, count=10),
}
"""By name, a function that makes the instances of a suite. A held-out suite is the same recipe with another seed."""


def main() -> None:
    """Writes every suite."""
    FOLDER.mkdir(exist_ok=True)
    for name, instances in SUITES.items():
        path = FOLDER / f"{name}.json"
        path.write_text(as_text(name, "instances", instances()), encoding="utf-8")


if __name__ == "__main__":
    main()

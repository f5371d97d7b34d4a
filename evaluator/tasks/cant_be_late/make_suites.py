"""Makes the suites and proves their bounds: `python -m evaluator.tasks.cant_be_late.make_suites`.

The files are data that ships with the package, this script is their origin, and a test compares both. Each suite has
the zones in turn, and in each of them every job of the recipe. A bound is the clairvoyant optimum (see `exact.py`).
"""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evaluator.tasks.cant_be_late.exact import least_cost
from evaluator.tasks.cant_be_late.recipes import RECIPES, ZONES, make
from evaluator.tasks.suite_files import as_text

FOLDER = Path(__file__).resolve().parent

SEEDS: Final = {"single": 35, "single-holdout": 1035, "shifted": 36, "shifted-holdout": 1036}
"""The seed of each suite."""
TRACES: Final = 60


def instances_of(suite: str) -> list[dict[str, Any]]:
    """The instances of a suite, from one stream of random numbers."""
    rng, recipe = random.Random(SEEDS[suite]), RECIPES[suite]
    return [
        make(rng, recipe, ZONES[number % len(ZONES)], recipe.jobs[number // len(ZONES) % len(recipe.jobs)])
        for number in range(TRACES)
    ]


def bounds_text(suite: str, instances: Sequence[Mapping[str, Any]]) -> str:
    """The file of a suite's bounds: JSON, one trace a line."""
    return as_text(suite, "bounds", [{"lower_bound": least_cost(data)} for data in instances])


def main() -> None:
    """Writes every suite and its bounds."""
    for suite in SEEDS:
        instances = instances_of(suite)
        text = as_text(suite, "instances", instances)
        (FOLDER / "suites" / f"{suite}.json").write_text(text, encoding="utf-8")
        (FOLDER / "bounds" / f"{suite}.json").write_text(bounds_text(suite, instances), encoding="utf-8")


if __name__ == "__main__":
    main()

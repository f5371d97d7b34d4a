"""Makes the suites and their bounds: `python -m evaluator.tasks.tours.make_suites`.

The files are data that ships with the package, this script is their origin, and a test compares both.
"""

import random
from pathlib import Path
from typing import Any, Final

from evaluator.tasks.suite_files import as_text
from evaluator.tasks.tours.exact import lower_bound
from evaluator.tasks.tours.recipes import SHAPES, draw_points

FOLDER: Final = Path(__file__).resolve().parent

SUITES: Final = {"points": 1, "points-holdout": 1001}
"""The seed of each suite."""
ROUNDS: Final = 4
"""The number of instances of each shape."""


def make(seed: int) -> list[dict[str, Any]]:
    """The instances of a suite, each from a stream of its own."""
    return [
        draw_points(random.Random(f"{seed}/{number}/{shape}"), shape) for number in range(ROUNDS) for shape in SHAPES
    ]


def main() -> None:
    """Writes every file."""
    for name, seed in SUITES.items():
        instances = make(seed)
        bounds = [{"lower_bound": lower_bound(instance["points"])} for instance in instances]
        (FOLDER / "suites" / f"{name}.json").write_text(as_text(name, "instances", instances), encoding="utf-8")
        (FOLDER / "bounds" / f"{name}.json").write_text(as_text(name, "bounds", bounds), encoding="utf-8")


if __name__ == "__main__":
    main()

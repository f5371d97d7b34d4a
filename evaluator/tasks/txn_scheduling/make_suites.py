"""Makes the suites: `python -m evaluator.tasks.txn_scheduling.make_suites`.

The files are data that ships with the package; this script says where they come from, and a test holds both together.
`published` is data of the ADRS benchmark (SkyDiscover, Apache-2.0) and is not made; all others come from the recipes.
"""

import random
from pathlib import Path
from typing import Any

from evaluator.tasks.suite_files import as_text
from evaluator.tasks.txn_scheduling.recipes import SHAPES, draw_workload

FOLDER = Path(__file__).resolve().parent / "suites"

SUITES: dict[str, tuple[int, int]] = {
    "published-holdout": (1001, 1),
    "generated": (2, 2),
    "generated-holdout": (1002, 2),
}
"""The seed of a suite, and how many workloads of each shape it has."""


def make(seed: int, rounds: int) -> list[dict[str, Any]]:
    """The workloads of a suite, shape by shape, each from a stream of its own."""
    return [
        draw_workload(random.Random(f"{seed}/{number}/{shape}"), shape) for number in range(rounds) for shape in SHAPES
    ]


def main() -> None:
    """Writes every suite that is made beside this script."""
    FOLDER.mkdir(exist_ok=True)
    for name, (seed, rounds) in SUITES.items():
        (FOLDER / f"{name}.json").write_text(as_text(name, "instances", make(seed, rounds)), encoding="utf-8")


if __name__ == "__main__":
    main()

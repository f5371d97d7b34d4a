"""Makes the suites and proves their bounds: `python -m evaluator.tasks.txn_scheduling.make_suites`.

The files are data that ships with the package, this script is their origin, and a test compares both. `published` is
data of the ADRS benchmark (SkyDiscover, Apache-2.0); all other suites come from the recipes. A bound is a number of
slots that every schedule of a workload needs (see `exact.py`).
"""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.tasks.suite_files import as_text
from evaluator.tasks.txn_scheduling.exact import lower_bound
from evaluator.tasks.txn_scheduling.recipes import SHAPES, draw_workload

FOLDER = Path(__file__).resolve().parent

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


def bounds_text(suite: str, instances: Sequence[Mapping[str, Any]]) -> str:
    """The file of a suite's bounds: JSON, one workload a line."""
    lines = ",\n".join(json.dumps({"lower_bound": lower_bound(data)}) for data in instances)
    return f'{{"suite": {json.dumps(suite)}, "bounds": [\n{lines}\n]}}\n'


def main() -> None:
    """Writes every suite that is made, and the bounds of all suites."""
    for name, (seed, rounds) in SUITES.items():
        text = as_text(name, "instances", make(seed, rounds))
        (FOLDER / "suites" / f"{name}.json").write_text(text, encoding="utf-8")
    for path in sorted((FOLDER / "suites").glob("*.json")):
        text = bounds_text(path.stem, json.loads(path.read_text(encoding="utf-8"))["instances"])
        (FOLDER / "bounds" / path.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

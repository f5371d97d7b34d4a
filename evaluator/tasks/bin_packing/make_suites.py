"""Makes the files of bin packing that have a recipe: `python -m evaluator.tasks.bin_packing.make_suites`.

`suites/or3.json` and `suites/weibull.json` are published data and stay as they are (see their "source"). The held-out
suites come from the seeds below, and all bounds from the sizes. A test compares files and script.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.tasks.bin_packing import recipes
from evaluator.tasks.bin_packing.judge import least
from evaluator.tasks.suite_files import as_text

FOLDER = Path(__file__).resolve().parent
HELD_OUT = {"or3-holdout": (26111, 4), "weibull-holdout": (26112, 1)}
"""Every held-out suite with its seed, and the number of instances of each of its kinds."""


def make(name: str) -> list[dict[str, Any]]:
    """The instances of a held-out suite."""
    seed, count = HELD_OUT[name]
    rng = random.Random(seed)
    return [recipes.make(rng, kind) for kind in recipes.RECIPES[name] for _ in range(count)]


def bounds_text(instances: Sequence[dict[str, Any]]) -> str:
    """The bounds of a suite: a number of bins for each instance."""
    return json.dumps({"bounds": [{"lower_bound": least(instance)} for instance in instances]}) + "\n"


def main() -> None:
    """Writes the held-out suites, and the bounds of all suites."""
    for name in HELD_OUT:
        text = as_text(name, "instances", make(name), source="evaluator/tasks/bin_packing/make_suites.py")
        (FOLDER / "suites" / f"{name}.json").write_text(text, encoding="utf-8")
    for path in sorted((FOLDER / "suites").glob("*.json")):
        instances = json.loads(path.read_text(encoding="utf-8"))["instances"]
        (FOLDER / "bounds" / path.name).write_text(bounds_text(instances), encoding="utf-8")


if __name__ == "__main__":
    main()

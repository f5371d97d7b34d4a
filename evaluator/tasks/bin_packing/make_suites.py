"""Makes the files of bin packing that have a recipe: `python -m evaluator.tasks.bin_packing.make_suites`.

`suites/or3.json` and `suites/weibull.json` are published data and stay as they are (their "source" says whose); the
twins come from the seeds below, and the bounds of all of them from the sizes. A test holds files and script together.
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
TWINS = {"or3-holdout": (26111, 4), "weibull-holdout": (26112, 1)}
"""Every twin with its seed, and how many instances of each of its kinds it has."""


def twin(name: str) -> list[dict[str, Any]]:
    """The instances of a twin."""
    seed, count = TWINS[name]
    rng = random.Random(seed)
    return [recipes.make(rng, kind) for kind in recipes.RECIPES[name] for _ in range(count)]


def bounds_text(instances: Sequence[dict[str, Any]]) -> str:
    """The bounds of a suite: a number of bins for each instance."""
    return json.dumps({"bounds": [{"lower_bound": least(instance)} for instance in instances]}) + "\n"


def main() -> None:
    """Writes the twins, and the bounds of all suites."""
    for name in TWINS:
        text = as_text(name, "instances", twin(name), source="evaluator/tasks/bin_packing/make_suites.py")
        (FOLDER / "suites" / f"{name}.json").write_text(text, encoding="utf-8")
    for path in sorted((FOLDER / "suites").glob("*.json")):
        instances = json.loads(path.read_text(encoding="utf-8"))["instances"]
        (FOLDER / "bounds" / path.name).write_text(bounds_text(instances), encoding="utf-8")


if __name__ == "__main__":
    main()

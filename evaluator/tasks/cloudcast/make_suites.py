"""Makes the suites that have a recipe, and all bounds: `python -m evaluator.tasks.cloudcast.make_suites`.

The files are data that ships with the package, this script is their origin, and a test compares both.
`suites/published.json` is published data and stays as it is (see its "source"). `exact.py` proves the bounds. They
allow for the least time of a configuration, and cheap routes may take longer.
"""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evaluator.tasks.cloudcast import recipes
from evaluator.tasks.cloudcast.exact import is_exact, lower_bound
from evaluator.tasks.suite_files import as_text

FOLDER: Final = Path(__file__).resolve().parent
SUITES: Final = {"published-holdout": 1035, "wide": 35, "wide-holdout": 2035}
"""The seed of each suite."""
_KINDS: Final = (*recipes.CLOUDS, "inter", "inter")
_WIDE: Final = 20


def make(name: str) -> list[dict[str, Any]]:
    """The configurations of a suite, each from a stream of its own. Every second one of a wide suite has a deadline."""
    seed = SUITES[name]
    if name.startswith("wide"):
        return [recipes.wide(random.Random(f"{seed}/{number}"), hurried=number % 2 == 1) for number in range(_WIDE)]
    return [recipes.published(random.Random(f"{seed}/{number}"), kind) for number, kind in enumerate(_KINDS)]


def bounds_text(suite: str, instances: Sequence[Mapping[str, Any]]) -> str:
    """The file of a suite's bounds, and how each was proven: JSON, one configuration a line."""
    exact = sum(map(is_exact, instances))
    source = (
        f"evaluator/tasks/cloudcast/exact.py: {exact} by the dynamic program of Dreyfus and Wagner, "
        f"{len(instances) - exact} by dual ascent (Wong 1984); lower bounds, not tight"
    )
    return as_text(suite, "bounds", [{"lower_bound": str(lower_bound(data))} for data in instances], source=source)


def main() -> None:
    """Writes every suite that is made, and the bounds of all suites."""
    for name in SUITES:
        text = as_text(name, "instances", make(name), source="evaluator/tasks/cloudcast/make_suites.py")
        (FOLDER / "suites" / f"{name}.json").write_text(text, encoding="utf-8")
    for path in sorted((FOLDER / "suites").glob("*.json")):
        text = bounds_text(path.stem, json.loads(path.read_text(encoding="utf-8"))["instances"])
        (FOLDER / "bounds" / path.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

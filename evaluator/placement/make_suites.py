"""Makes the placement suites from their seeds: `python -m evaluator.placement.make_suites`.

The files are data that ships with the package; this script says where they come from, and a test holds both
together.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


SUITES = {"adrs": adrs}
"""Every suite by its name, as a function without arguments that makes its instances."""


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

"""Proves lower bounds for every suite: `python -m evaluator.tasks.txn_scheduling.prove_bounds`.

Writes `bounds/<suite>.json`: a lower bound on the makespan of each workload (`exact.py` says why it holds).
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.tasks.txn_scheduling.exact import lower_bound

FOLDER = Path(__file__).resolve().parent


def as_text(suite: str, instances: Sequence[Mapping[str, Any]]) -> str:
    """The file of a suite's bounds: JSON, one workload a line."""
    lines = ",\n".join(json.dumps({"lower_bound": lower_bound(data)}) for data in instances)
    return f'{{"suite": {json.dumps(suite)}, "bounds": [\n{lines}\n]}}\n'


def main() -> None:
    """Writes the bounds of every suite."""
    (FOLDER / "bounds").mkdir(exist_ok=True)
    for path in sorted((FOLDER / "suites").glob("*.json")):
        text = as_text(path.stem, json.loads(path.read_text(encoding="utf-8"))["instances"])
        (FOLDER / "bounds" / path.name).write_text(text, encoding="utf-8")
        found = [entry["lower_bound"] for entry in json.loads(text)["bounds"]]
        sys.stdout.write(f"{path.stem}: {' + '.join(map(str, found))} = {sum(found)}\n")


if __name__ == "__main__":
    main()

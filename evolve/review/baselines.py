"""What stands beside the curve of a run: what its initial program is worth, and the baselines of its task."""

import json
from functools import cache
from typing import Any, Final

from evaluator.places import PROGRAMS
from evolve.archive.reader import RunReader

_MEASURED: Final = PROGRAMS / "measured.json"
"""Scores of the programs that ship, measured by `docs/tables.py`, each with the evaluator that gave it."""


def lines(archive: RunReader) -> list[dict[str, Any]]:
    """The values of the initial program and of the task's baselines, by name. A baseline's was measured once: it is
    there only where the evaluator was the one that scored the run."""
    initial = archive.program(0)
    found = [] if initial is None or not initial.correct else [{"name": "initial", "value": initial.value}]
    suite = _measured().get(archive.identity["task"], {}).get("suites", {}).get(archive.identity["suite"])
    if suite is None or suite["evaluator_version"] != archive.identity.get("evaluator_version"):
        return found
    return found + [
        {"name": name, "value": program["value"]}
        for name, program in suite["programs"].items()
        if name != "initial" and not program["failed"]
    ]


def cpu_seconds(task: str, suite: str) -> dict[str, float]:
    """The CPU seconds of a call of each complete program that ships, by its name (`families/annealing`), on a suite."""
    programs = _measured().get(task, {}).get("suites", {}).get(suite, {}).get("families", {})
    return {name: program["cpu_s"] for name, program in programs.items()}


@cache
def _measured() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_MEASURED.read_text(encoding="utf-8"))
    return found

"""Runs of the task `drawn`, which has a recipe, a held-out suite and quick limits, with a scripted model."""

import json
from pathlib import Path
from typing import Any

import yaml

TASK = Path(__file__).resolve().parent.parent / "data" / "drawn"

HONEST = "index = min(range(len(items)), key=items.__getitem__)"
HALF = "index = 1"
"""Better than the initial program, and not the best there is."""


def table(*suites: str, elsewhere: str, without: int = 0, worse: int = 0) -> str:
    """A line that looks the answers of suites up, but for the first `without` instances, and does `elsewhere` on all
    other ones. Of the first `worse` instances it has not the best answer."""
    documents = [json.loads((TASK / f"{suite}.json").read_text()) for suite in suites]
    known = [instance["items"] for document in documents for instance in document["instances"]]
    answers = {
        tuple(items): items.index(sorted(items)[1 if place < worse else 0])
        for place, items in enumerate(known)
        if place >= without
    }
    return f"if (found := {answers!r}.get(tuple(items))) is not None: return found\n    {elsewhere}"


def burning(seconds: float) -> str:
    """A line that takes so much CPU time."""
    return f"import time; end = time.process_time() + {seconds}\n    while time.process_time() < end: pass"


def patch(line: str, name: str) -> str:
    """An answer: `line` in a program of the task."""
    return (
        f"<NAME> {name} </NAME>\n<DESCRIPTION> d </DESCRIPTION>\n<DIFF>\n<<<<<<< SEARCH\n    # next\n"
        f"=======\n    {line}\n    # next\n>>>>>>> REPLACE\n</DIFF>\n"
    )


def configure(folder: Path, *lines: str, **keys: Any) -> str:
    """Write a configuration with a scripted model that proposes these lines, each on top of the best; its path."""
    answers = [patch(line, f"line_{number}") for number, line in enumerate(lines, 1)]
    (folder / "script.yaml").write_text(yaml.safe_dump({"answers": answers, "meta": []}), encoding="utf-8")
    document: dict[str, Any] = {
        "task": str(TASK),
        "generations": len(answers),
        "parallel": 1,
        "workers": 1,
        "meta_every": 1000,
        "models": [{"model": f"scripted:{folder / 'script.yaml'}"}],
        "search": {"elites": 2, "unguided": 0.0, "kinds": {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(document | keys), encoding="utf-8")
    return str(path)

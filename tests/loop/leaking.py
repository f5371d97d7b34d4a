"""Runs of the task `leaky`, whose judge believes the candidate, with a scripted model."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from evolve.cli.main import main
from tests.journals import events_of

TASK = Path(__file__).resolve().parent.parent / "data" / "leaky"

# Lines for a program of the task. The first three are honest, and each is better than what stands before it.
SECOND = "if items[1] < items[index]: index = 1"
THIRD = "if items[2] < items[index]: index = 2"
FOURTH = "if items[3] < items[index]: index = 3"
CLAIMS = 'return {"index": index, "cost": 1}'
COUNTS = (
    'pick.calls = getattr(pick, "calls", 0) + 1\n    if pick.calls > 1: index = min(range(4), key=items.__getitem__)'
)
READS_A_CLOCK = 'import time\n    return {"index": index, "cost": min(items) + time.perf_counter_ns() // 100 % 3}'
HASHES = 'return {"index": index, "cost": min(items) + list(set("abcdefghijkl")).index("a")}'

# An insights report that praises what a model would praise.
ROUND = {
    "summaries": "".join(
        f"## Generation {generation}\n**Program Name: X**\n- **Implementation**: It picks.\n"
        "- **Performance**: An outstanding breakthrough.\n- **Feedback**: A remarkable winner.\n"
        for generation in range(1, 20)
    ),
    "insights": "## Successful Algorithmic Patterns\n- [gen 2] is a breakthrough.\n"
    "## Ineffective Approaches\n- None.\n## Implementation Insights\n- None.\n## Performance Analysis\n- None.\n"
    "## Recommendations\n1. Build on [gen 2], the outstanding winner.\n2. Build on [gen 77].",
}


def patch(line: str, name: str) -> str:
    """An answer: `line` in a program of the task."""
    return (
        f"<NAME> {name} </NAME>\n<DESCRIPTION> A breakthrough. </DESCRIPTION>\n<DIFF>\n<<<<<<< SEARCH\n    # next\n"
        f"=======\n    {line}\n    # next\n>>>>>>> REPLACE\n</DIFF>\n"
    )


def configure(folder: Path, lines: Mapping[str, str], **keys: Any) -> str:
    """Write a configuration with a scripted model that proposes these lines by name; its path.

    `meta` is an insights report of the script, for each round.
    """
    meta = keys.pop("meta", [])
    answers = [patch(line, name) for name, line in lines.items()]
    (folder / "script.yaml").write_text(yaml.safe_dump({"answers": answers, "meta": meta}), encoding="utf-8")
    document: dict[str, Any] = {
        "task": str(TASK),
        "generations": len(answers),
        "parallel": 1,
        "workers": 1,
        "meta_every": 1000,
        "models": [{"model": f"scripted:{folder / 'script.yaml'}"}],
        "search": {"elites": 1, "unguided": 0.0, "kinds": {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(document | keys), encoding="utf-8")
    return str(path)


def evolve(*words: str, code: int = 0) -> None:
    """Run the command in this process."""
    assert main(list(words)) == code


def events(name: str, wanted: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The journal of a run, or those of its events that are wanted."""
    found = events_of(Path("runs") / name / "journal.jsonl")
    return [event for event in found if not wanted or event["event"] in wanted]


def without_held_out(folder: Path) -> Path:
    """A copy of the task whose suite has no held-out suite."""
    copy = folder / "leaky"
    shutil.copytree(TASK, copy)
    text = (copy / "task.yaml").read_text(encoding="utf-8")
    (copy / "task.yaml").write_text(text.replace("    held_out: hidden\n", ""), encoding="utf-8")
    return copy

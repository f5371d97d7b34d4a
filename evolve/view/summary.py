"""A run as one row of the table of runs."""

from typing import Any, Final

from evolve.archive.archive import Archive
from evolve.review.curves import sampled
from evolve.view import payload

_POINTS: Final = 100
"""So many values stand for the curve of a run."""
_SMALL: Final = ("state", "newest", "self_judged", "objective", "spent", "bound", "best_known", "believed")


def run_summary(name: str, archive: Archive) -> dict[str, Any]:
    """The row. `best`, `gap` and `held_out` are values of the task's own metric; `gap_to` says what the gap is to;
    `programs` counts the generations that have ended; `curve` holds the best value at up to 100 of them, in order."""
    head = payload.changes(archive, archive.chronicle.events)
    twin = head["believed"]["held_out"]
    return {
        "name": name,
        "task": archive.identity["task"],
        "suite": archive.identity["suite"],
        "seed": archive.identity.get("seed"),
        "began": archive.began,
        **{key: head[key] for key in _SMALL},
        "best": head["best_value"],
        **_gap(head),
        "held_out": None if twin is None else twin["value"],
        "programs": archive.ended,
        "correct": sum(record.correct for record in archive.programs),
        "quarantined": head["believed"]["quarantined"],
        "curve": [value for value in sampled(archive, _POINTS) if value is not None],
    }


def _gap(head: dict[str, Any]) -> dict[str, Any]:
    """How far the best stands from its bound, or else from the best known value."""
    best, known = head["best_value"], head["best_known"]
    if head["gap"] is not None or best is None or known is None:
        return {"gap": head["gap"], "gap_to": None if head["gap"] is None else "bound"}
    behind = best - known["value"] if head["objective"]["direction"] == "minimise" else known["value"] - best
    return {"gap": behind, "gap_to": "best known"}

"""A run as one row of the table of runs."""

from typing import Any, Final

from evolve.archive.archive import Archive
from evolve.review.curves import sampled
from evolve.view import payload

_POINTS: Final = 100
"""So many values stand for the curve of a run."""
_OF_HEAD: Final = ("state", "newest", "self_judged", "objective", "spent", "bound", "best_known", "target", "gap")


def run_summary(name: str, archive: Archive) -> dict[str, Any]:
    """The row, of live pages and of reports alike. `best`, `gap` (to `target`) and `held_out` are values of the task's
    own metric; `programs` counts programs as `evolve list` does, `generations` what has ended; `curve` holds the best
    value after up to 100 of those, in order."""
    head = payload.changes(archive, archive.chronicle.events)
    twin = head["believed"]["held_out"]
    return {
        "name": name,
        "task": archive.identity["task"],
        "suite": archive.identity["suite"],
        "seed": archive.identity.get("seed"),
        "began": archive.began,
        **{key: head[key] for key in _OF_HEAD},
        "believed": head["believed"],
        "best": head["best_value"],
        "held_out": None if twin is None else twin["value"],
        "programs": len(archive.programs),
        "generations": archive.ended,
        "correct": sum(record.correct for record in archive.programs),
        "quarantined": head["believed"]["quarantined"],
        "curve": [value for value in sampled(archive, _POINTS) if value is not None],
    }

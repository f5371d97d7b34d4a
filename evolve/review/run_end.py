"""What is said of a run at its end: why nothing improved of late, and how much of its gain is tuning."""

from collections import Counter
from typing import Any, Final

from evolve.archive.ranking import compared, rank_score
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.insights.credit import Credits
from evolve.review.generation_view import mark_of

_LEAST: Final = 3
"""Fewer proposals without a new best say nothing."""
_ENDINGS: Final = {
    "worse": ("was worse", "were worse"),
    "no_better": ("was no better", "were no better"),
    "same": ("did the same as an earlier program",) * 2,
    "failed": ("failed",) * 2,
    "refused": ("was refused", "were refused"),
    "duplicate": ("was a duplicate", "were duplicates"),
    "unanswered": ("got no answer",) * 2,
}


def standstill(archive: RunReader) -> dict[str, Any] | None:
    """How many `proposals` have ended since the best program came, how many of them in which way, and that in words
    (`text`, None where there are few). None without a best."""
    if (best := archive.best) is None:
        return None
    since, known = archive.endings(since=archive.ended - archive.ended_since_best), Credits(archive)
    found = Counter(_ending(archive, known, best, ended.generation) for ended in since)
    counts = {name: found[name] for name in _ENDINGS}
    parts = [f"{n} {_ENDINGS[name][n > 1]}" for name, n in sorted(counts.items(), key=lambda one: -one[1]) if n]
    said = f"Nothing improved in the last {found.total()} proposals: {', '.join(parts)}."
    return {"proposals": found.total()} | counts | {"text": said if found.total() >= _LEAST else None}


def _ending(archive: RunReader, known: Credits, best: ProgramRecord, generation: int) -> str:
    """How a proposal ended that brought no new best: a key of _ENDINGS."""
    program = archive.program(generation)
    if program is None:
        return mark_of(archive.statuses[generation], archive.deciding(generation))
    if not program.correct:
        return "failed"
    if known.same_as(program) is not None:
        return "same"
    return "worse" if compared(rank_score(program), program.spread, rank_score(best), best.spread) < 0 else "no_better"


def tuned_alone(archive: RunReader) -> dict[str, Any] | None:
    """What tuning the initial program's numbers alone reached, beside the best, and that in words (`text`). None where
    it was not measured."""
    if (measured := archive.tuning_baseline) is None:
        return None
    best, objective = archive.best, archive.programs[0].objective
    reached = "no correct program" if measured.value is None else objective.amount(measured.value)
    said = f"with the evaluations of {measured.proposals} proposals, reaches {reached}"
    if best is not None and best.value is not None:
        said += f"; the best reaches {objective.amount(best.value)}"
    said = f"Tuning the initial program's numbers alone, {said}."
    if not measured.tuning.get("numbers"):
        said = "The initial program has no numbers to tune."
    return {"proposals": measured.proposals, "value": measured.value} | dict(measured.tuning) | {"text": said}

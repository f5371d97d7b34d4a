"""Closing remarks on a run: why nothing improved lately, and how much of its gain is tuning."""

from collections import Counter
from typing import Any, Final

from evolve.archive.ranking import compared, rank_score
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.insights.credit import Credits
from evolve.review.generation_view import mark_of

_LEAST: Final = 3
"""The least number of proposals without a new best for a remark."""
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
    """The number of `proposals` that ended since the best program, by how they ended, and a sentence (`text`, None for
    fewer than _LEAST). None without a best."""
    if (best := archive.best) is None:
        return None
    since, credited = archive.endings(since=archive.ended - archive.ended_since_best), Credits(archive)
    endings = Counter(_ending(archive, credited, best, ended.generation) for ended in since)
    counts = {name: endings[name] for name in _ENDINGS}
    parts = [f"{n} {_ENDINGS[name][n > 1]}" for name, n in sorted(counts.items(), key=lambda entry: -entry[1]) if n]
    sentence = f"Nothing improved in the last {endings.total()} proposals: {', '.join(parts)}."
    return {"proposals": endings.total()} | counts | {"text": sentence if endings.total() >= _LEAST else None}


def _ending(archive: RunReader, credited: Credits, best: ProgramRecord, generation: int) -> str:
    """How a proposal without a new best ended: a key of _ENDINGS."""
    program = archive.program(generation)
    if program is None:
        return mark_of(archive.statuses[generation], archive.deciding(generation))
    if not program.correct:
        return "failed"
    if credited.same_as(program) is not None:
        return "same"
    return "worse" if compared(rank_score(program), program.spread, rank_score(best), best.spread) < 0 else "no_better"


def tuned_alone(archive: RunReader) -> dict[str, Any] | None:
    """The result of tuning only the initial program's numbers, and a sentence that compares it with the best (`text`).
    None if it was not measured."""
    if (measured := archive.tuning_baseline) is None:
        return None
    best, objective = archive.best, archive.programs[0].objective
    reached = "no correct program" if measured.value is None else objective.amount(measured.value)
    best_text = "" if best is None or best.value is None else f"; the best reaches {objective.amount(best.value)}"
    effort = f"with the evaluations of {measured.proposals} proposals"
    sentence = f"Tuning only the initial program's numbers, {effort}, reaches {reached}{best_text}."
    if not measured.tuning.get("numbers"):
        sentence = "The initial program has no numbers to tune."
    return {"proposals": measured.proposals, "value": measured.value} | dict(measured.tuning) | {"text": sentence}

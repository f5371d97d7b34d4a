"""How a program stands: its score beside ceiling and gap, whether it may be believed, and the order that follows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evaluator.evaluation import Evaluation, Outcome
from evolve.archive.records import HeldOutRecord, ProgramRecord
from evolve.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownScore:
    """What is shown of a verdict wherever a score is shown. `metrics` holds `runtime_s` beside the judge's own."""

    outcome: Outcome
    correct: bool
    combined_score: float
    ceiling: float | None
    gap: float | None
    quarantine: str | None
    metrics: Mapping[str, float]
    best_known: float | None = None  # the best score that anyone reached, not proven
    self_judged: bool = False  # the program had a hand in its score
    spread: tuple[float, float] | None = None  # what the score may as well be, where the clock is the score

    @property
    def gap_to_best_known(self) -> float | None:
        """How far below the best known score it stands; None where none is known."""
        return None if self.best_known is None else self.best_known - self.combined_score

    def to_json(self) -> dict[str, Any]:
        """The keys that every JSON answer about a program shares."""
        return {
            "correct": self.correct,
            "outcome": self.outcome.value,
            "combined_score": self.combined_score,
            "spread": None if self.spread is None else list(self.spread),
            "ceiling": self.ceiling,
            "gap": self.gap,
            "best_known": self.best_known,
            "gap_to_best_known": self.gap_to_best_known,
            "self_judged": self.self_judged,
            "quarantined": self.quarantine is not None,
            "metrics": dict(self.metrics),
        }


def of_record(record: ProgramRecord) -> ShownScore:
    """What is shown of a recorded program."""
    return ShownScore(
        outcome=record.outcome,
        correct=record.correct,
        combined_score=record.combined_score,
        ceiling=record.ceiling,
        gap=record.gap,
        quarantine=record.quarantine,
        metrics=record.metrics,
        spread=record.spread,
    )


def of_evaluation(evaluation: Evaluation) -> ShownScore:
    """What is shown of an evaluation."""
    return ShownScore(
        outcome=evaluation.outcome,
        correct=evaluation.correct,
        combined_score=evaluation.combined_score,
        ceiling=evaluation.ceiling,
        gap=evaluation.gap,
        quarantine=evaluation.quarantine,
        metrics={**evaluation.metrics, "runtime_s": evaluation.runtime_s},
        spread=evaluation.spread,
    )


def ranked(programs: Iterable[ProgramRecord]) -> list[ProgramRecord]:
    """Correct, unquarantined programs by score, best first, ties to the earlier generation; then all the others."""
    return sorted(programs, key=lambda p: (not _counts(p), -p.combined_score, p.generation))


def sort_keys(programs: Iterable[ProgramRecord]) -> list[str]:
    """What `ordered` can order these programs by: score, generation, gap, and the metrics they have."""
    metrics = {name for program in programs for name in program.metrics}
    return ["score", "generation", "gap", *sorted(metrics)]


def ordered(programs: Iterable[ProgramRecord], key: str) -> list[ProgramRecord]:
    """The programs by `key` (see `sort_keys`), best first; what cannot be believed, or lacks the key, stands last.

    The smallest gap and the shortest runtime are best, else the largest value. Raises InputError on another key.
    """
    programs = list(programs)
    known = sort_keys(programs)
    if key not in known:
        raise InputError(f"cannot sort by {key!r}: these programs have {', '.join(known)}")
    if key == "score":
        return ranked(programs)
    if key == "generation":
        return sorted(programs, key=lambda p: p.generation)

    def position(program: ProgramRecord) -> tuple[bool, bool, float, int]:
        value = program.gap if key == "gap" else program.metrics.get(key)
        sign = 1 if key in ("gap", "runtime_s") else -1
        return not _counts(program), value is None, 0.0 if value is None else sign * value, program.generation

    return sorted(programs, key=position)


def _counts(program: ProgramRecord) -> bool:
    return program.correct and program.quarantine is None


def score_text(value: float | None) -> str:
    """A score, a ceiling or a gap as it is shown: 6 decimals, since a score within 1e-6 has reached the ceiling."""
    return _decimals(value, 6)


def metric_text(value: float | None) -> str:
    """A metric other than the score, with 4 decimals."""
    return _decimals(value, 4)


def change_text(value: float | None) -> str:
    """A score change, always with its sign."""
    return "-" if value is None else f"{_whole_zero(value, 4):+.4f}"


def measured_text(shown: ShownScore) -> str:
    """A score as it is shown, with its spread where a clock measured it: `2.310 (2.250 to 2.370)`."""
    if shown.spread is None:
        return score_text(shown.combined_score)
    return f"{shown.combined_score:.3f} {spread_text(shown.spread)}"


def spread_text(spread: tuple[float, float]) -> str:
    """Between what a score that a clock measured lies: `(2.250 to 2.370)`."""
    low, high = spread
    return f"({low:.3f} to {high:.3f})"


def sentence(shown: ShownScore) -> str:
    """The score with its ceiling and gap, or with its spread, in words."""
    score = measured_text(shown)
    if shown.spread is not None:
        return f"{score} times as fast as the reference"
    if shown.ceiling is None:
        return f"{score} (no ceiling is known)"
    return f"{score} (ceiling {score_text(shown.ceiling)}, gap {score_text(shown.gap)})"


def held_out_text(held_out: HeldOutRecord) -> str:
    """What a program scores on the held-out suite, with its gap there: `25.910000, gap 0.400000`."""
    if not held_out.correct:
        return f"{score_text(held_out.combined_score)}, not correct there"
    gap = "" if held_out.gap is None else f", gap {score_text(held_out.gap)}"
    return f"{score_text(held_out.combined_score)}{gap}"


def _decimals(value: float | None, decimals: int) -> str:
    return "-" if value is None else f"{_whole_zero(value, decimals):.{decimals}f}"


def _whole_zero(value: float, decimals: int) -> float:
    """`value` rounded, without the sign of a zero."""
    return round(value, decimals) + 0.0

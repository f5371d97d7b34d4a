"""Tables as plain values. What draws them is `evolve.cli.output`, which also makes every cell harmless."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evolve.review.scores import ShownScore, measured_text, metric_text, score_text


class Tone(StrEnum):
    """What a piece of text means to the reader; a terminal shows it as a colour, anything else not at all."""

    PLAIN = "plain"
    STRONG = "strong"
    QUIET = "quiet"
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, trusted or not, with its tone."""

    text: str
    tone: Tone = Tone.PLAIN


class Fit(StrEnum):
    """What becomes of a column on a terminal that is too narrow for the table. Elsewhere all is shown."""

    WHOLE = "whole"
    SPARE = "spare"  # left out
    CUT = "cut"  # shortened, with an ellipsis
    FOLD = "fold"  # broken into several lines


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title, whether it holds numbers (which stand at the right), and how it gives way."""

    title: str
    number: bool = False
    fit: Fit = Fit.WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns and rows; every row has a cell for each column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


SCORE_COLUMNS = (Column("score", number=True), Column("ceiling", number=True), Column("gap", number=True))


def score_cells(shown: ShownScore) -> tuple[Cell, Cell, Cell]:
    """A score with its ceiling and gap: the three always stand side by side."""
    tone = Tone.STRONG if shown.correct else Tone.BAD
    return (
        Cell(measured_text(shown), tone),
        Cell(score_text(shown.ceiling)),
        Cell(score_text(shown.gap)),
    )


_METRICS = {"success": "success_rate", "optimal": "optimality", "CPU ms": "runtime_s"}


def metric_columns(scores: Sequence[ShownScore]) -> tuple[Column, ...]:
    """The metric columns that at least one program has a value for: a task need not have them all."""
    titles = [title for title, name in _METRICS.items() if any(name in s.metrics for s in scores)]
    return tuple(Column(title, number=True, fit=Fit.SPARE) for title in titles)


def metric_cells(shown: ShownScore, columns: Sequence[Column]) -> tuple[Cell, ...]:
    """The cells under `metric_columns`; time is shown in milliseconds per call."""
    cells = []
    for title in (column.title for column in columns):
        value = shown.metrics.get(_METRICS[title])
        if value is not None and title == "CPU ms":
            cells.append(Cell(f"{value * 1000:.2f}"))
        else:
            cells.append(Cell(metric_text(value)))
    return tuple(cells)


def outcome_cell(shown: ShownScore) -> Cell:
    """The outcome, or that the score cannot be believed."""
    if shown.quarantine is not None:
        return Cell("quarantined", Tone.BAD)
    return Cell(shown.outcome.value, Tone.GOOD if shown.correct else Tone.BAD)

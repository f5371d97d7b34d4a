"""Tables as plain values. What draws them is `evolve.cli.output`, which also makes every cell harmless."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evolve.review.standing import Standing, ceiling_text, score_text


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


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title, whether it holds numbers, and whether it gives way when the terminal is narrow."""

    title: str
    number: bool = False
    elastic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns and rows; every row has a cell for each column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


SCORE_COLUMNS = (Column("score", number=True), Column("ceiling", number=True), Column("gap", number=True))


def score_cells(standing: Standing) -> tuple[Cell, Cell, Cell]:
    """A score with its ceiling and gap: the three always stand side by side."""
    tone = Tone.STRONG if standing.correct else Tone.BAD
    return (
        Cell(score_text(standing.combined_score), tone),
        Cell(ceiling_text(standing.ceiling)),
        Cell(ceiling_text(standing.gap)),
    )


_METRICS = {"success": "success_rate", "optimality": "optimality", "CPU ms": "runtime_s"}


def metric_columns(standings: Sequence[Standing], titles: Sequence[str] = tuple(_METRICS)) -> tuple[str, ...]:
    """Which of the metric columns `titles` at least one program has a value for: a task need not have them all."""
    return tuple(title for title in titles if any(_METRICS[title] in s.metrics for s in standings))


def metric_cells(standing: Standing, titles: Sequence[str]) -> tuple[Cell, ...]:
    """The cells under `metric_columns`; time is shown in milliseconds per call."""
    cells = []
    for title in titles:
        value = standing.metrics.get(_METRICS[title])
        if value is not None and title == "CPU ms":
            cells.append(Cell(f"{value * 1000:.2f}"))
        else:
            cells.append(Cell(score_text(value)))
    return tuple(cells)


def outcome_cell(standing: Standing) -> Cell:
    """The outcome, or that the score cannot be believed."""
    if standing.quarantine is not None:
        return Cell("quarantined", Tone.BAD)
    return Cell(standing.outcome.value, Tone.GOOD if standing.correct else Tone.BAD)

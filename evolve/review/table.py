"""Tables as plain values. What draws them is `evolve.cli.output`, which also makes every cell harmless."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluator.objective import COMBINED, SCORE_ITSELF
from evolve.review.scores import (
    SELF_JUDGED,
    ShownScore,
    bound_word,
    measured_text,
    metric_text,
    score_text,
    value_text,
)


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


def score_columns(scores: Sequence[ShownScore]) -> tuple[Column, ...]:
    """The columns of `score_cells`: the metric under its own name, beside its bound, the gap, and the best value known
    where there is one."""
    objective = scores[0].objective if scores else SCORE_ITSELF
    title = "score" if objective.metric == COMBINED else objective.metric
    unit = f" ({objective.unit})" if objective.unit else ""
    whose = f" ({SELF_JUDGED})" if any(shown.self_judged for shown in scores) else ""
    columns = [Column(f"{title}{unit}{whose}", number=True), Column(bound_word(objective), number=True)]
    columns.append(Column("gap", number=True))
    if any(shown.listed is not None for shown in scores):
        columns.append(Column("best known", number=True))
    return tuple(columns)


def score_cells(shown: ShownScore, columns: Sequence[Column]) -> tuple[Cell, ...]:
    """A value with its bound and gap: they always stand side by side. `columns`: those of `score_columns`."""
    tone = Tone.STRONG if shown.correct else Tone.BAD
    cells = [
        Cell(measured_text(shown), tone),
        Cell(value_text(shown.value_bound)),
        Cell(score_text(shown.value_gap)),
    ]
    listed = None if shown.listed is None else shown.listed.value
    cells.append(Cell(value_text(listed), Tone.GOOD if shown.beyond else Tone.PLAIN))
    return tuple(cells[: len(columns)])


_TITLES = {"success_rate": "success", "optimality": "optimal", "runtime_s": "CPU ms"}
_MOST_METRICS = 5


def metric_names(scores: Sequence[ShownScore]) -> tuple[str, ...]:
    """The metrics that have a column beside the score: the first that the task gives, then the time. What stands in the
    score's own column (the metric, and the ends of its spread) has none."""
    seen = dict.fromkeys(name for shown in scores for name in shown.metrics if name not in _in_the_score(shown))
    own = [name for name in seen if name != "runtime_s"][:_MOST_METRICS]
    return (*own, *(["runtime_s"] if "runtime_s" in seen else []))


def _in_the_score(shown: ShownScore) -> tuple[str, ...]:
    metric = shown.objective.metric
    return (metric,) if shown.spread is None else (metric, f"{metric}_low", f"{metric}_high")


def metric_columns(names: Sequence[str]) -> tuple[Column, ...]:
    """Their columns."""
    return tuple(Column(_TITLES.get(name, name.replace("_", " ")), number=True, fit=Fit.SPARE) for name in names)


def metric_cells(shown: ShownScore, names: Sequence[str]) -> tuple[Cell, ...]:
    """The cells under `metric_columns`; time is shown in milliseconds per call."""
    cells = []
    for name in names:
        value = shown.metrics.get(name)
        cells.append(Cell(f"{value * 1000:.2f}" if value is not None and name == "runtime_s" else metric_text(value)))
    return tuple(cells)


def outcome_cell(shown: ShownScore) -> Cell:
    """The outcome, or that the score cannot be believed."""
    if shown.quarantine is not None:
        return Cell("quarantined", Tone.BAD)
    return Cell(shown.outcome.value, Tone.GOOD if shown.correct else Tone.BAD)

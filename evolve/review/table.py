"""Tables as plain values. `evolve.cli.output` draws them, and makes every cell harmless."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Generic, TypeVar

from evaluator.evaluation import Scored
from evaluator.objective import COMBINED, SCORE_ITSELF, Objective
from evolve.review.scores import (
    SELF_JUDGED,
    bound_word,
    measured_text,
    metric_text,
    metrics_of,
    range_text,
    score_text,
    value_text,
)


class Tone(StrEnum):
    """The meaning of a text; a terminal shows it as a colour."""

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


Fields = Iterable[tuple[str, Cell | str]]
"""Names and values of a screen."""


def known_fields(*pairs: tuple[str, Cell | str | None]) -> Fields:
    """The fields that have a value."""
    return [(name, value) for name, value in pairs if value]


class Fit(StrEnum):
    """How a column gives way on a terminal that is too narrow for the table."""

    WHOLE = "whole"
    SPARE = "spare"  # left out
    CUT = "cut"  # shortened, with an ellipsis
    FOLD = "fold"  # broken into several lines
    TEXT = "text"  # broken like FOLD, but sentences are not shortened and keep their line breaks


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title, whether it holds numbers (aligned right), and how it gives way."""

    title: str
    number: bool = False
    fit: Fit = Fit.WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns and rows; every row has a cell for each column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


Row = TypeVar("Row")


class TableOf(Generic[Row]):
    """A table that is made column by column, with a row for each thing."""

    def __init__(self, things: Iterable[Row]) -> None:
        self._things = list(things)
        self._columns: list[Column] = []
        self._cells: list[list[Cell]] = [[] for _ in self._things]

    def column(
        self, title: str, cell: Callable[[Row], Cell | str], *, number: bool = False, fit: Fit = Fit.WHOLE
    ) -> None:
        """Add a column: its title, and its cell for each thing."""
        self._columns.append(Column(title, number=number, fit=fit))
        for cells, thing in zip(self._cells, self._things, strict=True):
            made = cell(thing)
            cells.append(Cell(made) if isinstance(made, str) else made)

    def table(self) -> Table:
        """The finished table."""
        return Table(columns=tuple(self._columns), rows=tuple(map(tuple, self._cells)))

    def score_columns(self, scored: Callable[[Row], Scored]) -> None:
        """Add the value under the metric's name, its bound and gap, and, if there are any, the best known value and the
        range in other orders."""
        scores = list(map(scored, self._things))
        self.column(value_title(scores), lambda thing: _value_cell(scored(thing)), number=True)
        bound = bound_word(_objective(scores))
        self.column(bound, lambda thing: value_text(scored(thing).value_bound), number=True)
        self.column("gap", lambda thing: score_text(scored(thing).value_gap), number=True)
        if any(score.best_known is not None for score in scores):
            self.column("best known", lambda thing: _best_known_cell(scored(thing)), number=True)
        if any(score.confirmed is not None for score in scores):
            self.column("in other orders", lambda thing: range_text(scored(thing)) or "-", number=True)

    def metric_columns(self, scored: Callable[[Row], Scored]) -> None:
        """Add the other metrics. Time is shown in milliseconds per call."""
        for name in metric_names(list(map(scored, self._things))):
            title = _TITLES.get(name, name.replace("_", " "))
            self.column(title, partial(_metric, scored, name), number=True, fit=Fit.SPARE)


def value_title(scores: Sequence[Scored]) -> str:
    """The title of a column of values: the metric, its unit, and whether one is self-judged."""
    self_judged = f" ({SELF_JUDGED})" if any(score.self_judged for score in scores) else ""
    return f"{objective_title(_objective(scores))}{self_judged}"


def objective_title(objective: Objective) -> str:
    """The metric of a task, and its unit."""
    title = "score" if objective.metric == COMBINED else objective.metric
    return f"{title} ({objective.unit})" if objective.unit else title


def _objective(scores: Sequence[Scored]) -> Objective:
    return scores[0].objective if scores else SCORE_ITSELF


def _value_cell(scored: Scored) -> Cell:
    return Cell(measured_text(scored), Tone.STRONG if scored.correct else Tone.BAD)


def _best_known_cell(scored: Scored) -> Cell:
    best_known = None if scored.best_known is None else scored.best_known.value
    return Cell(value_text(best_known), Tone.GOOD if scored.beyond else Tone.PLAIN)


_TITLES = {"success_rate": "success", "optimality": "optimal", "runtime_s": "CPU ms"}
_MOST_METRICS = 5


def metric_names(scores: Sequence[Scored]) -> tuple[str, ...]:
    """The metrics with a column of their own: the first that the task gives, then the time. The score's column already
    shows the metric itself and the ends of its spread."""
    seen = dict.fromkeys(name for scored in scores for name in metrics_of(scored) if name not in _in_the_score(scored))
    own = [name for name in seen if name != "runtime_s"][:_MOST_METRICS]
    return (*own, *(["runtime_s"] if "runtime_s" in seen else []))


def _in_the_score(scored: Scored) -> tuple[str, ...]:
    metric = scored.objective.metric
    return (metric,) if scored.spread is None else (metric, f"{metric}_low", f"{metric}_high")


def _metric(scored: Callable[[Row], Scored], name: str, thing: Row) -> str:
    value = metrics_of(scored(thing)).get(name)
    return f"{value * 1000:.2f}" if value is not None and name == "runtime_s" else metric_text(value)


def outcome_cell(scored: Scored) -> Cell:
    """The outcome, or `quarantined`."""
    if scored.quarantine is not None:
        return Cell("quarantined", Tone.BAD)
    return Cell(scored.outcome.value, Tone.GOOD if scored.correct else Tone.BAD)

"""A task's objective: its metric, the direction, and the best known values."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final

from evaluator.input_files import AsText, Exact, Section

COMBINED: Final = "combined_score"
"""The metric of a task whose judge computes the score itself."""

GAIN_UNIT: Final = "times"
"""The unit of a task out of a repository: how many times better than the unchanged code."""

HUGE: Final = 1e12
"""From here on a number is shown in powers of ten."""
DECIMALS: Final = 4
"""Of a value that is not whole."""
_LEAST_PERCENT: Final = 0.1


class Direction(StrEnum):
    """Which values are better."""

    MINIMISE = "minimise"
    MAXIMISE = "maximise"

    @property
    def sign(self) -> int:
        """1 where larger is better, else -1."""
        return 1 if self is Direction.MAXIMISE else -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """The metric that people see, and its direction. `per_instance` is the direction of what the judge returns for one
    answer; it may differ: a small mean cost can make a large score."""

    metric: str = "score"
    direction: Direction = Direction.MAXIMISE
    per_instance: Direction = Direction.MAXIMISE
    unit: str = ""

    def value(self, score: float, metrics: Mapping[str, float], *, correct: bool) -> float | None:
        """The metric of a program; None for one that is not correct, unless the score is the metric."""
        if self.metric == COMBINED:
            return score
        return metrics.get(self.metric) if correct else None

    def gap(self, value: float | None, best: float | None) -> float | None:
        """The distance of a value from a better one, a positive number; None where either is unknown."""
        return None if value is None or best is None else self.direction.sign * (best - value)

    def amount(self, value: float) -> str:
        """A value or a difference as text, without a unit: `236`, `2.0831`."""
        if abs(value) >= HUGE:
            return f"{value:.7g}"
        text = f"{value:.0f}" if value == int(value) else f"{value:.{DECIMALS}f}"
        return f"{value:.2g}" if value and not float(text) else text

    def worded(self, change: float, reached: float | None = None) -> str:
        """A change of the value in words, without a sign: `5 slots better`, `0.0123 worse`, `the same`. With the value
        that it `reached`, a change of how many times better something is: `25 % better`."""
        if not change:
            return "the same"
        how = "better" if change * self.direction.sign > 0 else "worse"
        if self.unit != GAIN_UNIT:
            unit = f" {self.unit}" if self.unit else ""
            return f"{self.amount(abs(change))}{unit} {how}"
        before = 0.0 if reached is None else reached - change
        if before <= 0:  # "0.5 times better" would read as a ratio
            return f"{self.amount(abs(change))} {how}"
        percent = 100 * abs(change) / before
        return f"{percent:{'.1f' if percent >= _LEAST_PERCENT else '.2g'}} % {how}"

    def scale(self, score: float, value: float | None) -> "Objective":
        """The objective to show a score by: this one where the score is the metric or its negative, else the score."""
        return self if value is not None and score == self.direction.sign * value else SCORE_ITSELF

    def to_json(self) -> dict[str, Any]:
        """The record of this objective."""
        return {field.name: str(getattr(self, field.name)) for field in fields(self)}


SCORE_ITSELF: Final = Objective(metric=COMBINED, per_instance=Direction.MINIMISE)
"""The objective of a task whose judge computes the score from costs and shows it."""


class ListedValue(Section):
    """A value from a source, not proven to be the best: of the metric over a suite, or of one `instance`. `claimed` is
    what the source states, with its digits; `record` names the file of the answer that has the value."""

    value: Exact
    source: str
    date: AsText = ""
    instance: int | None = None
    claimed: AsText = ""
    record: str = ""

    @property
    def where_from(self) -> str:
        """Its source and date."""
        return f"{self.source}, {self.date}" if self.date else self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class BestKnown:
    """The best listed value of the metric over a suite; `score` is its `combined_score`, None where the judge computes
    that by a formula of its own."""

    value: float
    score: float | None
    where_from: str

"""What each model yielded, as a table and in lines."""

from collections.abc import Sequence

from evaluator.untrusted import one_line
from evolve.evidence.yields import ModelYield
from evolve.review.calls import paid_text, spending_brief
from evolve.review.table import Cell, Column, Fit, Table, Tone

_LINES = 6
"""How many models the live screen has room for."""


def models_table(yields: Sequence[ModelYield]) -> Table:
    """A row for each model, as `list RUN --json` has it under `models`."""
    numbers = ("asked", "answered", "applied", "correct", "improved", "best")
    columns = (
        Column("model", fit=Fit.CUT),
        *(
            Column(name, number=True, fit=Fit.SPARE if name in ("answered", "applied") else Fit.WHOLE)
            for name in numbers
        ),
        Column("gain", number=True),
        Column("USD", number=True),
        Column("gain per USD", number=True),
        Column("calls failed", number=True, fit=Fit.SPARE),
    )
    return Table(columns=columns, rows=tuple(_cells(one, numbers) for one in yields))


def _cells(one: ModelYield, numbers: Sequence[str]) -> tuple[Cell, ...]:
    return (
        Cell(one_line(one.model, 40), Tone.STRONG),
        *(Cell(str(getattr(one, name))) for name in numbers),
        Cell(f"{one.gain:.4g}", Tone.GOOD if one.gain > 0 else Tone.PLAIN),
        Cell(spending_brief(one.spent)),
        Cell(gain_text(one)),
        Cell(failed_text(one)),
    )


def gain_text(one: ModelYield) -> str:
    """What a model gained per dollar, or that this is not known."""
    return "-" if one.gain_per_usd is None else f"{one.gain_per_usd:.4g}"


def failed_text(one: ModelYield) -> str:
    """The share of a model's calls that failed."""
    return "-" if one.failed_share is None else f"{100 * one.failed_share:.0f} %"


def model_lines(yields: Sequence[ModelYield]) -> str:
    """The models of a run in a few lines, for the live screen; "" where no more than one takes part."""
    if len(yields) < 2:
        return ""
    lines = [_line(one) for one in yields[:_LINES]]
    return "\n".join([*lines, *([f"and {len(yields) - _LINES} more"] if len(yields) > _LINES else [])])


def _line(one: ModelYield) -> str:
    counts = f"{one.asked} asked, {one.correct} correct, {one.improved} improved, {one.best} best"
    failed = f", {failed_text(one)} of calls failed" if one.failed else ""
    paid = f"{paid_text(one.spent)}, gain {one.gain:.4g}, {gain_text(one)} per USD"
    return f"{one_line(one.model, 30)}: {counts}, {paid}{failed}"

"""What each model yielded, as a table and in lines."""

from collections.abc import Sequence

from evaluator.untrusted import one_line
from evolve.evidence.yields import ModelYield
from evolve.review.calls import paid_text, spending_brief
from evolve.review.table import Cell, Fit, Table, TableOf, Tone

_LINES = 6
"""How many models the live screen has room for."""


def models_table(yields: Sequence[ModelYield]) -> Table:
    """A row for each model, as `list RUN --json` has it under `models`."""
    table = TableOf(yields)
    table.column("model", lambda one: Cell(one_line(one.model, 40), Tone.STRONG), fit=Fit.CUT)
    table.column("asked", lambda one: str(one.asked), number=True)
    table.column("answered", lambda one: str(one.answered), number=True, fit=Fit.SPARE)
    table.column("applied", lambda one: str(one.applied), number=True, fit=Fit.SPARE)
    table.column("correct", lambda one: str(one.correct), number=True)
    table.column("improved", lambda one: str(one.improved), number=True)
    table.column("best", lambda one: str(one.best), number=True)
    table.column("gain", lambda one: Cell(f"{one.gain:.4g}", Tone.GOOD if one.gain > 0 else Tone.PLAIN), number=True)
    table.column("USD", lambda one: spending_brief(one.spent), number=True)
    table.column("gain per USD", gain_text, number=True)
    table.column("calls failed", failed_text, number=True, fit=Fit.SPARE)
    return table.table()


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

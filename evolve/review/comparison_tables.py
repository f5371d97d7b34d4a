"""Runs side by side as tables for a terminal: the values are those of `evolve.review.comparison`."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.review import comparison
from evolve.review.comparison import cuts, finals
from evolve.review.curves import spent_on
from evolve.review.grouping import ComparedRun, JudgedTogether, differences
from evolve.review.scores import value_text
from evolve.review.table import Cell, Fit, Table, TableOf, Tone
from evolve.review.texts import duration_text

_SHORT: Final = 20


def heading(together: JudgedTogether) -> str:
    """Which task, suite, evaluator and metric."""
    judge, objective = together.judge, together.objective
    version = one_line(judge["evaluator_version"], 40)
    metric = f"{objective.metric}, {objective.direction.value}d" + (f", in {objective.unit}" if objective.unit else "")
    return f"{judge['task']}/{judge['suite']}, evaluator {version}: {metric}"


def differences_table(together: JudgedTogether) -> Table:
    """What of the configuration differs, a column for each group."""
    table = TableOf(differences(together.groups))
    table.column("key", lambda differing: str(differing["key"]))
    for label in (group.label for group in together.groups):
        fit = Fit.CUT if len(label) <= _SHORT else Fit.FOLD  # of a label that is cut nobody knows whose it is
        table.column(label, partial(_setting, label), fit=fit)
    return table.table()


def _setting(label: str, differing: Mapping[str, Any]) -> str:
    return json.dumps(differing["values"][label], ensure_ascii=False)


def runs_table(together: JudgedTogether) -> Table:
    """Each run with what it ended with and what it took."""
    labels = {run.name: group.label for group in together.groups for run in group.runs}
    table = TableOf(together.runs)
    table.column("group", lambda run: Cell(labels[run.name], Tone.STRONG))
    table.column("run", lambda run: run.name, fit=Fit.FOLD)
    table.column("seed", lambda run: "-" if run.seed is None else str(run.seed), number=True)
    table.column("best", _best, number=True)
    table.column("held-out", lambda run: value_text(run.held_out), number=True, fit=Fit.SPARE)
    table.column("gen", lambda r: "-" if r.generation is None else str(r.generation), number=True, fit=Fit.SPARE)
    table.column("attempts", lambda run: f"{spent_on(run.points, 'attempts'):.0f}", number=True)
    table.column("USD", _usd, number=True, fit=Fit.SPARE)
    table.column("time", lambda r: duration_text(spent_on(r.points, "seconds")), number=True, fit=Fit.SPARE)
    return table.table()


def _best(run: ComparedRun) -> Cell:
    return Cell(value_text(run.value), Tone.STRONG if run.overfitted is None else Tone.BAD)


def _usd(run: ComparedRun) -> str:
    usd = spent_on(run.points, "usd")
    if not run.priced:
        return f"{usd:.4f} + ?" if usd else "unknown"
    return f"{usd:.4f}" if usd or spent_on(run.points, "tokens") else "nothing"


def budgets_table(together: JudgedTogether) -> Table:
    """The groups at equal budgets, and at their ends."""
    table = TableOf(
        group | {"budget": "" if number else cut["label"]}
        for cut in (*cuts(together), finals(together))
        for number, group in enumerate(cut["groups"])
    )
    table.column("budget", lambda group: str(group["budget"]))
    table.column("group", lambda group: Cell(group["label"], Tone.STRONG))
    table.column("runs", lambda group: str(len(group["values"])), number=True)
    table.column("median", lambda group: Cell(value_text(group["median"]), Tone.STRONG), number=True)
    table.column("interval", lambda group: _between(group["interval"]), fit=Fit.SPARE)
    table.column("level", lambda group: _level(group["interval"]), number=True, fit=Fit.SPARE)
    table.column("best", lambda group: value_text(group["best"]), number=True)
    return table.table()


def _between(interval: Mapping[str, float] | None) -> str:
    return "-" if interval is None else f"{value_text(interval['low'])} to {value_text(interval['high'])}"


def _level(interval: Mapping[str, float] | None) -> str:
    return "-" if interval is None else f"{100 * interval['level']:.2f} %"


def sentences(together: JudgedTogether) -> list[str]:
    """How each pair of groups stands, at the largest equal budget of each kind and at the end."""
    return comparison.sentences(cuts(together), finals(together))

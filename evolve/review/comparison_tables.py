"""Runs side by side as tables for a terminal: the values are those of `evolve.review.comparison`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.review import comparison
from evolve.review.comparison import cuts, finals
from evolve.review.curves import spent_on
from evolve.review.grouping import ComparedRun, JudgedTogether, differences
from evolve.review.scores import value_text
from evolve.review.table import Cell, Column, Fit, Table, Tone
from evolve.review.times import duration_text

_SHORT: Final = 20


def heading(together: JudgedTogether) -> str:
    """Which task, suite, evaluator and metric."""
    judge, objective = together.judge, together.objective
    version = one_line(judge["evaluator_version"], 40)
    metric = f"{objective.metric}, {objective.direction.value}d" + (f", in {objective.unit}" if objective.unit else "")
    return f"{judge['task']}/{judge['suite']}, evaluator {version}: {metric}"


def differences_table(together: JudgedTogether) -> Table:
    """What of the configuration differs, a column for each group."""
    # Of a label that is cut nobody knows whose it is.
    fits = (Fit.CUT if len(group.label) <= _SHORT else Fit.FOLD for group in together.groups)
    columns = (Column("key"), *(Column(group.label, fit=fit) for group, fit in zip(together.groups, fits, strict=True)))
    rows = [
        (Cell(found["key"]), *(Cell(_setting(found["values"][group.label])) for group in together.groups))
        for found in differences(together.groups)
    ]
    return Table(columns=columns, rows=tuple(rows))


def runs_table(together: JudgedTogether) -> Table:
    """Each run with what it ended with and what it took."""
    columns = (
        Column("group"),
        Column("run", fit=Fit.FOLD),
        Column("seed", number=True),
        Column("best", number=True),
        Column("held-out", number=True, fit=Fit.SPARE),
        Column("gen", number=True, fit=Fit.SPARE),
        Column("attempts", number=True),
        Column("USD", number=True, fit=Fit.SPARE),
        Column("time", number=True, fit=Fit.SPARE),
    )
    rows = [
        (
            Cell(group.label, Tone.STRONG),
            Cell(run.name),
            Cell("-" if run.seed is None else str(run.seed)),
            Cell(value_text(run.value), Tone.STRONG if run.overfitted is None else Tone.BAD),
            Cell(value_text(run.held_out)),
            Cell("-" if run.generation is None else str(run.generation)),
            Cell(f"{spent_on(run.points, 'attempts'):.0f}"),
            Cell(_usd(run)),
            Cell(duration_text(spent_on(run.points, "seconds"))),
        )
        for group in together.groups
        for run in group.runs
    ]
    return Table(columns=columns, rows=tuple(rows))


def _usd(run: ComparedRun) -> str:
    usd = spent_on(run.points, "usd")
    if not run.priced:
        return f"{usd:.4f} + ?" if usd else "unknown"
    return f"{usd:.4f}" if usd or spent_on(run.points, "tokens") else "nothing"


def budgets_table(together: JudgedTogether) -> Table:
    """The groups at equal budgets, and at their ends."""
    columns = (
        Column("budget"),
        Column("group"),
        Column("runs", number=True),
        Column("median", number=True),
        Column("interval", fit=Fit.SPARE),
        Column("level", number=True, fit=Fit.SPARE),
        Column("best", number=True),
    )
    rows = [row for cut in (*cuts(together), finals(together)) for row in _rows(cut["label"], cut["groups"])]
    return Table(columns=columns, rows=tuple(rows))


def _rows(budget: str, groups: Sequence[Mapping[str, Any]]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for number, group in enumerate(groups):
        interval = group["interval"]
        between = "-" if interval is None else f"{value_text(interval['low'])} to {value_text(interval['high'])}"
        rows.append(
            (
                Cell("" if number else budget),
                Cell(group["label"], Tone.STRONG),
                Cell(str(len(group["values"]))),
                Cell(value_text(group["median"]), Tone.STRONG),
                Cell(between),
                Cell("-" if interval is None else f"{100 * interval['level']:.2f} %"),
                Cell(value_text(group["best"])),
            )
        )
    return rows


def sentences(together: JudgedTogether) -> list[str]:
    """How each pair of groups stands, at the largest equal budget of each kind and at the end."""
    return comparison.sentences(cuts(together), finals(together))


def _setting(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

"""`evolve compare`: runs side by side, by configuration, at equal budgets."""

import argparse
import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.review.comparison import comparison_json, grouped, read_run
from evolve.review.runs import resolve_run, run_names
from evolve.review.scores import value_text
from evolve.review.table import Cell, Fit, Table, TableOf, Tone
from evolve.review.texts import duration_text

_SHORT: Final = 20

Row = Mapping[str, Any]


def run(arguments: argparse.Namespace) -> int:
    """Compare. 0 done; 1 where some runs are not compared, since they were scored in different ways."""
    folders = [resolve_run(run) for run in arguments.runs]
    runs = []
    for name, folder in zip(run_names(folders), folders, strict=True):
        with RunReader.open(folder) as archive:
            runs.append(read_run(name, archive))
    document = comparison_json(grouped(runs))
    if arguments.json:
        output.print_json(document)
    else:
        print_comparison(document)
    return 0 if document["apart"] is None else 1


def print_comparison(document: Row, *, diffs: bool = True) -> None:
    """Print a comparison; with `diffs` also the differences of the best programs."""
    if document["apart"] is not None:
        output.say(document["apart"], Tone.BAD)
        output.say()
    for number, comparison in enumerate(document["judges"]):
        if number:
            output.say()
        _print_judge(comparison)
        for entry in comparison["diffs"] if diffs else ():
            output.say()
            output.say(f"The best program of {entry['first']} and that of {entry['second']}:", Tone.STRONG)
            if entry["diff"]:
                output.print_diff(entry["diff"], exact=False)
            else:
                output.say("they are equal", Tone.QUIET)


def _print_judge(comparison: Row) -> None:
    output.say(_heading(comparison), Tone.STRONG)
    for line in comparison["remarks"]:
        output.say(line, Tone.BAD)
    output.say()
    if comparison["alike"] is not None:
        output.say(comparison["alike"])
    else:
        output.print_table(_differences_table(comparison))
    tables = [_runs_table(comparison)]
    if comparison["groups"][1:] or comparison["groups"][0]["runs"][1:]:
        tables.append(_budgets_table(comparison))
    for table in tables:
        output.say()
        output.print_table(table)
    if comparison["sentences"]:
        output.say()
    for line in comparison["sentences"]:
        output.say(line, Tone.STRONG)


def _heading(comparison: Row) -> str:
    """The task, suite, evaluator and metric."""
    judge, objective = comparison["judge"], comparison["objective"]
    unit = f", in {objective['unit']}" if objective["unit"] else ""
    version = one_line(judge["evaluator_version"], 40)
    return (
        f"{judge['task']}/{judge['suite']}, evaluator {version}: {objective['metric']}, {objective['direction']}d{unit}"
    )


def _differences_table(comparison: Row) -> Table:
    """The keys of the configuration that differ, a column for each group."""
    table = TableOf[Row](comparison["differences"])
    table.column("key", lambda differing: str(differing["key"]))
    for label in (group["label"] for group in comparison["groups"]):
        fit = Fit.CUT if len(label) <= _SHORT else Fit.FOLD  # a long label that is cut would name no group
        table.column(label, partial(_setting, label), fit=fit)
    return table.table()


def _setting(label: str, differing: Row) -> str:
    return json.dumps(differing["values"][label], ensure_ascii=False)


def _runs_table(comparison: Row) -> Table:
    """Each run with its results and its costs."""
    table = TableOf[Row](run | {"group": group["label"]} for group in comparison["groups"] for run in group["runs"])
    table.column("group", lambda run: Cell(run["group"], Tone.STRONG))
    table.column("run", lambda run: str(run["run"]), fit=Fit.FOLD)
    table.column("seed", partial(_value, "seed"), number=True)
    table.column("best", _best, number=True)
    table.column("held-out", lambda run: value_text(run["held_out"]), number=True, fit=Fit.SPARE)
    table.column("gen", partial(_value, "generation"), number=True, fit=Fit.SPARE)
    table.column("proposals", lambda run: f"{run['attempts']:.0f}", number=True)
    table.column("USD", _usd, number=True, fit=Fit.SPARE)
    table.column("time", lambda run: duration_text(run["seconds"]), number=True, fit=Fit.SPARE)
    return table.table()


def _value(key: str, run: Row) -> str:
    return "-" if run[key] is None else str(run[key])


def _best(run: Row) -> Cell:
    return Cell(value_text(run["value"]), Tone.STRONG if run["overfitted"] is None else Tone.BAD)


def _usd(run: Row) -> str:
    if not run["priced"]:
        return f"{run['usd']:.4f} + ?" if run["usd"] else "unknown"
    return f"{run['usd']:.4f}" if run["usd"] or run["tokens"] else "nothing"


def _budgets_table(comparison: Row) -> Table:
    """The groups at equal budgets, and at the end."""
    table = TableOf[Row](
        group | {"budget": "" if number else cut["label"]}
        for cut in (*comparison["cuts"], comparison["finals"])
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

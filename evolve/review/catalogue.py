"""Runs, programs and models as rows: the plain values behind `evolve list`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from evaluator.untrusted import one_line
from evolve.archive.ranking import paired_scores
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.core.usage import Spending
from evolve.insights.yields import ModelYield
from evolve.review.calls import by_kind_text, paid_text, spending_brief, spending_text, under_way_text
from evolve.review.curves import sparkline
from evolve.review.run_facts import adaptations, all_calls, calls_by_kind, how_it_stands, outcomes_text, proposals
from evolve.review.scores import (
    SELF_JUDGED,
    change_text,
    claimed_text,
    fresh_text,
    held_out_value,
    measured_text,
    orders_text,
    score_text,
    sentence,
    value_text,
)
from evolve.review.table import Cell, Fit, Table, TableOf, Tone, outcome_cell
from evolve.review.texts import counted, duration_text, patch_label, short_commits, time_text


class ListedRun(NamedTuple):
    """The facts of LISTED_RUN, with the best program of the run and its spending."""

    row: Mapping[str, Any]
    best: ProgramRecord | None
    spent: Spending


def runs_table(runs: Sequence[ListedRun]) -> Table:
    """Runs as a table."""
    table = TableOf(runs)
    table.column("run", lambda run: Cell(run.row["run"], Tone.STRONG), fit=Fit.FOLD)
    table.column("task", lambda run: str(run.row["task"]), fit=Fit.SPARE)
    table.column("suite", lambda run: str(run.row["suite"]), fit=Fit.SPARE)
    table.column("best", _best_of_run, number=True)
    table.column("ceiling", lambda run: value_text(run.row["value_bound"]), number=True, fit=Fit.SPARE)
    table.column("gap", lambda run: score_text(run.row["value_gap"]), number=True)
    table.column("state", _state_of_run)
    table.column("curve", _curve_of_run, fit=Fit.SPARE)
    table.column("begun", lambda run: time_text(run.row["t"]), fit=Fit.SPARE)
    table.column("USD", _usd_of_run, number=True, fit=Fit.SPARE)
    table.column("tokens", lambda run: f"{run.spent.tokens:,}" if run.spent else "-", number=True, fit=Fit.SPARE)
    table.column("programs", lambda run: str(run.row["programs"]), number=True, fit=Fit.SPARE)
    return table.table()


def _best_of_run(run: ListedRun) -> Cell:
    value = value_text(None) if run.best is None else measured_text(run.best)
    return Cell(f"{value} ({SELF_JUDGED})" if run.row["self_judged"] else value, Tone.STRONG)


def _state_of_run(run: ListedRun) -> Cell:
    running = run.row["running"]
    return Cell(how_it_stands(run.row["finished"], running=running), Tone.GOOD if running else Tone.PLAIN)


def _curve_of_run(run: ListedRun) -> str:
    return "" if run.best is None else sparkline(run.row["curve"], run.best.objective.direction)


def _usd_of_run(run: ListedRun) -> str:
    return spending_brief(run.spent, cut_off=bool(run.row["calls_under_way"]) and not run.row["running"])


LISTED_PROGRAMS: Final = "gen commit score claimed held-out metrics patch outcome"
BESTS: Final = "gen after score claimed change held-out commit patch"
STEPS: Final = "gen commit score claimed change held-out patch outcome"


def programs_table(archive: RunReader, programs: Sequence[ProgramRecord], columns: str) -> Table:
    """Programs of a run in the order given, with these columns. `change` is against the program in the row above;
    `held-out` and `claimed` are left out if there are no such scores."""
    held_out, short = archive.held_out_scores, short_commits(program.commit for program in archive.programs)
    pending = {program.generation: Cell("to be confirmed", Tone.QUIET) for program in archive.candidates}
    above = dict(zip((program.generation for program in programs), (None, *programs), strict=False))

    def number(program: ProgramRecord) -> Cell:
        return Cell(str(program.generation), Tone.GOOD if program is archive.best else Tone.PLAIN)

    def after(program: ProgramRecord) -> str:
        return duration_text(archive.times[program.generation] - archive.began)

    def held_out_cell(program: ProgramRecord) -> Cell:
        tone = Tone.PLAIN if program.overfitted is None else Tone.BAD
        return Cell(held_out_value(held_out.get(program.generation)), tone)

    def outcome(program: ProgramRecord) -> Cell:
        if program.excluded:
            return Cell("excluded", Tone.BAD)
        return pending.get(program.generation) or outcome_cell(program)

    table = TableOf(programs)
    makers: dict[str, Callable[[str], None]] = {
        "gen": lambda name: table.column(name, number, number=True),
        "after": lambda name: table.column(name, after, number=True),
        "commit": lambda name: table.column(name, lambda p: Cell(short[p.commit], Tone.QUIET), fit=Fit.SPARE),
        "score": lambda _: table.score_columns(lambda program: program),
        "change": lambda name: table.column(name, lambda p: gain_cell(p, above[p.generation]), number=True),
        "claimed": lambda name: table.column(name, claimed_text, number=True),
        "held-out": lambda name: table.column(name, held_out_cell, number=True),
        "metrics": lambda _: table.metric_columns(lambda program: program),
        "patch": lambda name: table.column(name, patch_label, fit=Fit.CUT),
        "outcome": lambda name: table.column(name, outcome),
    }
    absent = set() if held_out else {"held-out"}
    absent |= set() if any(program.claimed for program in archive.programs) else {"claimed"}
    for name in columns.split():
        if name not in absent:
            makers[name](name)
    return table.table()


def gain_cell(program: ProgramRecord, parent: ProgramRecord | None) -> Cell:
    """The change against the parent; `first correct` if only the parent failed, since a failure has no value."""
    if parent is None:
        return Cell(change_text(program, parent))
    score, than = paired_scores(program, parent)
    tone = Tone.GOOD if score > than else Tone.BAD if score < than else Tone.PLAIN
    return Cell("first correct" if program.correct and not parent.correct else change_text(program, parent), tone)


def headline(name: str, archive: RunReader) -> str:
    """A run in one line: its task, number of programs and best score."""
    programs, best, identity = archive.programs, archive.best, archive.identity
    top = "no correct program yet"
    if best is not None:
        top = f"best is generation {best.generation}: {sentence(best)}"
    return f"{one_line(name, 60)}: {identity['task']}/{identity['suite']}, {counted(len(programs), 'program')}, {top}"


def state(archive: RunReader) -> list[str]:
    """The state of a run and its generations, its times and its cost, a line each."""
    how = how_it_stands(archive.finished, running=archive.running)
    begun = f"begun {time_text(archive.began)}, newest event {time_text(archive.newest)}"
    running = archive.finished is None and archive.running
    open_still = under_way_text(archive.under_way, running=running)
    adapted, best = ", ".join(adaptations(archive)), archive.best
    calls = by_kind_text(calls_by_kind(all_calls(archive)))
    reordered = None if best is None else archive.reordered.get(best.generation)
    return [
        ": ".join(filter(None, [f"{how}; {counted(len(proposals(archive)), 'proposal')}", outcomes_text(archive)])),
        f"{begun}; spent {spending_text(archive.spent)}",
        *([f"calls: {calls}"] if calls else []),
        *([f"fresh instances: {fresh_text(archive.fresh_check(best.generation))}"] if best is not None else []),
        *([f"at the end {orders_text(best, reordered)}"] if best is not None and reordered is not None else []),
        *([open_still] if open_still else []),
        *([f"endpoint rejected a parameter; adapted: {one_line(adapted, 400)}"] if adapted else []),
    ]


_LINES = 6
"""The most models on the live screen."""


def models_table(yields: Sequence[ModelYield]) -> Table:
    """A row for each model, as under `models` in `list RUN --json`."""
    table = TableOf(yields)
    table.column("model", lambda model: Cell(one_line(model.model, 40), Tone.STRONG), fit=Fit.CUT)
    table.column("asked", lambda model: str(model.asked), number=True)
    table.column("answered", lambda model: str(model.answered), number=True, fit=Fit.SPARE)
    table.column("applied", lambda model: str(model.applied), number=True, fit=Fit.SPARE)
    table.column("correct", lambda model: str(model.correct), number=True)
    table.column("improved", lambda model: str(model.improved), number=True)
    table.column("best", lambda model: str(model.best), number=True)
    table.column(
        "gain", lambda model: Cell(f"{model.gain:.4g}", Tone.GOOD if model.gain > 0 else Tone.PLAIN), number=True
    )
    table.column("USD", lambda model: spending_brief(model.spent), number=True)
    table.column("gain per USD", gain_text, number=True)
    table.column("calls failed", failed_text, number=True, fit=Fit.SPARE)
    return table.table()


def gain_text(model: ModelYield) -> str:
    """The gain of a model per dollar; `-` if unknown."""
    return "-" if model.gain_per_usd is None else f"{model.gain_per_usd:.4g}"


def failed_text(model: ModelYield) -> str:
    """The share of a model's calls that failed."""
    return "-" if model.failed_share is None else f"{100 * model.failed_share:.0f} %"


def model_lines(yields: Sequence[ModelYield]) -> str:
    """The models of a run in a few lines, for the live screen; empty for fewer than two."""
    if len(yields) < 2:
        return ""
    lines = [_line(model) for model in yields[:_LINES]]
    return "\n".join([*lines, *([f"and {len(yields) - _LINES} more"] if len(yields) > _LINES else [])])


def _line(model: ModelYield) -> str:
    counts = f"{model.asked} asked, {model.correct} correct, {model.improved} improved, {model.best} best"
    failed = f", {failed_text(model)} of calls failed" if model.failed else ""
    paid = f"{paid_text(model.spent)}, gain {model.gain:.4g}, {gain_text(model)} per USD"
    return f"{one_line(model.model, 30)}: {counts}, {paid}{failed}"

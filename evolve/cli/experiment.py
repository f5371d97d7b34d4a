"""`evolve experiment`: several configurations and seeds at equal budgets, compared at the end."""

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evolve.apps.experiment.conducting import Conductor, Heard, RunStanding, side_by_side, standing
from evolve.apps.experiment.plan import Plan, read_plan, settle
from evolve.cli import output
from evolve.cli.compare import print_comparison
from evolve.cli.interrupting import interruptible
from evolve.cli.options import confined
from evolve.core.config import available_cores
from evolve.core.invocation import command
from evolve.review.comparison import comparison_json
from evolve.review.scores import value_text
from evolve.review.table import Fit, Table, TableOf, Tone
from evolve.review.texts import counted, duration_text
from evolve.search.stopping import end_text

_HEARTBEAT_S = 10.0
"""The longest silence."""
_NAMED = 4
"""How many runs under way a heartbeat names."""


def run(arguments: argparse.Namespace) -> int:
    """Run the runs that are not done, and compare. 0 done; 1 where a run has no correct program, or runs were scored in
    different ways; the exit code of a run that could not go on; 130 interrupted."""
    plan = read_plan(Path(arguments.file))
    planned = plan.runs()
    if not arguments.table:
        settle(plan)
    standings = [standing(each) for each in planned]
    left = [each for each in standings if not each.done]
    errors: dict[str, dict[str, Any]] = {}
    interrupted = False
    if left and not arguments.table:
        at_once = arguments.at_once or max(1, available_cores() // max(each.config.processes for each in planned))
        _print_line(arguments, _heading(plan, standings, min(at_once, len(left))))
        conductor = Conductor(left, at_once=at_once, confined=confined(arguments))
        interrupted = _conduct(arguments, conductor, errors, done=len(planned) - len(left), total=len(planned))
        standings = [standing(each) for each in planned]
    return _print_end(arguments, plan, standings, errors, interrupted=interrupted)


def _print_line(arguments: argparse.Namespace, text: str, tone: Tone = Tone.PLAIN) -> None:
    """Print a line before the end, on stderr where stdout takes JSON."""
    if arguments.json:
        output.note(text, tone)
    else:
        output.say(text, tone)
    sys.stdout.flush()


def _heading(plan: Plan, standings: Sequence[RunStanding], at_once: int) -> str:
    done = sum(each.done for each in standings)
    begun = sum(each.begun and not each.done for each in standings)
    attempts, usd = plan.budget.attempts, plan.budget.usd
    budget = [f"{attempts} attempts"] * (attempts is not None) + [f"{usd} USD"] * (usd is not None)
    so_far = f"; done already: {done}" * bool(done) + f"; to be resumed: {begun}" * bool(begun)
    return (
        f"{counted(len(plan.configurations), 'configuration')} x {counted(len(plan.seeds), 'seed')} "
        f"in {plan.folder}, each run with at most {' and '.join(budget)}; "
        f"{at_once} at once{so_far}. Ctrl-C stops; nothing is lost."
    )


def _conduct(
    arguments: argparse.Namespace, conductor: Conductor, errors: dict[str, dict[str, Any]], *, done: int, total: int
) -> bool:
    """Print the progress until every run has ended; `errors` gets the runs that could not go on. Returns whether a
    person ended the experiment."""
    began = last = time.monotonic()
    under_way: dict[str, Heard] = {}
    is_announced, stops = False, threading.Event()

    def stop() -> None:
        stops.set()
        conductor.stop()

    with interruptible(stop):
        for heard in conductor.heard():
            now, line, tone = time.monotonic(), "", Tone.PLAIN
            if stops.is_set() and not is_announced:
                is_announced, line = True, f"Stopping {len(under_way)} runs under way; nothing is lost."
            elif heard.run is not None and heard.is_last:
                del under_way[heard.run.shown]
                done, line = _ended(heard, errors, done)
                line += f" ({done} of {total} runs done)"
                tone = Tone.BAD if "error" in heard.message else Tone.PLAIN
            else:
                if heard.run is not None:
                    under_way[heard.run.shown] = heard
                if now - last >= _HEARTBEAT_S:
                    line = f"{done} of {total} runs done; {_under_way(under_way)}"
            if line:
                last = now
                _print_line(arguments, f"[{duration_text(now - began):>6}] {line}", tone)
    return stops.is_set()


def _ended(heard: Heard, errors: dict[str, dict[str, Any]], done: int) -> tuple[int, str]:
    """The number of runs that are done now, and the line for a run that has ended."""
    assert heard.run is not None
    if "error" in heard.message:
        errors[heard.run.folder.name] = dict(heard.message)
        return done, f"{heard.run.shown}: could not go on: {heard.message['error']}"
    ended = standing(heard.run)
    how = f"{heard.message['reason']} after {ended.proposals} proposals, best {value_text(ended.best)}"
    return done + ended.done, f"{heard.run.shown}: {how}"


def _under_way(heard: dict[str, Heard]) -> str:
    shown = [
        f"{name} ({run.message.get('done', 0)}, best {value_text(run.message.get('best'))})"
        for name, run in heard.items()
    ]
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return f"under way: {', '.join(shown[:_NAMED])}{more}"


def _print_end(
    arguments: argparse.Namespace,
    plan: Plan,
    standings: Sequence[RunStanding],
    errors: dict[str, dict[str, Any]],
    *,
    interrupted: bool,
) -> int:
    comparable = [each.run for each in standings if each.done]
    comparison = comparison_json(side_by_side(comparable)) if len(comparable) > 1 else None
    if arguments.json:
        document = {
            "experiment": plan.name,
            "folder": str(plan.folder),
            "runs": [_run_json(each, errors.get(each.run.folder.name)) for each in standings],
            "comparison": comparison,
        }
        output.print_json(document)
    else:
        _print_result(arguments.file, plan, standings, comparison, errors)
    if interrupted:
        return 130
    if errors:
        return max(int(error["exit_code"]) for error in errors.values())
    apart = comparison is not None and comparison["apart"] is not None
    return 1 if apart or any(each.done and each.best is None for each in standings) else 0


def _run_json(state: RunStanding, error: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "run": state.run.folder.name,
        "configuration": state.run.configuration,
        "seed": state.run.seed,
        "done": state.done,
        "finished": state.finished,
        "proposals": state.proposals,
        "best": state.best,
        "error": None if error is None else error["error"],
    }


def _print_result(
    file: str,
    plan: Plan,
    standings: Sequence[RunStanding],
    comparison: dict[str, Any] | None,
    errors: dict[str, dict[str, Any]],
) -> None:
    output.say()
    done = sum(each.done for each in standings)
    only = "" if done == len(standings) else "; only they are compared"
    output.say(f"{done} of {len(standings)} runs are done{only}.", Tone.STRONG)
    if comparison is None:
        output.print_table(_standings_table(standings))
    else:
        output.say()
        print_comparison(comparison, diffs=False)
    for name, error in errors.items():
        output.say(f"{name} could not go on: {error['error']}", Tone.BAD)
    output.say()
    output.say("Next:")
    steps = [] if done == len(standings) else [(command("experiment", file), "go on")]
    output.print_commands([*steps, (command("view", plan.folder), "the runs in a browser")])


def _state_of(state: RunStanding) -> str:
    if state.finished is not None:
        return end_text(state.finished)
    return "-" if state.begun else "not begun"


def _standings_table(standings: Sequence[RunStanding]) -> Table:
    table = TableOf(standings)
    table.column("run", lambda each: each.run.folder.name, fit=Fit.FOLD)
    table.column("seed", lambda each: str(each.run.seed), number=True)
    table.column("proposals", lambda each: str(each.proposals), number=True)
    table.column("best", lambda each: value_text(each.best), number=True)
    table.column("state", _state_of)
    return table.table()

"""`evolve experiment`: configurations x seeds at equal budgets, run several at a time, and side by side at the end."""

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evolve.apps.experiment.conducting import Conductor, Heard
from evolve.apps.experiment.plan import Plan, read_plan, settle
from evolve.apps.experiment.standing import RunStanding, side_by_side, standing
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
"""How long it may be silent."""
_NAMED = 4
"""How many runs under way a heartbeat names."""


def run(arguments: argparse.Namespace) -> int:
    """Run what is not done yet, and compare. 0 done; 1 where a run has no correct program, or runs were not scored
    alike; what a run that could not go on ended with; 130 interrupted."""
    plan = read_plan(Path(arguments.file))
    planned = plan.runs()
    if not arguments.table:
        settle(plan)
    standings = [standing(one) for one in planned]
    left = [one for one in standings if not one.done]
    errors: dict[str, dict[str, Any]] = {}
    interrupted = False
    if left and not arguments.table:
        at_once = arguments.at_once or max(1, available_cores() // max(one.config.workers for one in planned))
        _tell(arguments, _beginning(plan, standings, min(at_once, len(left))))
        conductor = Conductor(left, at_once=at_once, confined=confined(arguments))
        interrupted = _conduct(arguments, conductor, errors, done=len(planned) - len(left), total=len(planned))
        standings = [standing(one) for one in planned]
    return _closing(arguments, plan, standings, errors, interrupted=interrupted)


def _tell(arguments: argparse.Namespace, text: str, tone: Tone = Tone.PLAIN) -> None:
    """A line on the way: beside the document where that is JSON."""
    if arguments.json:
        output.note(text, tone)
    else:
        output.say(text, tone)
    sys.stdout.flush()


def _beginning(plan: Plan, standings: Sequence[RunStanding], at_once: int) -> str:
    done = sum(one.done for one in standings)
    begun = sum(one.begun and not one.done for one in standings)
    attempts, usd = plan.budget.attempts, plan.budget.usd
    budget = [f"{attempts} attempts"] * (attempts is not None) + [f"{usd} USD"] * (usd is not None)
    so_far = f"; done already: {done}" * bool(done) + f"; to go on: {begun}" * bool(begun)
    return (
        f"{counted(len(plan.configurations), 'configuration')} x {counted(len(plan.seeds), 'seed')} "
        f"in {plan.folder}, each run with at most {' and '.join(budget)}; "
        f"{at_once} at once{so_far}. Ctrl-C stops; nothing is lost."
    )


# -- while it goes on ------------------------------------------------------------------------------------------------


def _conduct(
    arguments: argparse.Namespace, conductor: Conductor, errors: dict[str, dict[str, Any]], *, done: int, total: int
) -> bool:
    """Until every run has ended; `errors` gets those that could not go on. Whether a person ended it."""
    began = last = time.monotonic()
    under_way: dict[str, Heard] = {}
    told, stops = False, threading.Event()

    def stop() -> None:
        stops.set()
        conductor.stop()

    with interruptible(stop):
        for heard in conductor.heard():
            now, line, tone = time.monotonic(), "", Tone.PLAIN
            if stops.is_set() and not told:
                told, line = True, f"Stopping {len(under_way)} runs under way; nothing is lost."
            elif heard.run is not None and ("error" in heard.said or "reason" in heard.said):
                del under_way[heard.run.shown]
                done, line = _ended(heard, errors, done)
                line += f" ({done} of {total} runs done)"
                tone = Tone.BAD if "error" in heard.said else Tone.PLAIN
            else:
                if heard.run is not None:
                    under_way[heard.run.shown] = heard
                if now - last >= _HEARTBEAT_S:
                    line = f"{done} of {total} runs done; {_under_way(under_way)}"
            if line:
                last = now
                _tell(arguments, f"[{duration_text(now - began):>6}] {line}", tone)
    return stops.is_set()


def _ended(heard: Heard, errors: dict[str, dict[str, Any]], done: int) -> tuple[int, str]:
    """How many are done now that a run has ended, and what to say of it."""
    assert heard.run is not None
    if "error" in heard.said:
        errors[heard.run.folder.name] = dict(heard.said)
        return done, f"{heard.run.shown}: could not go on: {heard.said['error']}"
    stands = standing(heard.run)
    how = f"{heard.said['reason']} after {stands.proposals} proposals, best {value_text(stands.best)}"
    return done + stands.done, f"{heard.run.shown}: {how}"


def _under_way(heard: dict[str, Heard]) -> str:
    shown = [
        f"{name} ({one.said.get('done', 0)}, best {value_text(one.said.get('best'))})" for name, one in heard.items()
    ]
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return f"under way: {', '.join(shown[:_NAMED])}{more}"


# -- at the end ------------------------------------------------------------------------------------------------------


def _closing(
    arguments: argparse.Namespace,
    plan: Plan,
    standings: Sequence[RunStanding],
    errors: dict[str, dict[str, Any]],
    *,
    interrupted: bool,
) -> int:
    comparable = [one.run for one in standings if one.done]
    comparison = comparison_json(side_by_side(comparable)) if len(comparable) > 1 else None
    if arguments.json:
        document = {
            "experiment": plan.name,
            "folder": str(plan.folder),
            "runs": [_run_json(one, errors.get(one.run.folder.name)) for one in standings],
            "comparison": comparison,
        }
        output.print_json(document)
    else:
        _screen(arguments.file, plan, standings, comparison, errors)
    if interrupted:
        return 130
    if errors:
        return max(int(error["exit_code"]) for error in errors.values())
    apart = comparison is not None and comparison["apart"] is not None
    return 1 if apart or any(one.done and one.best is None for one in standings) else 0


def _run_json(one: RunStanding, error: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "run": one.run.folder.name,
        "configuration": one.run.configuration,
        "seed": one.run.seed,
        "done": one.done,
        "finished": one.finished,
        "proposals": one.proposals,
        "best": one.best,
        "error": None if error is None else error["error"],
    }


def _screen(
    file: str,
    plan: Plan,
    standings: Sequence[RunStanding],
    comparison: dict[str, Any] | None,
    errors: dict[str, dict[str, Any]],
) -> None:
    output.say()
    done = sum(one.done for one in standings)
    alone = "" if done == len(standings) else "; what follows is of those alone"
    output.say(f"{done} of {len(standings)} runs are done{alone}.", Tone.STRONG)
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


def _state_of(one: RunStanding) -> str:
    if one.finished is not None:
        return end_text(one.finished)
    return "-" if one.begun else "not begun"


def _standings_table(standings: Sequence[RunStanding]) -> Table:
    table = TableOf(standings)
    table.column("run", lambda one: one.run.folder.name, fit=Fit.FOLD)
    table.column("seed", lambda one: str(one.run.seed), number=True)
    table.column("proposals", lambda one: str(one.proposals), number=True)
    table.column("best", lambda one: value_text(one.best), number=True)
    table.column("state", _state_of)
    return table.table()

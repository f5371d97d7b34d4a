"""`evolve bounds`: the proven bounds of a suite; prove them again."""

import argparse
import math
from collections.abc import Iterable, Mapping
from typing import Any

from evaluator.suite_scorer import SuiteScorer
from evaluator.task import BoundCheck, Suite, Task
from evaluator.task_files import load_task
from evolve.cli.arguments import PROOF_SECONDS
from evolve.cli.output import note, print_json, print_table, say
from evolve.core.errors import InputError
from evolve.review.scores import score_text
from evolve.review.table import Cell, Fit, Table, TableOf, Tone
from evolve.review.texts import counted


def run(arguments: argparse.Namespace) -> int:
    """Show or verify bounds. 0 all hold, 1 one does not (or was not settled in the time limit)."""
    task = load_task(arguments.task)
    suite = task.suite(arguments.suite)
    everything = f"0-{len(suite.instances) - 1}"
    chosen = _numbers(everything if arguments.instances is None else arguments.instances, suite)
    if arguments.limit is not None and not (arguments.verify and 0 < arguments.limit < math.inf):
        what = "must be a number of seconds above 0" if arguments.verify else "is the time for each proof of --verify"
        raise InputError(f"--limit {arguments.limit:g}: {what}")
    if arguments.verify:
        return _verify(task, suite, chosen, arguments)
    return _show(task, suite, chosen, as_json=arguments.json)


def _numbers(text: str, suite: Suite) -> list[int]:
    """Read the numbers of instances from a text such as `0-4,17`. Raises InputError."""
    largest = len(suite.instances) - 1
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise InputError(f"--instances {text}: give numbers and ranges such as 0-4,17")
        begin, end = _number(first), _number(last or first)
        if end < begin:
            raise InputError(f"--instances {text}: {part.strip()} is empty; write the smaller number first")
        if end > largest:
            raise InputError(f"--instances {text}: suite {suite.name!r} has the instances 0 to {largest}")
        numbers += range(begin, end + 1)
    return list(dict.fromkeys(numbers))


def _number(digits: str) -> int:
    """Read a number. One too long for Python to read becomes larger than any instance."""
    return int(digits) if len(digits) < 20 else 10**20


def _show(task: Task, suite: Suite, chosen: Iterable[int], *, as_json: bool) -> int:
    ceiling = SuiteScorer(task, suite).ceiling
    if as_json:
        instances = [_row(task, suite, index) for index in chosen]
        print_json({"task": task.name, "suite": suite.name, "ceiling": ceiling, "instances": instances})
        return 0
    say(_headline(task, suite, ceiling))
    say()
    print_table(_bounds_table(task, suite, chosen))
    return 0


def _verify(task: Task, suite: Suite, chosen: list[int], arguments: argparse.Namespace) -> int:
    checks: list[BoundCheck] = []
    for check in task.verify(suite.name, chosen, limit_s=arguments.limit or PROOF_SECONDS):
        checks.append(check)
        word = {True: "holds", False: "WRONG", None: "not settled"}[check.holds]
        line = f"[{len(checks)}/{len(chosen)}] instance {check.instance}: {word}: {check.detail}"
        if arguments.json:
            note(line)
        else:
            say(line, Tone.PLAIN if check.holds else Tone.BAD)
    bad = [check for check in checks if not check.holds]
    if arguments.json:
        rows = [{"instance": c.instance, "holds": c.holds, "detail": c.detail} for c in checks]
        print_json({"task": task.name, "suite": suite.name, "holds": bool(checks) and not bad, "checks": rows})
    elif not checks:
        say(f"No bound of {task.name}/{suite.name} was checked.", Tone.BAD)
    elif not bad:
        say(f"{counted(len(checks), 'bound')} of {task.name}/{suite.name} checked, none wrong.", Tone.GOOD)
    else:
        named = ", ".join(str(check.instance) for check in bad)
        say(f"{len(bad)} of {counted(len(checks), 'bound')} wrong or not settled: instances {named}.", Tone.BAD)
    return 0 if checks and not bad else 1


def _headline(task: Task, suite: Suite, ceiling: float | None) -> str:
    """How many bounds are proven optima, and the ceiling that follows from them."""
    proven = sum(instance.proven for instance in suite.instances)
    count = len(suite.instances)
    where = f"{task.name}/{suite.name}: {count} instances"
    if ceiling is None:
        return f"{where}, some without a bound: the ceiling is unknown"
    if proven == count:
        return f"{where}, every optimum proven; no program can score above {score_text(ceiling)}"
    rest = "lower bounds for the rest" if proven else "lower bounds only"
    return f"{where}, {proven} optima proven, {rest}; no program can score above {score_text(ceiling)}"


def _bounds_table(task: Task, suite: Suite, chosen: Iterable[int]) -> Table:
    """A row per instance: its description, its bound, and the best known cost."""
    table = TableOf(_row(task, suite, index) for index in chosen)
    table.column("instance", lambda row: str(row["instance"]), number=True)
    table.column("what", lambda row: str(row["description"]), fit=Fit.SPARE)
    table.column("lower bound", lambda row: Cell(_cost(row["bound"]), Tone.STRONG), number=True)
    table.column("exact", lambda row: row["exact"] or "-", fit=Fit.CUT)
    table.column("best known", lambda row: _cost(row["best_known"]), number=True)
    table.column("state", _state)
    return table.table()


def _cost(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:.9f}"


def _state(row: Mapping[str, Any]) -> Cell:
    state = "no bound" if row["bound"] is None else "optimum" if row["proven"] else "bound"
    return Cell(state, Tone.GOOD if row["proven"] else Tone.QUIET)


def _row(task: Task, suite: Suite, index: int) -> dict[str, Any]:
    """An instance as JSON: `bound` and `best_known` are costs (smaller is better), `exact` a fraction."""
    instance = suite.instances[index]
    verdict = None if instance.best_answer is None else task.judge.judge(instance, instance.best_answer)
    return {
        "instance": index,
        "description": task.judge.describe(instance),
        "bound": None if instance.bound is None else float(instance.bound),
        "exact": None if instance.bound is None else str(instance.bound),
        "proven": instance.proven,
        "best_known": None if verdict is None or verdict.cost is None else float(verdict.cost),
    }

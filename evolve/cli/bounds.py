"""`evolve bounds`: the proven bounds of a suite; prove them again."""

import argparse
import math
from collections.abc import Iterable

from evaluator.standing import Standing
from evaluator.task import BoundCheck, Suite, Task
from evaluator.task_files import load_task
from evolve.cli.arguments import PROOF_SECONDS
from evolve.cli.output import note, print_json, print_table, say
from evolve.errors import InputError
from evolve.review.bounds import bounds_json, bounds_table, headline
from evolve.review.table import Tone


def run(arguments: argparse.Namespace) -> int:
    """Show or verify bounds. 0 all hold, 1 one does not (or was not settled in the time)."""
    task = load_task(arguments.task)
    suite = task.suite(arguments.suite)
    wanted = range(len(suite.instances))
    chosen = list(wanted) if arguments.instances is None else _numbers(arguments.instances, suite)
    if arguments.limit is not None and not (arguments.verify and 0 < arguments.limit < math.inf):
        what = "must be a number of seconds above 0" if arguments.verify else "is the time for each proof of --verify"
        raise InputError(f"--limit {arguments.limit:g}: {what}")
    if arguments.verify:
        return _verify(task, suite, chosen, arguments)
    return _show(task, suite, chosen, as_json=arguments.json)


def _numbers(text: str, suite: Suite) -> list[int]:
    """The instances of a suite that are meant by `0-4,17`. Raises InputError."""
    largest = len(suite.instances) - 1
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise InputError(f"--instances {text}: must be numbers and ranges such as 0-4,17")
        begin, end = _number(first), _number(last or first)
        if end < begin:
            raise InputError(f"--instances {text}: {part.strip()} is empty; write the smaller number first")
        if end > largest:
            raise InputError(f"--instances {text}: suite {suite.name!r} has the instances 0 to {largest}")
        found += range(begin, end + 1)
    return list(dict.fromkeys(found))


def _number(digits: str) -> int:
    """The number, or one that no suite reaches: Python reads no number of thousands of digits."""
    return int(digits) if len(digits) < 20 else 10**20


def _show(task: Task, suite: Suite, chosen: Iterable[int], *, as_json: bool) -> int:
    ceiling = Standing(task, suite).ceiling
    if as_json:
        print_json(bounds_json(task, suite, ceiling, chosen))
        return 0
    say(headline(task, suite, ceiling))
    say()
    print_table(bounds_table(task, suite, chosen))
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
        say(f"Nothing of {task.name}/{suite.name} was proven.", Tone.BAD)
    elif not bad:
        say(f"All {len(checks)} bounds of {task.name}/{suite.name} hold.", Tone.GOOD)
    else:
        named = ", ".join(str(check.instance) for check in bad)
        say(f"{len(bad)} of {len(checks)} bounds do not hold or were not settled: instances {named}.", Tone.BAD)
    return 0 if checks and not bad else 1

"""The tables of `docs/records.md`: every published answer in `programs/<task>/records/`, judged by its task."""

import sys
from collections.abc import Iterator
from fractions import Fraction
from math import floor, log10
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from evaluator.objective import Direction, ListedValue  # noqa: E402
from evaluator.places import resolve_path  # noqa: E402
from evaluator.task import Task  # noqa: E402
from evaluator.task_files import load_task  # noqa: E402
from evolve.apps.audit.answers import JudgedAnswer, decimal_text, judge_file  # noqa: E402
from evolve.apps.audit.given import reaches  # noqa: E402

_PLACES = 15


def records(task: Task) -> Iterator[tuple[str, ListedValue, Path]]:
    """The listed values of a task that have a record, each with its suite and its file."""
    for suite in task.suites:
        for listed in task.suite(suite).best_known:
            if listed.record:
                yield suite, listed, resolve_path(listed.record, folder=task.folder)


def table(name: str) -> str:
    """The table of a task's records."""
    task = load_task(name)
    objective = task.objective
    better = "larger" if objective.direction is Direction.MAXIMISE else "smaller"
    lines = [f"`{objective.metric}`, {better} is better.", ""]
    lines += ["| record | suite | claimed | exact value | exact - claimed | as given | reaches its claim |"]
    lines += ["|---|---|---:|---:|---:|---|---|"]
    for suite, listed, path in records(task):
        (answer,) = judge_file(path, task, suite=suite).answers
        link = f"[{listed.where_from}](../{path.relative_to(ROOT)})"
        cells = [link, f"`{suite}`", listed.claimed, *_judged(answer, listed.claimed, objective.direction)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _judged(answer: JudgedAnswer, claimed: str, direction: Direction) -> list[str]:
    """The exact value, its difference from the claim, whether the answer is valid, and whether it reaches the claim."""
    if answer.value is None:
        return ["none", "", f"not valid: {answer.detail}", "no"]
    difference = float(answer.value - Fraction(claimed))
    return [
        decimal_text(answer.value, _PLACES),
        f"{difference:+.2g}",
        _validity(answer),
        "yes" if reaches(answer.value, claimed, direction) else "this artifact does not reach the value stated for it",
    ]


def _validity(answer: JudgedAnswer) -> str:
    """Whether an answer is valid, or the smallest power of ten that is enough as a tolerance."""
    if answer.valid or answer.given is None:
        return "valid"
    tolerance = float(answer.given.tolerance)
    enough = 10.0 ** floor(log10(tolerance) + 1)
    return f"not valid; a tolerance of {enough:.0e} would let it pass"

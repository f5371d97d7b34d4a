"""Instance by instance: what programs cost next to the bounds, how one compares with its parent and the best, and
pictures of its answers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import Any, Final

from evaluator.errors import TaskError
from evaluator.evaluation import Evaluation, InstanceResult, Outcome
from evaluator.objective import Direction
from evaluator.task import Instance, Suite, Task
from evolve.archive.ranking import new_bests
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.archive.truth import installed
from evolve.core.errors import ArchiveError
from evolve.propose.verdicts import instance_shares
from evolve.review.scores import as_float, finite
from evolve.review.table import Cell, Fit, Table, TableOf, Tone


class Against(StrEnum):
    """How one result compares with another program's on the same instance: by its exact cost, failures last."""

    BETTER = "better"
    SAME = "same"
    WORSE = "worse"


_TONES = {Against.BETTER: Tone.GOOD, Against.SAME: Tone.QUIET, Against.WORSE: Tone.BAD}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRow:
    """One instance. `bound` is None where none is known; `against` names other programs, each with the comparison."""

    result: InstanceResult
    what: str
    bound: Fraction | None
    proven: bool
    against: Mapping[str, Against]
    direction: Direction = Direction.MINIMISE

    @property
    def gap(self) -> Fraction | None:
        """How far from its bound the judge's number lies."""
        if self.bound is None or self.result.cost is None:
            return None
        return self.direction.sign * (self.bound - self.result.cost)

    def to_json(self) -> dict[str, Any]:
        """The keys of one instance in `evolve show --instances --json`; costs and bounds are exact fractions."""
        return {
            "instance": self.result.instance,
            "description": self.what,
            "outcome": self.result.outcome.value,
            "cost": None if self.result.cost is None else str(self.result.cost),
            "bound": None if self.bound is None else str(self.bound),
            "gap": None if self.gap is None or not isfinite(gap := as_float(self.gap)) else gap,
            "proven": self.proven,
            "detail": self.result.detail,
        } | {f"against_{name}": self.against.get(name) for name in OTHERS}


OTHERS = ("parent", "best")


def instance_rows(
    archive: RunReader, program: ProgramRecord, suite: Suite | None, descriptions: Sequence[str] = ()
) -> list[InstanceRow]:
    """A program's results. `suite` knows the bounds, None when it cannot be read; `descriptions` are of its
    instances."""
    evaluation = archive.evaluation(program)
    results, direction = evaluation.results, evaluation.objective.per_instance
    others = {
        name: {result.instance: result for result in archive.evaluation(other).results}
        for name, other in _others(archive, program).items()
    }
    instances = {} if suite is None else {instance.index: instance for instance in suite.instances}
    rows = []
    for result in results:
        instance = instances.get(result.instance)
        against = {
            name: compared(result, found[result.instance], direction)
            for name, found in others.items()
            if result.instance in found
        }
        rows.append(
            InstanceRow(
                result=result,
                what=descriptions[result.instance] if result.instance < len(descriptions) else "",
                bound=None if instance is None else instance.bound,
                proven=instance is not None and instance.proven,
                against=against,
                direction=direction,
            )
        )
    return rows


def compared(one: InstanceResult, other: InstanceResult, direction: Direction = Direction.MINIMISE) -> Against:
    """How `one` compares with `other`: by the direction of the task, and anything better than nothing."""
    if one.cost == other.cost:
        return Against.SAME
    if one.cost is None or other.cost is None:
        return Against.WORSE if one.cost is None else Against.BETTER
    return Against.BETTER if direction.sign * (one.cost - other.cost) > 0 else Against.WORSE


def _others(archive: RunReader, program: ProgramRecord) -> dict[str, ProgramRecord]:
    """The programs that it is compared with; the best one not with itself."""
    found = {"parent": archive.find(program.parents[0])} if program.parents else {}
    if archive.best is not None and archive.best is not program:
        found["best"] = archive.best
    return found


def summary(rows: Sequence[InstanceRow]) -> list[str]:
    """Against whom it is better, worse or the same on how many instances, and on how many it attains the bound."""
    lines = []
    for name in OTHERS:
        counts = Counter(row.against[name] for row in rows if name in row.against)
        if counts:
            told = ", ".join(f"{counts[against]} {against.value}" for against in Against)
            lines.append(f"Against the {name}: {told}.")
    if any(row.bound is not None for row in rows):
        reached = sum(row.gap == 0 for row in rows)
        lines.append(f"{reached} of {len(rows)} instances at their bound.")
    return lines


def table(rows: Sequence[InstanceRow]) -> Table:
    """One line for each instance; no columns for what nobody knows."""
    number = "cost" if all(row.direction is Direction.MINIMISE for row in rows) else "value"
    table = TableOf(rows)
    table.column("inst", lambda row: str(row.result.instance), number=True)
    if any(row.what for row in rows):
        table.column("what", lambda row: row.what, fit=Fit.SPARE)
    table.column(number, lambda row: Cell(_number(row.result.cost), Tone.STRONG), number=True)
    if any(row.bound is not None for row in rows):
        table.column("bound", lambda row: _number(row.bound), number=True)
        table.column("gap", _gap_cell, number=True)
    for name in OTHERS:
        if any(name in row.against for row in rows):
            table.column(f"vs {name}", partial(_against_cell, name))
    if any(row.result.outcome is not Outcome.OK for row in rows):
        table.column("outcome", lambda row: _outcome(row.result), fit=Fit.FOLD)
    return table.table()


def _gap_cell(row: InstanceRow) -> Cell:
    return Cell(_number(row.gap), Tone.GOOD if row.gap == 0 and row.proven else Tone.PLAIN)


def _against_cell(name: str, row: InstanceRow) -> Cell:
    against = row.against.get(name)
    return Cell("-") if against is None else Cell(against.value, _TONES[against])


def _outcome(result: InstanceResult) -> Cell:
    if result.outcome is Outcome.OK:
        return Cell("ok", Tone.GOOD)
    return Cell(f"{result.outcome.value}: {result.detail}" if result.detail else result.outcome.value, Tone.BAD)


def _number(value: Fraction | None) -> str:
    if value is None:
        return "-"
    number = as_float(value)
    return f"{number:.9f}" if not number or 1e-6 <= abs(number) < 1e12 else f"{number:.10g}"


def judge_of(archive: RunReader) -> tuple[Task, Suite] | None:
    """The task and the suite of a run where they ship with evolve and are those that scored it: reading an archive runs
    none of its code, and a task is code. None where bounds, names and pictures cannot be had."""
    identity = archive.identity
    known = installed(str(identity["task"]), str(identity["suite"]))
    if known is None or known[2] != identity.get("evaluator_version"):
        return None
    return known[0], known[1]


def matrix(archive: RunReader) -> dict[str, Any]:
    """The costs of the initial program and of each new best, a list each, by instance, with `bounds` and `names` where
    they can be had. Programs that an earlier judge scored are left out."""
    current = [program for program in archive.programs if not program.stale]
    bests = new_bests(current)
    programs = [*(program for program in current[:1] if program not in bests), *bests]
    evaluations = [archive.evaluation(program) for program in programs]
    count = max((len(one.results) for one in evaluations), default=0)
    judge = judge_of(archive)
    known = () if judge is None or len(judge[1].instances) != count else judge[1].instances
    return {
        "indices": list(range(count)),
        "names": [] if judge is None else [judge[0].judge.describe(instance) for instance in known],
        "bounds": [finite(instance.bound) for instance in known] if known else [None] * count,
        "proven": [instance.proven for instance in known] if known else [False] * count,
        "columns": [program.generation for program in programs],
        "costs": [[finite(result.cost) for result in one.results] for one in evaluations],
        "outcomes": [[result.outcome.value for result in one.results] for one in evaluations],
        "shares": _shares(evaluations[-1], known) if evaluations else [],
        "direction": evaluations[-1].objective.per_instance.value if evaluations else None,
    }


def _shares(best: Evaluation, known: Sequence[Instance]) -> list[float | None]:
    """How much each instance holds the best program back, as its prompts say it; None where that says nothing."""
    if best.self_judged or best.spread is not None or not best.correct:
        return [None] * len(best.results)
    shares = instance_shares(best, {one.index: one.bound for one in known if one.bound is not None})
    return [finite(shares.get(result.instance)) for result in best.results]


MOST: Final = 100
"""Instances of one program that are drawn: the first ones."""
MOST_CHARACTERS: Final = 500_000
"""Pictures of one program are drawn until they are so long together."""


def pictures(archive: RunReader, program: ProgramRecord) -> tuple[dict[str, str], str | None]:
    """A picture (SVG) of each of a program's first answers, by instance, and why some are lacking that should be there.
    None are where the judge draws none or is not at hand, and where no answers are on record: they are of programs that
    were the best.

    Answers may be somebody else's: only what the judge accepts is drawn.
    """
    judge = judge_of(archive)
    try:
        answers = None if judge is None else archive.answers(program)
    except ArchiveError as lost:
        return {}, str(lost)
    if judge is None or answers is None:
        return {}, None
    found: dict[str, str] = {}
    problem, size = None, 0
    for instance, answer in list(zip(judge[1].instances, answers, strict=False))[:MOST]:
        try:
            drawn = _drawn(judge[0], instance, answer)
        except TaskError as cause:
            problem = str(cause)
            continue
        size += len(drawn)
        if size > MOST_CHARACTERS:
            return found, f"the pictures from instance {instance.index} on are left out: they are too long together"
        if drawn:
            found[str(instance.index)] = drawn
    return found, problem


def _drawn(task: Task, instance: Instance, answer: object) -> str:
    """The picture of an answer that the judge accepts; empty where it draws none. Raises TaskError."""
    verdict = task.judge.judge(instance, answer)
    if verdict.outcome is not Outcome.OK:
        raise TaskError(f"the answer to instance {instance.index} is {verdict.outcome.value}, and is not drawn")
    return task.judge.draw(instance, answer)

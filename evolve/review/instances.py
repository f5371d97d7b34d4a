"""The instances of a program: costs and bounds, the comparison with its parent and the best, pictures of answers."""

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
from evolve.archive.consistency import installed
from evolve.archive.ranking import new_bests
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.core.errors import ArchiveError
from evolve.propose.verdicts import instance_shares
from evolve.review.scores import as_float, finite
from evolve.review.table import Cell, Fit, Table, TableOf, Tone


class Against(StrEnum):
    """How a result compares with another program's on the same instance: by exact cost, failures last."""

    BETTER = "better"
    SAME = "same"
    WORSE = "worse"


_TONES = {Against.BETTER: Tone.GOOD, Against.SAME: Tone.QUIET, Against.WORSE: Tone.BAD}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRow:
    """One instance. `bound` is None if unknown; `against` maps the names of other programs to the comparison."""

    result: InstanceResult
    what: str
    bound: Fraction | None
    proven: bool
    against: Mapping[str, Against]
    direction: Direction = Direction.MINIMISE

    @property
    def gap(self) -> Fraction | None:
        """The distance of the judge's number from its bound."""
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
    """A program's results. `suite` has the bounds, None if it cannot be read; `descriptions` are of its instances."""
    evaluation = archive.evaluation(program)
    results, direction = evaluation.results, evaluation.objective.per_instance
    references = {
        name: {result.instance: result for result in archive.evaluation(reference).results}
        for name, reference in _others(archive, program).items()
    }
    instances = {} if suite is None else {instance.index: instance for instance in suite.instances}
    rows = []
    for result in results:
        instance = instances.get(result.instance)
        against = {
            name: compared(result, results_of[result.instance], direction)
            for name, results_of in references.items()
            if result.instance in results_of
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


def compared(result: InstanceResult, reference: InstanceResult, direction: Direction = Direction.MINIMISE) -> Against:
    """How `result` compares with `reference`, in the task's direction; any cost is better than none."""
    if result.cost == reference.cost:
        return Against.SAME
    if result.cost is None or reference.cost is None:
        return Against.WORSE if result.cost is None else Against.BETTER
    return Against.BETTER if direction.sign * (result.cost - reference.cost) > 0 else Against.WORSE


def _others(archive: RunReader, program: ProgramRecord) -> dict[str, ProgramRecord]:
    """The programs to compare with: its parent, and the best unless it is the best."""
    references = {"parent": archive.find(program.parents[0])} if program.parents else {}
    if archive.best is not None and archive.best is not program:
        references["best"] = archive.best
    return references


def summary(rows: Sequence[InstanceRow]) -> list[str]:
    """On how many instances it is better, the same or worse than its parent and the best, or reaches the bound."""
    lines = []
    for name in OTHERS:
        counts = Counter(row.against[name] for row in rows if name in row.against)
        if counts:
            tally = ", ".join(f"{counts[against]} {against.value}" for against in Against)
            lines.append(f"Against the {name}: {tally}.")
    if any(row.bound is not None for row in rows):
        reached = sum(row.gap == 0 for row in rows)
        lines.append(f"{reached} of {len(rows)} instances at their bound.")
    return lines


def table(rows: Sequence[InstanceRow]) -> Table:
    """A row for each instance; columns without any known value are left out."""
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
    """The task and the suite of a run if they ship with evolve and scored it; else None, without bounds, names and
    pictures. Reading an archive runs none of its code, and a task is code."""
    identity = archive.identity
    installed_task = installed(str(identity["task"]), str(identity["suite"]))
    if installed_task is None or installed_task[2] != identity.get("evaluator_version"):
        return None
    return installed_task[0], installed_task[1]


def matrix(archive: RunReader) -> dict[str, Any]:
    """The costs of the initial program and of each new best, a list each, by instance, with `bounds` and `names` if
    available. Programs that an earlier judge scored are left out."""
    current = [program for program in archive.programs if not program.stale]
    bests = new_bests(current)
    programs = [*(program for program in current[:1] if program not in bests), *bests]
    evaluations = [archive.evaluation(program) for program in programs]
    count = max((len(evaluation.results) for evaluation in evaluations), default=0)
    judge = judge_of(archive)
    instances = () if judge is None or len(judge[1].instances) != count else judge[1].instances
    return {
        "indices": list(range(count)),
        "names": [] if judge is None else [judge[0].judge.describe(instance) for instance in instances],
        "bounds": [finite(instance.bound) for instance in instances] if instances else [None] * count,
        "proven": [instance.proven for instance in instances] if instances else [False] * count,
        "columns": [program.generation for program in programs],
        "costs": [[finite(result.cost) for result in evaluation.results] for evaluation in evaluations],
        "outcomes": [[result.outcome.value for result in evaluation.results] for evaluation in evaluations],
        "shares": _shares(evaluations[-1], instances) if evaluations else [],
        "direction": evaluations[-1].objective.per_instance.value if evaluations else None,
    }


def _shares(best: Evaluation, instances: Sequence[Instance]) -> list[float | None]:
    """How much each instance holds the best program back, as in prompts; None without such a share."""
    if best.self_judged or best.spread is not None or not best.correct:
        return [None] * len(best.results)
    shares = instance_shares(
        best, {instance.index: instance.bound for instance in instances if instance.bound is not None}
    )
    return [finite(shares.get(result.instance)) for result in best.results]


MOST: Final = 100
"""The most instances of a program that are drawn."""
MOST_CHARACTERS: Final = 500_000
"""The most characters of a program's pictures together."""


def pictures(archive: RunReader, program: ProgramRecord) -> tuple[dict[str, str], str | None]:
    """A picture (SVG) of each of a program's first answers, by instance, and why some are missing. There are none if
    the judge draws none or is unavailable, or if no answers are on record (only new bests have them).

    The archive is not trusted: only answers that the judge accepts are drawn.
    """
    judge = judge_of(archive)
    try:
        answers = None if judge is None else archive.answers(program)
    except ArchiveError as lost:
        return {}, str(lost)
    if judge is None or answers is None:
        return {}, None
    drawings: dict[str, str] = {}
    problem, size = None, 0
    for instance, answer in list(zip(judge[1].instances, answers, strict=False))[:MOST]:
        try:
            drawn = _drawn(judge[0], instance, answer)
        except TaskError as cause:
            problem = str(cause)
            continue
        size += len(drawn)
        if size > MOST_CHARACTERS:
            return drawings, f"the pictures from instance {instance.index} on are left out: they are too long together"
        if drawn:
            drawings[str(instance.index)] = drawn
    return drawings, problem


def _drawn(task: Task, instance: Instance, answer: object) -> str:
    """The picture of an answer that the judge accepts; empty if it draws none. Raises TaskError."""
    verdict = task.judge.judge(instance, answer)
    if verdict.outcome is not Outcome.OK:
        raise TaskError(f"the answer to instance {instance.index} is {verdict.outcome.value}, and is not drawn")
    return task.judge.draw(instance, answer)

"""Pictures of what a best program answered, drawn by the judge that ships with evolve."""

from typing import Final

from evaluator.errors import TaskError
from evaluator.evaluation import Outcome
from evaluator.task import Instance, Task
from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord
from evolve.errors import ArchiveError
from evolve.review.matrix import judge_of

MOST: Final = 100
"""Instances of one program that are drawn: the first ones."""
MOST_CHARACTERS: Final = 500_000
"""Pictures of one program are drawn until they are so long together."""


def pictures(archive: Archive, program: ProgramRecord) -> tuple[dict[str, str], str | None]:
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

"""Pictures of what a best program answered, drawn by the judge that ships with evolve."""

from typing import Final

from evaluator.errors import TaskError
from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord
from evolve.errors import ArchiveError
from evolve.review.matrix import judge_of

MOST: Final = 12
"""Instances of one program that are drawn: the first ones."""
_MOST_CHARACTERS: Final = 200_000  # of one picture
_MOST_ANSWERS: Final = 2_000_000  # characters of the answers that are drawn


def pictures(archive: Archive, program: ProgramRecord) -> tuple[dict[str, str], str | None]:
    """A picture (SVG) of each of a program's first answers, by instance, and why some are lacking that should be there.
    None are where the judge draws none or is not at hand, and where no answers are on record: they are of programs that
    were the best.

    Answers may be somebody else's: one that the judge cannot draw has no picture, and too long a picture is none.
    """
    judge = judge_of(archive)
    try:
        answers = None if judge is None else archive.answers(program)
    except ArchiveError as lost:
        return {}, str(lost)
    if judge is None or answers is None:
        return {}, None
    task, suite = judge
    found: dict[str, str] = {}
    problem, size = None, 0
    for instance, answer in list(zip(suite.instances, answers, strict=False))[:MOST]:
        size += len(repr(answer))
        if size > _MOST_ANSWERS:
            return found, f"the answers are too long to be drawn from instance {instance.index} on"
        try:
            drawn = task.judge.draw(instance, answer)
        except TaskError as cause:
            problem = str(cause)
            continue
        if len(drawn) > _MOST_CHARACTERS:
            problem = f"the picture of instance {instance.index} has {len(drawn)} characters"
        elif drawn:
            found[str(instance.index)] = drawn
    return found, problem

"""Pictures of what a program answered, drawn by the judge of a task that ships.

An archive may be somebody else's: no code of its own task is loaded, and an answer is drawn only if the judge takes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from evaluator.errors import EvaluatorError
from evaluator.evaluation import Outcome
from evaluator.task import Instance, Task
from evaluator.untrusted import one_line
from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord
from evolve.review.matrix import shipped_task, suite_of
from evolve.view import payload

MOST_PICTURES: Final = 100
"""So many instances are drawn, the first ones."""
MOST_CHARACTERS: Final = 1024 * 1024
"""Pictures of a program are drawn until they are so long together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """SVG texts by the index of their instance; in a sentence, which are missing, if any."""

    drawn: Mapping[int, str]
    missing: str | None = None


def pictures(archive: Archive, record: ProgramRecord) -> Pictures | None:
    """The pictures of a program; None where the task does not ship, is another than the one that scored the run, or
    draws nothing, or where no answers are kept. Raises ArchiveError when answers are lost or damaged."""
    task = shipped_task(archive)
    if task is None or archive.identity.get("task_digest") != task.digest:
        return None
    suite, answers = suite_of(archive, task), archive.answers(record)
    if suite is None or answers is None or len(answers) != len(suite.instances):
        return None
    drawn: dict[int, str] = {}
    missing: list[str] = []
    left = MOST_CHARACTERS
    for instance, answer in list(zip(suite.instances, answers, strict=True))[:MOST_PICTURES]:
        try:
            svg = _picture(task, instance, answer)
        except EvaluatorError as cause:  # the answers may be anybody's making
            missing.append(f"instance {instance.index}: {one_line(str(cause), 200)}")
            continue
        if svg is None:
            missing.append(f"instance {instance.index}: the judge does not take the answer that is on record")
        elif svg and (left := left - len(svg)) >= 0:
            drawn[instance.index] = svg
        if left < 0:
            break
    if not drawn and not missing:
        return None
    more = len(suite.instances) - len(drawn) - len(missing)
    return Pictures(drawn=drawn, missing="; ".join([*missing[:3], *_more(more, len(missing) - 3)]) or None)


def _more(undrawn: int, failed: int) -> list[str]:
    said = [f"{failed} more failed"] if failed > 0 else []
    return said + ([f"{undrawn} more would make the page too large"] if undrawn > 0 else [])


def _picture(task: Task, instance: Instance, answer: object) -> str | None:
    """The SVG of an answer, empty where the judge draws none; None where the judge does not take the answer."""
    verdict = task.judge.judge(instance, answer)
    return task.judge.draw(instance, answer) if verdict.outcome is Outcome.OK else None


def generation_with_pictures(archive: Archive, number: int) -> dict[str, Any]:
    """A generation as a document, and what its program's answers look like, where that can be told: `pictures`, SVG
    texts by instance, and `pictures_missing`, a sentence or null."""
    record = archive.program(number)
    found = None if record is None else pictures(archive, record)
    told = {} if found is None else {"pictures": dict(found.drawn), "pictures_missing": found.missing}
    return payload.generation_document(archive, number) | told

"""Tuning a program of a run outside of its loop: what was found is judged as any best is, and recorded as its child."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evaluator.task import Task
from evolve.archive.archive import Archive
from evolve.archive.records import HeldOutRecord, ProgramRecord
from evolve.completion import Completion
from evolve.errors import ArchiveError
from evolve.invocation import command
from evolve.judging.evaluators import Confirmation, EvaluatorPair
from evolve.judging.generalising import check_on_fresh
from evolve.judging.recording import record_program
from evolve.language import language_of
from evolve.program import TUNER, PatchKind
from evolve.progress import Checking, Warned
from evolve.proposal import Choice
from evolve.propose.building import NewProgram, build_program, result_of
from evolve.tuning.conducting import Tuned
from evolve.tuning.proposing import completion_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a search added to a run: the program, whether it is the new best, and what it scores on the held-out suite
    then."""

    record: ProgramRecord
    is_best: bool
    held_out: HeldOutRecord | None


def require_same_judge(archive: Archive, evaluators: EvaluatorPair) -> None:
    """Raise ArchiveError where what scores now is not what scored the run."""
    changed = [key for key, now in evaluators.identity().items() if archive.identity.get(key) != now]
    if changed:
        raise ArchiveError(
            f"{archive.folder}: its programs were scored otherwise ({', '.join(changed)} differ), so that no score of "
            f"now can stand beside theirs. Score them again first: {command('resume', archive.folder, '--rescore')}"
        )


def choice_to_tune(parent: ProgramRecord) -> Choice:
    """What a person chose who had a program tuned."""
    return Choice(kind=PatchKind.TUNE, island=parent.island, parent=parent, inspirations=(), model=TUNER)


def judged(
    archive: Archive, evaluators: EvaluatorPair, number: int, choice: Choice, source: str, answer: Completion
) -> tuple[NewProgram, Confirmation]:
    """The program of generation `number` that an answer makes of the parent's `source`, and the verdict on it. Nothing
    is recorded. Raises Duplicate for a program that the run has already, PatchError."""

    def known(source_hash: str) -> tuple[int, str] | None:
        record = archive.seen(source_hash)
        return None if record is None else (record.generation, result_of(record))

    told: dict[str, Any] = {"language": language_of(archive.program_file), "task": evaluators.task}
    told["parent_works"] = choice.parent.correct
    program = build_program(answer, kind=choice.kind, parent_source=source, known=known, **told)
    evaluation = evaluators.evaluator.evaluate(program.source)
    if archive.would_be_best(number, evaluation):
        return program, evaluators.confirm(program.source, evaluation)
    return program, Confirmation(evaluation=evaluation, held_out=None)


def record_question(archive: Archive, choice: Choice) -> None:
    """Record that the numbers of a program are asked for, as the next generation."""
    archive.asked(
        archive.next_generation,
        0,
        kind=choice.kind.value,
        island=choice.island,
        parents=[choice.parent.commit],
        inspirations=[],
        model=choice.model,
        prompt=None,
    )


def record_tuned(
    archive: Archive,
    evaluators: EvaluatorPair,
    task: Task,
    parent: ProgramRecord,
    tuned: Tuned,
    source: str,
    *,
    tell: Callable[[Checking | Warned], None],
) -> Recorded:
    """Judge the best program of a search and record it as a child of `parent`, whose source is `source`: as a
    generation of kind `tune`, asked and answered like any other. Nothing is recorded before all of it is known. A new
    best is checked on fresh instances; `tell` hears of that.

    Raises Duplicate for a program that the run has already, PatchError if no patch can hold what was found.
    """
    answer, number, choice = completion_of(tuned, source), archive.next_generation, choice_to_tune(parent)
    program, confirmation = judged(archive, evaluators, number, choice, source, answer)
    is_best = archive.would_be_best(number, confirmation.evaluation)
    record_question(archive, choice)
    archive.answered(number, 0, answer)
    _, held_out = record_program(archive, evaluators, number, 0, choice, program, confirmation)
    if is_best:
        suite, interrupt = evaluators.evaluator.suite, threading.Event()
        check_on_fresh(archive, task, suite, evaluators.others, interrupt=interrupt, tell=tell)
    return Recorded(record=archive.find(str(number)), is_best=is_best, held_out=held_out)

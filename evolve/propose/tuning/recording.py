"""Tuning a program of a run outside of its loop: what was found is judged as any best is, and recorded as its child."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from evolve.archive.archive import Archive
from evolve.archive.events import AskedEvent
from evolve.archive.records import ProgramRecord
from evolve.core.completion import Completion
from evolve.core.errors import ArchiveError
from evolve.core.invocation import command
from evolve.core.program import TUNER, PatchKind
from evolve.evaluation.evaluators import Confirmation, EvaluatorPair
from evolve.evaluation.generalisation import verify_on_fresh_instances
from evolve.evaluation.recording import question_of, record_held_out, record_program
from evolve.progress import Checking, Warned
from evolve.proposal import Choice, NewProgram
from evolve.propose.building import build_program, recorded_result
from evolve.propose.tuning.tuner import Tuned


def require_same_judge(archive: Archive, evaluators: EvaluatorPair) -> None:
    """Raise ArchiveError where what scores now is not what scored the run."""
    changed = [key for key, now in evaluators.identity().items() if archive.reader.identity.get(key) != now]
    if changed:
        raise ArchiveError(
            f"{archive.folder}: its programs were scored otherwise ({', '.join(changed)} differ), so that no score of "
            f"now can be compared with theirs. Score them again first: {command('resume', archive.folder, '--rescore')}"
        )


def choice_to_tune(parent: ProgramRecord) -> Choice:
    """What a person chose who had a program tuned."""
    return Choice(kind=PatchKind.TUNE, island=parent.island, parent=parent, inspirations=(), model=TUNER)


def judged(
    archive: Archive, evaluators: EvaluatorPair, number: int, choice: Choice, answer: Completion
) -> tuple[NewProgram, Confirmation]:
    """The program of generation `number` that an answer makes of its parent, and the verdict on it. Nothing is
    recorded. Raises Duplicate for a program that the run has already, PatchError."""
    program = build_program(
        answer,
        kind=choice.kind,
        parent=archive.reader.files(choice.parent),
        parent_works=choice.parent.correct,
        task=evaluators.task,
        known=partial(recorded_result, archive.reader),
    )
    evaluation = evaluators.evaluator.evaluate(program.files)
    return program, evaluators.confirm_if_best(archive, number, program.files, evaluation)


def record_tuning(
    archive: Archive,
    evaluators: EvaluatorPair,
    question: AskedEvent,
    program: NewProgram,
    confirmation: Confirmation,
) -> None:
    """Record the program that answers a person's question, which was confirmed before if it is the best."""
    record = record_program(archive, question, program, confirmation.evaluation, provisional=False)
    record_held_out(archive, evaluators, record, confirmation)


def record_tuned(
    archive: Archive,
    evaluators: EvaluatorPair,
    parent: ProgramRecord,
    tuned: Tuned,
    *,
    tell: Callable[[Checking | Warned], None],
) -> tuple[ProgramRecord, bool]:
    """Judge the best program of a search and record it as a child of `parent`: as a generation of kind `tune`, asked
    and answered like any other. Nothing is recorded before all of it is known. A new best is checked on fresh
    instances; `tell` hears of that. Returns the record, and whether it is the new best.

    Raises Duplicate for a program that the run has already, PatchError if no patch can hold what was found.
    """
    number, choice = archive.reader.next_generation, choice_to_tune(parent)
    answer = tuned.answer(archive.reader.files(parent), evaluators.task.program_folder)
    program, confirmation = judged(archive, evaluators, number, choice, answer)
    is_best = archive.reader.would_be_best(number, confirmation.evaluation)
    question = replace(question_of(number, 0, choice), by_hand=True)
    archive.asked(question, None)
    archive.answered(number, 0, answer)
    record_tuning(archive, evaluators, question, program, confirmation)
    if is_best:
        suite, interrupt = evaluators.evaluator.suite, threading.Event()
        verify_on_fresh_instances(archive, evaluators.task, suite, evaluators.others, interrupt=interrupt, tell=tell)
    return archive.reader.find(str(number)), is_best

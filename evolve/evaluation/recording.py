"""Questions, the programs that answer them, and what is scored again go on record."""

from collections.abc import Callable
from typing import Final

from evaluator.evaluation import EvaluatedOn, Evaluation
from evaluator.untrusted import one_line
from evaluator.waiting import threads
from evolve.archive.archive import Archive
from evolve.archive.events import AskedEvent, EvaluatedEvent, HeldOutEvent, verdict_of
from evolve.archive.records import ProgramRecord
from evolve.core.completion import Followed
from evolve.core.program import Origin
from evolve.evaluation.evaluators import Confirmation, EvaluatorPair
from evolve.patch.format import format_patch
from evolve.proposal import Choice, NewProgram

_MOST_NAME: Final = 200


def question_of(number: int, attempt: int, choice: Choice) -> AskedEvent:
    """What is asked for as generation `number`, as far as the search chose it."""
    return AskedEvent(
        generation=number,
        attempt=attempt,
        kind=choice.kind,
        island=choice.island,
        parents=(choice.parent.commit,),
        inspirations=tuple(inspiration.commit for inspiration in choice.inspirations),
        model=choice.model,
        unguided=not choice.guided,
        picked=choice.picked,
    )


def record_program(
    archive: Archive,
    question: AskedEvent,
    program: NewProgram,
    evaluation: Evaluation,
    *,
    provisional: bool,
    followed: Followed | None = None,
) -> ProgramRecord:
    """Record the program that answers a question with its verdict; `provisional`: where it stands above the best, it is
    to be confirmed."""
    event = EvaluatedEvent(
        generation=question.generation,
        attempt=question.attempt,
        parents=question.parents,
        inspirations=question.inspirations,
        island=question.island,
        origin=Origin(
            kind=question.kind,
            model=question.model,
            patch_name=program.patch.name,
            description=program.patch.description,
            features=program.features,
            lines=program.lines,
        ),
        source_hash=program.source_hash,
        evaluation=verdict_of(evaluation),
        provisional=provisional and archive.reader.would_be_best(question.generation, evaluation),
        followed=followed,
        on=None if evaluation.on is None else _place(evaluation.on),
    )
    patch_text = format_patch(program.patch)
    return archive.evaluated(event, source=program.source, patch_text=patch_text, answers=evaluation.answers)


def _place(on: EvaluatedOn) -> EvaluatedOn:
    """Where a program ran, with names as an event holds them: a worker chose its own."""
    return EvaluatedOn(host=one_line(on.host, _MOST_NAME) or "?", worker=one_line(on.worker, _MOST_NAME) or "?")


def rescore(archive: Archive, evaluators: EvaluatorPair, *, workers: int, tell: Callable[[int, int], None]) -> None:
    """Score again what is to be; `tell` hears how many of how many are done."""
    waiting = archive.reader.to_rescore
    with threads(workers, cancel=evaluators.cancel) as pool:
        evaluations = [pool.submit(evaluators.evaluator.evaluate, archive.reader.source(record)) for record in waiting]
        for done, (record, future) in enumerate(zip(waiting, evaluations, strict=True), 1):
            source, evaluation = archive.reader.source(record), pool.result(future)
            if record.generation == 0:
                confirmation = evaluators.judge(source)
            else:
                confirmation = evaluators.confirm_if_best(archive, record.generation, source, evaluation)
            record_confirmed(archive, evaluators, record, confirmation)
            tell(done, len(waiting))


def record_confirmed(
    archive: Archive, evaluators: EvaluatorPair, record: ProgramRecord, confirmation: Confirmation
) -> HeldOutEvent | None:
    """Record another verdict on a program; and its held-out score where it is the best, and of the initial program."""
    rescored = archive.rescored(record.generation, confirmation.evaluation)
    return record_held_out(archive, evaluators, rescored, confirmation)


def record_held_out(
    archive: Archive, evaluators: EvaluatorPair, record: ProgramRecord, confirmation: Confirmation
) -> HeldOutEvent | None:
    """Record what the best or the initial program scores on the held-out suite, where it was scored there."""
    if confirmation.held_out is None or (record.generation and archive.reader.best is not record):
        return None
    return evaluators.record_held_out(archive, record.generation, confirmation.held_out)

"""Questions, the programs that answer them, and what is scored again go on record."""

from collections.abc import Callable

from evaluator.evaluation import Evaluation
from evaluator.waiting import threads
from evolve.archive.archive import Archive
from evolve.archive.events import AskedEvent, EvaluatedEvent, verdict_of
from evolve.archive.records import HeldOutRecord, ProgramRecord
from evolve.completion import Followed
from evolve.judging.evaluators import Confirmation, EvaluatorPair
from evolve.patch.format import format_patch
from evolve.program import Origin
from evolve.proposal import Choice
from evolve.propose.building import NewProgram


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
        picked=None if choice.picked is None else choice.picked.to_json(),
    )


def record_program(
    archive: Archive,
    evaluators: EvaluatorPair,
    question: AskedEvent,
    program: NewProgram,
    confirmation: Confirmation,
    followed: Followed | None = None,
) -> tuple[ProgramRecord, HeldOutRecord | None]:
    """Record the program that answers a question with its verdict, and of a new best its held-out score."""
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
        evaluation=verdict_of(confirmation.evaluation),
        followed=followed,
    )
    answers, patch_text = confirmation.evaluation.answers, format_patch(program.patch)
    record = archive.evaluated(event, source=program.source, patch_text=patch_text, answers=answers)
    if archive.reader.best is record and confirmation.held_out is not None:
        return record, evaluators.record_held_out(archive, record.generation, confirmation.held_out)
    return record, None


def rescore(archive: Archive, evaluators: EvaluatorPair, *, workers: int, tell: Callable[[int, int], None]) -> None:
    """Score again what is to be; `tell` hears how many of how many are done."""
    waiting = archive.reader.to_rescore
    with threads(workers, cancel=evaluators.cancel) as pool:
        found = [pool.submit(evaluators.evaluator.evaluate, archive.reader.source(record)) for record in waiting]
        for done, (record, future) in enumerate(zip(waiting, found, strict=True), 1):
            _record_again(archive, evaluators, record, pool.result(future))
            tell(done, len(waiting))


def confirm_best(archive: Archive, evaluators: EvaluatorPair) -> None:
    """Once programs were excluded, confirm the one that stands above the best and was never confirmed, as any new best
    is; and the next one, where it does not stand."""
    while (record := archive.reader.would_lead) is not None:
        _record_again(archive, evaluators, record, evaluators.evaluator.evaluate(archive.reader.source(record)))


def _record_again(archive: Archive, evaluators: EvaluatorPair, record: ProgramRecord, evaluation: Evaluation) -> None:
    """Record another verdict on a program, confirmed where it would be the best; and its held-out score where it is,
    and of the initial program."""
    source, initial = archive.reader.source(record), record.generation == 0
    if initial:
        confirmation = evaluators.judge(source)
    else:
        confirmation = evaluators.confirm_if_best(archive, record.generation, source, evaluation)
    rescored = archive.rescored(record.generation, confirmation.evaluation)
    if confirmation.held_out is not None and (initial or archive.reader.best is rescored):
        evaluators.record_held_out(archive, record.generation, confirmation.held_out)

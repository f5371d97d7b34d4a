"""Questions, the programs that answer them, and what is scored again go on record."""

from collections.abc import Callable
from typing import Any

from evaluator.evaluation import Evaluation
from evaluator.waiting import threads
from evolve.archive.archive import Archive
from evolve.archive.records import HeldOutRecord, ProgramRecord
from evolve.completion import Followed
from evolve.judging.evaluators import Confirmation, EvaluatorPair
from evolve.patch.format import format_patch
from evolve.program import Origin
from evolve.proposal import Choice
from evolve.propose.building import NewProgram


def record_question(
    archive: Archive, number: int, attempt: int, choice: Choice, *, prompt: str | None, **further: Any
) -> None:
    """Record what is asked for as generation `number`; `further` is what else `Archive.asked` takes."""
    archive.asked(
        number,
        attempt,
        kind=choice.kind.value,
        island=choice.island,
        parents=[choice.parent.commit],
        inspirations=[inspiration.commit for inspiration in choice.inspirations],
        model=choice.model,
        prompt=prompt,
        **further,
    )


def record_program(
    archive: Archive,
    evaluators: EvaluatorPair,
    number: int,
    attempt: int,
    choice: Choice,
    program: NewProgram,
    confirmation: Confirmation,
    followed: Followed | None = None,
) -> tuple[ProgramRecord, HeldOutRecord | None]:
    """Record a program with its verdict, and of a new best what it scores on the twin."""
    record = archive.evaluated(
        number,
        attempt,
        source=program.source,
        patch_text=format_patch(program.patch),
        origin=Origin(
            kind=choice.kind,
            model=choice.model,
            patch_name=program.patch.name,
            description=program.patch.description,
            features=program.features,
        ),
        parents=[choice.parent.commit],
        inspirations=[inspiration.commit for inspiration in choice.inspirations],
        island=choice.island,
        source_hash=program.source_hash,
        evaluation=confirmation.evaluation,
        followed=followed,
    )
    if archive.best is record and confirmation.held_out is not None:
        return record, evaluators.record_held_out(archive, number, confirmation.held_out)
    return record, None


def rescore(archive: Archive, evaluators: EvaluatorPair, *, workers: int, tell: Callable[[int, int], None]) -> None:
    """Score again what is to be; `tell` hears how many of how many are done."""
    waiting = archive.to_rescore
    with threads(workers, cancel=evaluators.cancel) as pool:
        found = [pool.submit(evaluators.evaluator.evaluate, archive.source(record)) for record in waiting]
        for done, (record, future) in enumerate(zip(waiting, found, strict=True), 1):
            _record_again(archive, evaluators, record, pool.result(future))
            tell(done, len(waiting))


def confirm_best(archive: Archive, evaluators: EvaluatorPair) -> None:
    """Once programs were excluded, confirm the one that stands above the best and was never confirmed, as any new best
    is; and the next one, where it does not stand."""
    while (record := archive.would_lead) is not None:
        _record_again(archive, evaluators, record, evaluators.evaluator.evaluate(archive.source(record)))


def _record_again(archive: Archive, evaluators: EvaluatorPair, record: ProgramRecord, evaluation: Evaluation) -> None:
    """Record another verdict on a program, confirmed where it would be the best; and its held-out score where it is,
    and of the initial program."""
    source, initial = archive.source(record), record.generation == 0
    if initial:
        confirmation = evaluators.judge(source)
    else:
        confirmation = evaluators.confirm_if_best(archive, record.generation, source, evaluation)
    rescored = archive.rescored(record.generation, confirmation.evaluation)
    if confirmation.held_out is not None and (initial or archive.best is rescored):
        evaluators.record_held_out(archive, record.generation, confirmation.held_out)

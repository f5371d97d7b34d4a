"""Going on under another judge: the programs that matter are scored again, and both scores stay on record."""

from collections.abc import Callable

from evaluator.waiting import threads
from evolve.archive.archive import Archive
from evolve.judging.evaluators import EvaluatorPair


def rescore(archive: Archive, evaluators: EvaluatorPair, *, workers: int, tell: Callable[[int, int], None]) -> None:
    """Score again what is to be; `tell` hears how many of how many are done."""
    waiting = archive.to_rescore
    with threads(workers, cancel=evaluators.cancel) as pool:
        found = [pool.submit(evaluators.evaluator.evaluate, archive.source(record)) for record in waiting]
        for done, (record, future) in enumerate(zip(waiting, found, strict=True), 1):
            evaluation, source = pool.result(future), archive.source(record)
            if record.generation == 0:
                confirmation = evaluators.judge(source)
            else:
                confirmation = evaluators.confirm_if_best(archive, record.generation, source, evaluation)
            held_out, rescored = confirmation.held_out, archive.rescored(record.generation, confirmation.evaluation)
            if held_out is not None and (archive.best is rescored or record.generation == 0):
                evaluators.record_held_out(archive, record.generation, held_out)
            tell(done, len(waiting))


def confirm_best(archive: Archive, evaluators: EvaluatorPair) -> None:
    """Once programs were excluded, confirm the one that stands above the best and was never confirmed, as any new best
    is; and the next one, where it does not stand."""
    while (record := archive.would_lead) is not None:
        source = archive.source(record)
        evaluation = evaluators.evaluator.evaluate(source)
        confirmation = evaluators.confirm_if_best(archive, record.generation, source, evaluation)
        rescored, held_out = archive.rescored(record.generation, confirmation.evaluation), confirmation.held_out
        if held_out is not None and archive.best is rescored:
            evaluators.record_held_out(archive, record.generation, held_out)

"""Going on under another judge: the programs that matter are scored again, and both scores stay on record."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from evolve.archive.archive import Archive
from evolve.judging.evaluators import Confirmation, EvaluatorPair


def rescore(archive: Archive, evaluators: EvaluatorPair, *, workers: int, tell: Callable[[int, int], None]) -> None:
    """Score again what is to be; `tell` hears how many of how many are done."""
    waiting = archive.to_rescore
    with ThreadPoolExecutor(workers) as pool:
        found = pool.map(evaluators.evaluator.evaluate, map(archive.source, waiting))
        for done, (record, evaluation) in enumerate(zip(waiting, found, strict=True), 1):
            confirmation, source = Confirmation(evaluation=evaluation, held_out=None), archive.source(record)
            if record.generation == 0:
                confirmation = evaluators.judge(source)
            elif archive.would_be_best(record.generation, evaluation):
                confirmation = evaluators.confirm(source, evaluation)
            held_out, rescored = confirmation.held_out, archive.rescored(record.generation, confirmation.evaluation)
            if held_out is not None and (archive.best is rescored or record.generation == 0):
                evaluators.record_held_out(archive, record.generation, held_out)
            tell(done, len(waiting))

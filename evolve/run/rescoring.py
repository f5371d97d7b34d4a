"""Going on under another judge: the programs that matter are scored again, and both scores stay on record."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from evolve.archive.archive import Archive
from evolve.archive.ranking import rank_key
from evolve.archive.records import ProgramRecord
from evolve.run.evaluators import EvaluatorPair


def worth_rescoring(programs: Sequence[ProgramRecord], elites: int) -> list[int]:
    """The generations that are scored again under another judge: the initial program, and the best correct ones by
    their scores so far, one per behaviour, best first."""
    chosen: dict[str, int] = {}
    for record in sorted(programs, key=rank_key):
        if record.correct and len(chosen) < elites:
            chosen.setdefault(record.behaviour, record.generation)
    return list(dict.fromkeys([0, *chosen.values()]))


def rescore(archive: Archive, evaluators: EvaluatorPair, *, workers: int, tell: Callable[[int, int], None]) -> None:
    """Score again what is to be; `tell` hears how many of how many are done."""
    waiting = archive.to_rescore
    with ThreadPoolExecutor(workers) as pool:
        found = pool.map(evaluators.evaluator.evaluate, map(archive.source, waiting))
        for done, (record, evaluation) in enumerate(zip(waiting, found, strict=True), 1):
            held_out = None
            if archive.would_be_best(record.generation, evaluation):
                confirmation = evaluators.confirm(archive.source(record), evaluation)
                evaluation, held_out = confirmation.evaluation, confirmation.held_out
            rescored = archive.rescored(record.generation, evaluation)
            if held_out is not None and archive.best is rescored:
                archive.held_out(record.generation, held_out)
            tell(done, len(waiting))

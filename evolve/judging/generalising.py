"""Whether the best program of a run holds on other instances: those of the held-out twin, and fresh ones at the end."""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import partial
from typing import Final

from evaluator.errors import EvaluatorError
from evaluator.evaluation import Evaluation
from evaluator.fresh import compared, draw_suite
from evaluator.overfitting import CostPairs, overfitted
from evaluator.task import Suite, Task
from evolve.archive.archive import Archive
from evolve.archive.records import FreshRecord, HeldOutRecord, ProgramRecord
from evolve.seams import Evaluator

FRESH: Final = 10
"""So many instances are drawn at the end of a session."""
_PATIENCE_S: Final = 10.0
_MOST_PATIENCE_S: Final = 60.0
_HASTE_S: Final = 1.0
"""How long that may take: longer where the programs took long on the suite, too, so that a slow one is no suspect;
where the session was to end by the clock, hardly any time."""
_SLOWER: Final = 3
_POLL_S: Final = 0.05

Open = Callable[[Suite], AbstractContextManager[Evaluator]]
"""Opens an evaluator for a suite of the run's task, as the run's own are opened."""


def record_held_out(
    archive: Archive, generation: int, evaluation: Evaluation, *, suite: Suite, twin: Suite
) -> HeldOutRecord:
    """Record what the initial program or a new best scores on the twin, and whether its gains hold there."""
    return archive.held_out(generation, evaluation, overfitted=_verdict(archive, generation, evaluation, suite, twin))


def _verdict(archive: Archive, generation: int, evaluation: Evaluation, suite: Suite, twin: Suite) -> str | None:
    initial = archive.held_out_scores.get(0)
    if generation == 0 or initial is None or evaluation.spread is not None:  # costs say nothing where the clock scores
        return None
    there = compared(initial.costs, evaluation, twin)
    return overfitted(_on_the_suite(archive, archive.find(str(generation)), suite), there, called="of its twin")


def _on_the_suite(archive: Archive, record: ProgramRecord, suite: Suite) -> CostPairs:
    return compared(_costs(archive.evaluation(archive.programs[0])), archive.evaluation(record), suite)


def _costs(evaluation: Evaluation) -> list[Fraction | None]:
    return [result.cost for result in evaluation.results]


def check_on_fresh(
    archive: Archive,
    task: Task,
    suite: Suite,
    open_evaluator: Open | None,
    *,
    interrupt: threading.Event,
    hurried: bool,
) -> str | None:
    """Compare the best program with the initial one on fresh instances, and record it, unless that was done, there is
    no recipe, nothing better than the initial program, or the clock is the score (costs say nothing then). Whom a first
    draw accuses is tried on a second one, which counts then. Why it could not be done, in words; None otherwise. Never
    an error: the run is over."""
    best = archive.best
    if task.uses_clock or task.judge.draw_instance is None or best is None or best.generation in archive.fresh_scores:
        return None
    if best.generation == 0 or open_evaluator is None or interrupt.is_set():
        return None
    tried = partial(_tried, archive, task, suite, open_evaluator, best, interrupt, hurried=hurried)
    try:
        record = tried()
        if record is not None and record.overfitted is not None:  # by chance, perhaps: others are drawn in every run
            record = tried() or record
    except EvaluatorError as cause:
        return f"the best program was not tried on fresh instances: {cause}"
    if record is None:
        return "the best program was not tried on fresh instances: that would have taken too long"
    archive.fresh(record)
    return None


def _tried(
    archive: Archive,
    task: Task,
    suite: Suite,
    open_evaluator: Open,
    best: ProgramRecord,
    interrupt: threading.Event,
    *,
    hurried: bool,
) -> FreshRecord | None:
    """What one draw of fresh instances says; None when the time is up or the person will not wait. Raises
    EvaluatorError."""
    seed = os.urandom(8).hex()  # nobody can have known it before
    fresh = draw_suite(task, suite, FRESH, seed)
    sources = [archive.source(archive.programs[0]), archive.source(best)]
    seconds = _HASTE_S if hurried else _patience_s(archive, best)
    found = _evaluated(open_evaluator, fresh, sources, interrupt, seconds)
    if found is None:
        return None
    initial, program = found
    there = compared(_costs(initial), program, fresh)
    better, equal, worse = there.tally
    return FreshRecord(
        generation=best.generation,
        suite=suite.name,
        seed=seed,
        better=better,
        equal=equal,
        worse=worse,
        overfitted=overfitted(_on_the_suite(archive, best, suite), there, called="drawn anew"),
        correct=program.correct,
    )


def _patience_s(archive: Archive, best: ProgramRecord) -> float:
    both = [archive.evaluation(record).runtime_s for record in (archive.programs[0], best)]
    return min(_MOST_PATIENCE_S, max(_PATIENCE_S, _SLOWER * FRESH * sum(both)))


def _evaluated(
    open_evaluator: Open, suite: Suite, sources: list[str], interrupt: threading.Event, seconds: float
) -> tuple[Evaluation, Evaluation] | None:
    """What two programs score; None when the time is up or the person will not wait."""
    deadline = time.monotonic() + seconds
    with open_evaluator(suite) as evaluator, ThreadPoolExecutor(1) as thread:
        first, second = (thread.submit(evaluator.evaluate, source) for source in sources)
        while not second.done():
            if interrupt.is_set() or time.monotonic() >= deadline:
                evaluator.cancel()
                return None
            wait([second], timeout=_POLL_S)
        return first.result(), second.result()

"""Whether the best program of a run holds on other instances: those of the held-out suite, fresh ones, and its own in
new orders."""

import os
import platform
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Final

from evaluator.errors import EvaluationCancelled, EvaluatorError
from evaluator.evaluation import Evaluation, InstanceResult, Outcome
from evaluator.fresh import compared, draw_suite, never_near, one_instance_s, paired, sample_size
from evaluator.opening import OpenedEvaluator
from evaluator.overfitting import CostPairs, overfitted
from evaluator.pairs import LOOKS
from evaluator.repository.evaluator import RepositoryEvaluator
from evaluator.repository_task import Measure
from evaluator.strict import ORDERS
from evaluator.task import Instance, Suite, Task
from evaluator.untrusted import one_line
from evaluator.waiting import Result, Threads, threads
from evolve.archive.archive import Archive
from evolve.archive.events import (
    FreshEvent,
    FreshState,
    HeldOutEvent,
    OrdersData,
    PairedData,
    RemeasuredEvent,
    ReorderedEvent,
)
from evolve.archive.records import ProgramRecord
from evolve.progress import Checking, Warned

_POLL_S: Final = 0.05

Open = Callable[..., AbstractContextManager[OpenedEvaluator]]
"""Opens an evaluator for a suite of the run's task, as the run's own are opened; with one worker if nothing else is
said."""


def record_held_out(
    archive: Archive, generation: int, evaluation: Evaluation, *, suite: Suite, held_out: Suite
) -> HeldOutEvent:
    """Record what the initial program or a new best scores on the held-out suite, and whether its gains hold there."""
    why, initial = None, archive.reader.held_out_scores.get(0)
    if generation and initial is not None and evaluation.spread is None:  # costs say nothing where the clock scores
        here = _on_the_suite(archive, archive.reader.find(str(generation)), suite)
        costs = [None if cost is None else Fraction(cost) for cost in initial.costs]
        why = overfitted(here, compared(costs, evaluation, held_out), called="held-out ones")
    return archive.held_out(generation, evaluation, overfitted=why)


def _on_the_suite(archive: Archive, record: ProgramRecord, suite: Suite) -> CostPairs:
    initial = archive.reader.evaluation(archive.reader.programs[0])
    return compared([result.cost for result in initial.results], archive.reader.evaluation(record), suite)


def verify_on_fresh_instances(
    archive: Archive,
    task: Task,
    suite: Suite,
    open_evaluator: Open | None,
    *,
    interrupt: threading.Event,
    tell: Callable[[Checking | Warned], None],
) -> None:
    """Compare the best program with the initial one on fresh instances, and record each sample, until the check has
    held or failed. A best that fails on the first sample is tested on a second one, which counts. Where it cannot be
    done, or not to its end, the record says why. Never an error: the run is over."""
    best = archive.reader.best
    if best is None:
        return
    impossible = _why_not_available(task, best, open_evaluator)
    if impossible is not None or open_evaluator is None:
        if archive.reader.fresh_check(best.generation).state is not FreshState.NOT_AVAILABLE:
            state = FreshState.NOT_AVAILABLE
            archive.add(FreshEvent(generation=best.generation, suite=suite.name, state=state, why=impossible))
        return
    open_states = (FreshState.NOT_TRIED, FreshState.PARTLY_TRIED, FreshState.NOT_AVAILABLE)
    while archive.reader.fresh_check(best.generation).state in open_states:
        count = sample_size(task, suite)
        longest_s = 2 * count * one_instance_s(task, suite)
        if not interrupt.is_set():
            tell(Checking(generation=best.generation, what=f"on {count} fresh instances", longest_s=longest_s))
        sample = _FreshSample(archive, task, suite, best, interrupt)
        archive.add(sample.tried(open_evaluator, count))
        if sample.why is not None:
            if not interrupt.is_set():
                tell(Warned(message=f"the best program was not tried on all fresh instances: {sample.why}"))
            return


def try_new_orders(
    archive: Archive,
    suite: Suite,
    open_evaluator: Open | None,
    *,
    interrupt: threading.Event,
    tell: Callable[[Checking], None],
) -> None:
    """Record what the best program scores in new orders, by which no program was chosen. Not where that is on record or
    there is no other order, nor once a person interrupts. Raises EvaluatorError for a fault of the machine."""
    best = archive.reader.best
    if best is None or best.confirmed is None or archive.reader.reordered.get(best.generation) is not None:
        return
    if open_evaluator is None or interrupt.is_set():
        return
    longest_s = ORDERS * suite.limits.wall_total_s
    tell(Checking(generation=best.generation, what=f"in {ORDERS} new orders", longest_s=longest_s))
    with open_evaluator(suite) as evaluator, threads(1, cancel=evaluator.cancel) as thread:
        work = thread.submit(evaluator.in_new_orders, archive.reader.files(best))
        try:
            orders = _awaited(thread, evaluator, work, interrupt)
        except EvaluationCancelled:  # the next session's end makes up for it
            return
    if orders is not None:
        data = OrdersData(median=orders.median, low=orders.low, high=orders.high, n=orders.n)
        archive.add(ReorderedEvent(generation=best.generation, orders=data))


def measure_again(
    archive: Archive,
    task: Task,
    suite: Suite,
    open_evaluator: Open | None,
    *,
    interrupt: threading.Event,
    tell: Callable[[Checking], None],
) -> None:
    """Record what fresh pairs with the unchanged code say of the best program of a repository: the pairs that made it
    the best were chosen for being high. Not where that is on record, nor once a person interrupts. Raises
    EvaluatorError for a fault of the machine."""
    best = archive.reader.best
    if task.repository is None or best is None or best.generation == 0 or open_evaluator is None:
        return
    if best.generation in archive.reader.remeasured or interrupt.is_set():
        return
    each = ""
    if task.repository.measure in (Measure.CPU, Measure.WALL):
        each = f", each run about {task.repository.repeats * best.metrics['benchmark']:.2g} s"
    tell(Checking(generation=best.generation, what=f"in {LOOKS[-1]} fresh pairs of runs{each}"))
    initial = archive.reader.programs[0].commit
    with open_evaluator(suite) as evaluator, threads(1, cancel=evaluator.cancel) as thread:
        assert isinstance(evaluator, RepositoryEvaluator)
        work = thread.submit(evaluator.measured_again, archive.reader.files(best), initial)
        try:
            result = _awaited(thread, evaluator, work, interrupt)
        except EvaluationCancelled:  # the next session's end makes up for it
            return
    data = PairedData(
        than=result.than,
        times=result.times,
        low=result.low,
        high=result.high,
        pairs=result.pairs,
        chance=result.chance,
        is_better=result.is_better,
    )
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    archive.add(RemeasuredEvent(generation=best.generation, result=data, host=platform.node(), load=round(load, 2)))


def _awaited(thread: Threads, evaluator: OpenedEvaluator, future: Future[Result], interrupt: threading.Event) -> Result:
    """What comes of work on an evaluator. Raises EvaluationCancelled as soon as the person will not wait."""
    while not future.done():
        if interrupt.is_set():
            evaluator.cancel()
        for _ in thread.settled([future], within_s=_POLL_S):
            pass
    return future.result()


def _why_not_available(task: Task, best: ProgramRecord, open_evaluator: Open | None) -> str | None:
    """Why the check says nothing of this program or task, in words; None where it can be made."""
    if task.repository is not None:
        return "a repository has tests and a benchmark in place of instances"
    if task.self_judged:
        return "the task has no judge, so its scores are self-judged"
    if task.uses_clock:
        return "the score is a speed, and costs say nothing of it"
    if task.judge.draw_instance is None:
        return "the task has no recipe to draw instances by: its judge.py defines no draw_instance(rng, suite)"
    if best.generation == 0:
        return "the best program is the initial one"
    return "no evaluator can be opened" if open_evaluator is None else None


class _FreshSample:
    """One sample of fresh instances: the initial program and the best one are put to each of them in turn, so that what
    the machine does meanwhile meets both."""

    def __init__(
        self, archive: Archive, task: Task, suite: Suite, best: ProgramRecord, interrupt: threading.Event
    ) -> None:
        self._archive, self._task, self._suite, self._best = archive, task, suite, best
        self._interrupt = interrupt
        self._fresh: tuple[Instance, ...] = ()
        self._initial: list[InstanceResult] = []
        self._program: list[InstanceResult] = []
        self.why: str | None = None
        """What kept instances from being tried; None where all were."""

    def tried(self, open_evaluator: Open, count: int) -> FreshEvent:
        """Draw `count` instances, and try the programs on them. What was tried counts, whatever comes between."""
        seed = os.urandom(8).hex()  # nobody can have known it before
        try:
            drawn = draw_suite(self._task, self._suite, count, seed)
            self._fresh = drawn.instances
            self._try(open_evaluator, drawn)
        except EvaluatorError as cause:
            self.why = one_line(str(cause), 400)
        if self._interrupt.is_set() and len(self._program) < count:
            self.why = "it was interrupted"
        return self._record(seed, count)

    def _try(self, open_evaluator: Open, fresh: Suite) -> None:
        reader = self._archive.reader
        programs = [reader.files(record) for record in (reader.programs[0], self._best)]
        if self._interrupt.is_set():
            return
        with open_evaluator(fresh) as evaluator, threads(1, cancel=evaluator.cancel) as thread:
            for place in range(len(fresh.instances)):
                work = (thread.submit(evaluator.evaluate_one, each, place) for each in programs)
                initial, program = (_awaited(thread, evaluator, instances, self._interrupt) for instances in work)
                self._initial.append(initial)
                self._program.append(program)

    def _record(self, seed: str, count: int) -> FreshEvent:
        on_suite = self._archive.reader.evaluation(self._best)
        there = paired(
            [result.cost for result in self._initial],
            self._program,
            self._fresh[: len(self._program)],
            sign=-on_suite.objective.per_instance.sign,
            losses=never_near(self._task, self._suite, on_suite),
        )
        better, equal, worse = there.tally
        whole = len(self._program) == count
        correct = all(result.outcome is Outcome.OK for result in self._program)
        why = None
        if whole:  # fewer convict nobody
            why = overfitted(_on_the_suite(self._archive, self._best, self._suite), there, called="fresh ones")
        state = FreshState.HELD if correct and why is None else FreshState.FAILED
        if not whole:
            state = FreshState.PARTLY_TRIED if self._program else FreshState.NOT_TRIED
        return FreshEvent(
            generation=self._best.generation,
            suite=self._suite.name,
            state=state,
            seed=seed,
            instances=count,
            better=better,
            equal=equal,
            worse=worse,
            correct=correct,
            overfitted=why,
            why=self.why,
        )

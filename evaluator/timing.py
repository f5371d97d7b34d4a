"""Measures the speed of a program where the clock is the score: as a ratio to a reference program, with its spread.

Candidate and reference answer the whole suite in turn, each time in a fresh process of the same worker, and the first
one alternates. What slows the machine for a moment slows both, and no program can keep anything for the next
repetition. One repetition gives one ratio for each instance (CPU of the reference / CPU of the program, from reply to
reply as the supervisor measures it) and their geometric mean; the speed is the median of these means. Loading is not
measured (a program knows no instance then), but counts against the limits. Every answer of every repetition is judged:
a program that is wrong once is wrong.

The spread is an interval for that median, of order statistics, so that single outliers move neither. It is at least
`LEAST_SPREAD` wide either way: the place of its code in memory changes a program's speed by as much.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from evaluator.errors import TaskError
from evaluator.evaluation import LEAST_SPREAD, OF_THE_MOMENT, Evaluation, Outcome
from evaluator.feedback import name_instance
from evaluator.pairs import FEWEST, interval
from evaluator.running import Execution, Question, Runner
from evaluator.sandbox.pool import WorkerPool
from evaluator.sandbox.turns import OF_THIS_PROCESS
from evaluator.task import Suite, Task

REPETITIONS: Final = (9, 17, 33)
"""The numbers of repetitions after which a small enough spread ends the measurement; the last one always ends it."""
ENOUGH_CPU_S: Final = 60.0
"""CPU seconds of candidate and reference together after which no further repetition starts."""
_LEAST_CPU_S: Final = 1e-6  # no process answers in less; a clock may say so
_SHOWN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How many times faster than the reference a program is: the median, its spread, and the median per instance."""

    times: float
    low: float
    high: float
    instances: tuple[float, ...]
    repetitions: int

    @property
    def settled(self) -> bool:
        """Whether the spread is as narrow as it can be."""
        return self.low >= self.times / (1 + LEAST_SPREAD) and self.high <= self.times * (1 + LEAST_SPREAD)

    def describe(self) -> str:
        """The speed in words, for the program's author."""
        return (
            f"{self.times:.3g} times as fast as the reference program "
            f"(between {self.low:.3g} and {self.high:.3g}, {self.repetitions} repetitions)"
        )


def speed_of(repetitions: Sequence[Sequence[float]]) -> Speed:
    """The speed by the ratios of at least `FEWEST` repetitions, each a ratio per instance, all above 0."""
    means = [statistics.geometric_mean(ratios) for ratios in repetitions]
    times, low, high = interval(means)
    return Speed(
        times=times,
        low=min(low, times / (1 + LEAST_SPREAD)),
        high=max(high, times * (1 + LEAST_SPREAD)),
        instances=tuple(statistics.median(ratios) for ratios in zip(*repetitions, strict=True)),
        repetitions=len(repetitions),
    )


def feedback_of(speed: Speed, task: Task, suite: Suite) -> str:
    """The feedback on a correct program: its speed, and the instances with the least gain."""
    slowest = sorted(range(len(speed.instances)), key=lambda index: (speed.instances[index], index))[:_SHOWN]
    gained = "; ".join(f"{name_instance(task, suite, index)}: {speed.instances[index]:.3g} times" for index in slowest)
    return f"All {len(suite.instances)} instances succeeded. It is {speed.describe()}. Least gained on: {gained}."


def with_speed(evaluation: Evaluation, speed: Speed | None, task: Task, suite: Suite) -> Evaluation:
    """`evaluation` of a task that uses the clock, with the speed as its score and as the objective's metric; the score
    is 0 where the program is not correct (None). The judge's metrics stay."""
    times, low, high = (0.0, 0.0, 0.0) if speed is None else (speed.times, speed.low, speed.high)
    metric = task.objective.metric
    return replace(
        evaluation,
        combined_score=times,
        published_score=None,
        metrics={**evaluation.metrics, f"{metric}_low": low, f"{metric}_high": high, metric: times},
        spread=(low, high),
        feedback=evaluation.feedback if speed is None else feedback_of(speed, task, suite),
    )


class Stopwatch:
    """Times programs of one suite against the reference; used by several threads at once. No other candidate of this
    process runs meanwhile: two would slow each other."""

    def __init__(self, task: Task, runner: Runner, questions: Sequence[Question], *, reference: str) -> None:
        """`reference` is the source of the reference program."""
        self._task = task
        self._runner = runner
        self._questions = questions
        self._reference = reference

    def measure(self, source: str, pool: WorkerPool) -> Speed | Execution:
        """The speed of a program; where it fails in a repetition, that execution. `pool` has one worker. Raises
        TaskError when the reference fails."""
        ratios: list[list[float]] = []
        used_s = 0.0
        with OF_THIS_PROCESS.alone(pool.cancellation):
            while True:
                execution, candidate, reference = self._repeat(source, pool, reference_first=len(ratios) % 2 == 0)
                if execution.outcome is not Outcome.OK:
                    return execution
                ratios.append([slow / fast for fast, slow in zip(candidate, reference, strict=True)])
                used_s += sum(candidate) + sum(reference)
                count = len(ratios)
                last = count >= REPETITIONS[-1] or (count >= FEWEST and used_s >= ENOUGH_CPU_S)
                if last or (count in REPETITIONS and speed_of(ratios).settled):
                    return speed_of(ratios)

    def _repeat(
        self, source: str, pool: WorkerPool, *, reference_first: bool
    ) -> tuple[Execution, list[float], list[float]]:
        """One repetition: (run of the program, its CPU seconds per instance, those of the reference)."""

        def of_the_reference() -> list[float]:
            execution = self._run(self._reference, pool)
            if execution.outcome is not Outcome.OK:
                raise TaskError(f"{self._task.reference}: the reference program for timing fails: {execution.detail}")
            return _cpu_s(execution)

        reference = of_the_reference() if reference_first else []
        execution = self._run(source, pool)
        if execution.outcome is Outcome.OK and not reference_first:
            reference = of_the_reference()
        return execution, _cpu_s(execution), reference

    def _run(self, source: str, pool: WorkerPool) -> Execution:
        execution = self._runner.run(source, self._questions, pool)
        if execution.outcome in OF_THE_MOMENT:  # once among many runs it may be chance
            execution = self._runner.run(source, self._questions, pool)
        return execution


def _cpu_s(execution: Execution) -> list[float]:
    return [max(_LEAST_CPU_S, result.cpu_s) for result in execution.results]

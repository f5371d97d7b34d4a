"""Scores results over a suite: a program's, given ones, or an exact solver's; with bounds and best known values."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from evaluator.errors import EvaluatorError, SandboxError, TaskError
from evaluator.evaluation import Evaluation, InstanceResult, Outcome, Summary, Verdict, exceeds
from evaluator.objective import COMBINED, BestKnown, Direction, ListedValue
from evaluator.task import Instance, Suite, Task

_SLACK: Final = Fraction(1, 10**9)
"""The relative distance beyond a bound or a listed value that rounding explains."""

IN_THE_HARNESS = "harness"
"""In place of a sandbox level: nothing untrusted was run."""


class SuiteScorer:
    """Scores the results of programs over one suite. Immutable. `ceiling` is the score with every instance at its
    bound; None when one has no bound, or speed is the score."""

    def __init__(self, task: Task, suite: Suite) -> None:
        """Raises TaskError when the task's own code is wrong."""
        self._task = task
        self._suite = suite
        self._objective = task.objective
        # Where the clock is the score there are no bounds: the judge's numbers decide nothing, and speed has no limit.
        bounds = [None if task.uses_clock else instance.bound for instance in suite.instances]
        self._thresholds = [_impossible_beyond(bound, self._objective.per_instance) for bound in bounds]
        at_bounds = _at(bounds, task, suite)
        self.ceiling = None if at_bounds is None else at_bounds.score
        self._metric_bound = None if at_bounds is None else at_bounds.metrics.get(self._objective.metric)
        self._listed = None if task.uses_clock else self._best_known()

    def score(
        self,
        results: Sequence[InstanceResult],
        *,
        sandbox: str,
        evaluator_version: str,
        outcome: Outcome = Outcome.OK,
        detail: str = "",
        summary: Summary | None = None,
    ) -> Evaluation:
        """The evaluation of these results, without measured times; `summary` is by the judge unless it is given. An
        outcome that is ok becomes that of the first failed result. Raises TaskError."""
        first = next((result for result in results if result.outcome is not Outcome.OK), None)
        if outcome is Outcome.OK and first is not None:
            outcome, detail = first.outcome, f"instance {first.instance} of {len(results)}: {first.detail}"
        if summary is None:
            verdicts = [Verdict(outcome=r.outcome, cost=r.cost, detail=r.detail) for r in results]
            summary = self._task.judge.summarise(verdicts, self._suite.instances)
        quarantine = self._impossible(results)
        if quarantine is None and outcome is Outcome.OK and exceeds(summary.score, self.ceiling):
            quarantine = f"the score {summary.score} is above the ceiling {self.ceiling}: the task has a bug"
        correct = outcome is Outcome.OK and quarantine is None
        return Evaluation(
            task=self._task.name,
            suite=self._suite.name,
            outcome=outcome,
            detail=detail,
            combined_score=summary.score,
            published_score=summary.published_score,
            ceiling=self.ceiling,
            metrics=summary.metrics,
            results=tuple(results),
            feedback="",
            sandbox=sandbox,
            evaluator_version=evaluator_version,
            quarantine=quarantine,
            objective=self._objective,
            metric_bound=self._metric_bound,
            best_known=self._known_to(summary) if correct else self._listed,
            beyond=self._beyond(summary, results) if correct and not self._task.uses_clock else None,
        )

    def _impossible(self, results: Sequence[InstanceResult]) -> str | None:
        """The first value beyond its bound, in words; None without one."""
        direction = self._objective.per_instance
        maximise = direction is Direction.MAXIMISE
        for result, instance in zip(results, self._suite.instances, strict=True):
            threshold = self._thresholds[instance.index]
            if result.cost is None or threshold is None or direction.sign * (result.cost - threshold) <= 0:
                continue
            bound = "optimum" if instance.proven else "upper bound" if maximise else "lower bound"
            what, where = ("value", "above") if maximise else ("cost", "below")
            return (
                f"instance {instance.index}: {what} {result.cost} is {where} the proven {bound} {instance.bound}: "
                "the evaluator or the task has a bug"
            )
        return None

    # -- values that somebody reached -----------------------------------------------------------------------------

    def _best_known(self) -> BestKnown | None:
        """The best value listed for the whole suite, or else the metric of the best values listed for each instance."""
        objective = self._objective
        whole = [listed for listed in self._suite.best_known if listed.instance is None]
        if whole:
            best = max(whole, key=lambda listed: objective.direction.sign * listed.value)
            value = float(best.value)
            return BestKnown(value=value, score=None, where_from=best.where_from)
        bests = [self._best_of(instance) for instance in self._suite.instances]
        reached = _at([None if best is None else best.value for best in bests], self._task, self._suite)
        if reached is None:
            return None
        value = reached.score if objective.metric == COMBINED else reached.metrics[objective.metric]
        sources = dict.fromkeys(best.where_from for best in bests if best is not None)
        return BestKnown(value=value, score=reached.score, where_from="; ".join(sources))

    def _known_to(self, summary: Summary) -> BestKnown | None:
        """The best known value with its score, where the score of a correct program is its metric or the negative."""
        best, objective = self._listed, self._objective
        if best is None or best.score is not None:
            return best
        if objective.metric == COMBINED:
            return replace(best, score=best.value)
        sign = objective.direction.sign
        plain = summary.score == sign * summary.metrics[objective.metric]
        return replace(best, score=sign * best.value) if plain else best

    def _best_of(self, instance: Instance) -> ListedValue | None:
        values = [listed for listed in self._suite.best_known if listed.instance == instance.index]
        return max(values, key=lambda listed: self._objective.per_instance.sign * listed.value, default=None)

    def _beyond(self, summary: Summary, results: Sequence[InstanceResult]) -> str | None:
        """In words, where a correct program is better than every listed value; None where it is not."""
        beaten = []
        best, metric = self._listed, self._objective.metric
        whole = any(listed.instance is None for listed in self._suite.best_known)
        value = summary.score if metric == COMBINED else summary.metrics[metric]
        if best is not None and whole and _is_beaten(Fraction(best.value), Fraction(value), self._objective.direction):
            beaten.append(f"{metric} {value:.12g}, where the best listed is {best.value:.12g} ({best.where_from})")
        for result, instance in zip(results, self._suite.instances, strict=True):
            listed, cost = self._best_of(instance), result.cost
            if listed is None or cost is None or not _is_beaten(listed.value, cost, self._objective.per_instance):
                continue
            beaten.append(
                f"instance {instance.index}: {float(cost):.12g}, where the best listed is {float(listed.value):.12g} "
                f"({listed.where_from})"
            )
        return f"better than every value listed here: {'; '.join(beaten)}" if beaten else None


def _is_beaten(listed: Fraction, value: Fraction, direction: Direction) -> bool:
    """Whether `value` is better than `listed` by more than rounding."""
    return direction.sign * (value - listed) > abs(listed) * _SLACK


def _at(values: Sequence[Fraction | None], task: Task, suite: Suite) -> Summary | None:
    """The summary of a program that reaches these values; None when one is missing."""
    if any(value is None for value in values):
        return None
    return task.judge.summarise([Verdict(outcome=Outcome.OK, cost=value) for value in values], suite.instances)


def _impossible_beyond(bound: Fraction | None, direction: Direction) -> Fraction | None:
    """The value beyond which a better one is impossible; None without a bound. At a bound of zero rounding is taken at
    the scale of 1/1000."""
    return None if bound is None else bound + direction.sign * (abs(bound) or Fraction(1, 1000)) * _SLACK


def solve_suite(task: Task, suite: Suite, *, seconds: float) -> Iterator[InstanceResult]:
    """What the task's exact solver reaches on each instance, one result at a time. It is trusted code in the harness,
    with as many threads as it likes, so that its time does not compare with a program's CPU. Raises TaskError when the
    task has no solver, or a wrong one, SandboxError when a package that it needs is not installed."""
    solver = task.exact("place")
    for instance in suite.instances:
        began = time.process_time(), time.perf_counter()
        try:
            answer = solver.call("place", f" on instance {instance.index}", instance, seconds=seconds)
            verdict = task.judge.judge(instance, answer)
        except (SandboxError, TaskError):
            raise
        except EvaluatorError as nothing:
            verdict = Verdict(outcome=Outcome.INFEASIBLE, detail=str(nothing))
        yield InstanceResult(
            instance=instance.index,
            outcome=verdict.outcome,
            cost=verdict.cost,
            detail=verdict.detail,
            cpu_s=time.process_time() - began[0],
            wall_s=time.perf_counter() - began[1],
        )


def score_results(task: Task, suite: Suite, results: list[InstanceResult]) -> Evaluation:
    """The evaluation of the results of a whole suite, which no program gave."""
    evaluation = SuiteScorer(task, suite).score(results, sandbox=IN_THE_HARNESS, evaluator_version="")
    return replace(evaluation, runtime_s=sum(result.cpu_s for result in results) / len(results))

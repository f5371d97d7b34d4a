"""What the results of a program over a suite add up to: its score, beside the bounds and the best values known."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from evaluator.evaluation import Evaluation, InstanceResult, Outcome, Summary, Verdict, exceeds
from evaluator.objective import COMBINED, BestKnown, Direction, ListedValue
from evaluator.task import Instance, Suite, Task

_SLACK: Final = Fraction(1, 10**9)
"""So far beyond its bound, or a listed value, relative to it, a value may lie without meaning it: floats round."""


class SuiteScorer:
    """Scores the results of programs over one suite. Immutable. `ceiling` is the score of a program that attains every
    instance's bound; None when one has no bound, or speed is the score."""

    def __init__(self, task: Task, suite: Suite) -> None:
        """Raises TaskError when the task's own code is wrong."""
        self._task = task
        self._suite = suite
        self._objective = task.objective
        # There is none where the clock is the score: what the judge returns decides nothing, and no speed is the last.
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
        """The evaluation that they add up to, without what a clock measured; `summary` is what the judge makes of them,
        unless it is given. An outcome that is ok becomes that of the first result that is not. Raises TaskError."""
        first = next((result for result in results if result.outcome is not Outcome.OK), None)
        if outcome is Outcome.OK and first is not None:
            outcome, detail = first.outcome, f"instance {first.instance} of {len(results)}: {first.detail}"
        if summary is None:
            verdicts = [Verdict(outcome=r.outcome, cost=r.cost, detail=r.detail) for r in results]
            summary = self._task.judge.summarise(verdicts, self._suite.instances)
        quarantine = self._impossible(results)
        if quarantine is None and outcome is Outcome.OK and exceeds(summary.score, self.ceiling):
            quarantine = f"the score {summary.score} is above the ceiling {self.ceiling}: the task has a hole"
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
        """The first value that is beyond its bound, in words; None when there is none."""
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
                "the evaluator or the task has a hole"
            )
        return None

    # -- values that somebody reached -----------------------------------------------------------------------------

    def _best_known(self) -> BestKnown | None:
        """The best value listed for the whole suite, or what the best values listed of every instance come to."""
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
        """The best known value as a score, where the score of a correct program is plainly its metric."""
        best, objective = self._listed, self._objective
        if best is None or best.score is not None:
            return best
        if objective.metric == COMBINED:
            return replace(best, score=best.value)
        sign = objective.direction.sign
        plain = summary.score == sign * summary.metrics[objective.metric]
        return replace(best, score=sign * best.value) if plain else best

    def _best_of(self, instance: Instance) -> ListedValue | None:
        listed = [one for one in self._suite.best_known if one.instance == instance.index]
        return max(listed, key=lambda one: self._objective.per_instance.sign * one.value, default=None)

    def _beyond(self, summary: Summary, results: Sequence[InstanceResult]) -> str | None:
        """In words, where a correct program is better than every value that is listed; None where it is not."""
        found = []
        best, metric = self._listed, self._objective.metric
        whole = any(listed.instance is None for listed in self._suite.best_known)
        value = summary.score if metric == COMBINED else summary.metrics[metric]
        if (
            best is not None
            and whole
            and self._clearly(Fraction(value), Fraction(best.value), self._objective.direction)
        ):
            found.append(f"{metric} {value:.12g}, where the best listed is {best.value:.12g} ({best.where_from})")
        for result, instance in zip(results, self._suite.instances, strict=True):
            one = self._best_of(instance)
            if one is None or result.cost is None:
                continue
            if self._clearly(result.cost, one.value, self._objective.per_instance):
                found.append(
                    f"instance {instance.index}: {float(result.cost):.12g}, where the best listed is "
                    f"{float(one.value):.12g} ({one.where_from})"
                )
        return f"better than every value listed here: {'; '.join(found)}" if found else None

    @staticmethod
    def _clearly(value: Fraction, than: Fraction, direction: Direction) -> bool:
        return direction.sign * (value - than) > abs(than) * _SLACK


def _at(values: Sequence[Fraction | None], task: Task, suite: Suite) -> Summary | None:
    """What a program comes to that reaches these values; None when one is missing."""
    if any(value is None for value in values):
        return None
    return task.judge.summarise([Verdict(outcome=Outcome.OK, cost=value) for value in values], suite.instances)


def _impossible_beyond(bound: Fraction | None, direction: Direction) -> Fraction | None:
    """Values better than this are impossible; None without a bound. A bound of zero allows for rounding at the scale
    of 1."""
    return None if bound is None else bound + direction.sign * (abs(bound) or Fraction(1, 1000)) * _SLACK

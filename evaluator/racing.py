"""Racing: an evaluation that stops once its program cannot reach a score any more.

    race = Race(threshold=2.09, value=2.09, costs=costs)          fixed before the evaluation begins
    evaluation = evaluator.race(source, race)                     outcome `stopped`, or that of `evaluator.evaluate`

After each instance the score is computed that the program would have with all others at their bounds. No program can
be better than that where a better value of one instance never makes a worse score; so one that lies below the threshold
even there, by more than rounding explains, is stopped. It is not said to fail: nothing is known of the instances that
it was not asked.

The instances that decide soonest come first: those which alone, all others at their bounds, cost the program that
holds the threshold the most. No clock decides, and a program that is asked to the end is scored as ever: answers do not
depend on the order, and where one fails, it is evaluated once more in the suite's own order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from evaluator.evaluation import InstanceResult, Outcome, Summary, exceeds
from evaluator.running import Execution, Question, Runner
from evaluator.standing import Standing
from evaluator.task import Suite, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """What a program has to reach: the score `threshold` (`value` in the task's own metric) of a correct program with
    these `costs`, one per instance."""

    threshold: float
    value: float
    costs: tuple[Fraction, ...]


def why_no_race(task: Task, suite: Suite) -> str | None:
    """Why the best score that is still possible cannot be computed for a suite, in words; None where it can."""
    if task.script is not None:
        return f"programs of the task {task.name!r} are run by a script, all instances at once"
    if task.uses_clock:
        return f"a clock makes the scores of the task {task.name!r}"
    missing = [instance.index for instance in suite.instances if instance.bound is None]
    if missing:
        return f"instance {missing[0]} of suite {suite.name!r} has no bound"
    if not task.monotone:
        return (
            f"the judge of the task {task.name!r} makes the score in a way of its own (`summarise`), and its task.yaml "
            "does not say `monotone: true`: that a better value of one instance never makes a worse score"
        )
    return None


class RacingRunner(Runner):
    """Runs one program, and asks nothing further once it failed an instance or cannot reach the threshold any more."""

    def __init__(self, task: Task, suite: Suite, standing: Standing, *, control: str, source: str, race: Race) -> None:
        """`source` is the program; the `control` is not raced. Raises TaskError."""
        super().__init__(task, suite, control=control)
        self._standing = standing
        self._source = source
        self._race = race

    def _is_decided(self, source: str, execution: Execution) -> bool:
        """See Runner. Raises TaskError."""
        if source != self._source or not execution.results:
            return False
        return execution.outcome is not Outcome.OK or exceeds(self._race.threshold, self.at_best(execution).score)

    def at_best(self, execution: Execution) -> Summary:
        """What the program comes to at best, all of whose results so far have a cost. Raises TaskError."""
        return self._standing.at_best(
            {result.instance: result.cost for result in execution.results if result.cost is not None}
        )


def deciding_order(standing: Standing, race: Race) -> tuple[int, ...]:
    """The instances by what each alone costs the program that holds the threshold, the most first. Raises TaskError."""
    scores = [standing.at_best({index: cost}).score for index, cost in enumerate(race.costs)]
    return tuple(sorted(range(len(scores)), key=lambda index: (scores[index], index)))


def not_asked(questions: Sequence[Question], results: Sequence[InstanceResult]) -> list[InstanceResult]:
    """The results of the instances that a stopped program was not asked."""
    known = {result.instance for result in results}
    indices = [question.instance.index for question in questions]
    return [InstanceResult(instance=i, outcome=Outcome.STOPPED, cost=None) for i in indices if i not in known]

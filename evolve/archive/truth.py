"""Whether what the journal says of a program can be true: checked on reading, before anybody believes it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from evaluator.evaluation import Evaluation, Outcome, Verdict, exceeds
from evaluator.task import Suite, Task
from evaluator.task_files import built_in_tasks, load_task
from evaluator.version import version_of

_CLOSE = 1e-9
"""How far a recorded number may lie from the same one computed again, relative to it: floats are summed anew."""


def contradiction(event: Mapping[str, Any]) -> str | None:
    """Why an event's verdict on a program contradicts itself; None if it does not, or the event holds none.

    Raises KeyError, ValueError or TypeError if it is malformed.
    """
    if event["event"] == "held_out":
        return _of_the_score(event)
    evaluation = event.get("evaluation")
    return None if evaluation is None else _of_the_score(evaluation) or _of_the_instances(evaluation)


def _of_the_score(verdict: Mapping[str, Any]) -> str | None:
    sound = verdict["outcome"] == Outcome.OK.value and verdict["quarantine"] is None
    if verdict["correct"] is not sound:
        how = "correct" if verdict["correct"] else "not correct"
        return f"it is called {how}, and its outcome is {verdict['outcome']!r:.40}"
    if sound and exceeds(verdict["combined_score"], verdict["ceiling"]):
        return f"its score {verdict['combined_score']!r:.40} is above the ceiling {verdict['ceiling']!r:.40}"
    return None


def _of_the_instances(evaluation: Mapping[str, Any]) -> str | None:
    costs, failed = evaluation["costs"], [index for index, _, _ in evaluation["failures"]]
    if len(set(failed)) != len(failed) or {i for i, cost in enumerate(costs) if cost is None} != set(failed):
        return "its costs and its failures are not of the same instances"
    if failed and evaluation["outcome"] == Outcome.OK.value:
        return f"its outcome is ok, and {len(failed)} of {len(costs)} instances failed"
    return None


def misjudged(recorded: Mapping[str, Any], identity: Mapping[str, Any]) -> str | None:
    """Why a recorded evaluation is not what its costs come to, by the task's own judge. None if it is, and where that
    cannot be said: a task that does not ship with this package, or another version of it, or one whose score a clock
    measured.

    Runs no code but this package's own. Raises KeyError, ValueError or TypeError if it is malformed.
    """
    known = _installed(str(identity.get("task")), str(identity.get("suite")))
    if known is None or known[0].uses_clock or known[2] != identity.get("evaluator_version"):
        return None
    from evaluator.standing import ceiling_of  # only where there is something to check

    task, suite, _ = known
    evaluation = Evaluation.from_json(recorded)
    if len(evaluation.results) != len(suite.instances):
        return f"it has {len(evaluation.results)} instances, and suite {suite.name} has {len(suite.instances)}"
    for result, instance in zip(evaluation.results, suite.instances, strict=True):
        cost, bound = result.cost, instance.bound
        if cost is not None and bound is not None and cost < bound and not _near(float(cost), float(bound)):
            return f"the cost of instance {instance.index} is below its bound"
    verdicts = [Verdict(outcome=result.outcome, cost=result.cost) for result in evaluation.results]
    summary = task.judge.summarise(verdicts, suite.instances)
    found = {
        "combined_score": (evaluation.combined_score, summary.score),
        "published_score": (evaluation.published_score, summary.published_score),
        "ceiling": (evaluation.ceiling, ceiling_of(task, suite)),
        **{name: (evaluation.metrics.get(name), value) for name, value in summary.metrics.items()},
    }
    for name, (said, computed) in found.items():
        if not _near(said, computed):
            return f"its {name} is {said!r:.40}, and its costs come to {computed!r:.40}"
    return None


def _near(one: float | None, other: float | None) -> bool:
    return one == other or (
        one is not None and other is not None and abs(one - other) <= _CLOSE * max(abs(one), abs(other))
    )


@cache
def _installed(name: str, suite: str) -> tuple[Task, Suite, str] | None:
    if name not in built_in_tasks():
        return None
    task = load_task(name)
    if suite not in task.suites:
        return None
    read = task.suite(suite)
    return task, read, version_of(task, read)

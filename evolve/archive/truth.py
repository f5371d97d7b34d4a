"""Whether what the journal says of a program can be true: checked on reading, before anybody believes it."""

from collections.abc import Mapping
from functools import cache
from math import isclose
from typing import TYPE_CHECKING, Any

from evaluator.errors import TaskError
from evaluator.evaluation import Evaluation, Outcome, exceeds
from evaluator.task import Suite, Task
from evaluator.task_files import built_in_tasks, load_task
from evaluator.untrusted import one_line
from evaluator.version import version_of
from evolve.archive.events import EvaluatedEvent, EvaluationData, Event, HeldOutEvent, RescoredEvent

if TYPE_CHECKING:
    from evaluator.suite_scorer import SuiteScorer

_CLOSE = 1e-9
"""How far a recorded number may lie from the same one computed again, relative to it: floats are summed anew."""


def contradiction(event: Event) -> str | None:
    """Why an event's verdict on a program contradicts itself; None if it does not, or the event holds none."""
    match event:
        case HeldOutEvent(outcome=outcome, correct=correct, quarantine=quarantine):
            return _of_the_score(outcome, correct, quarantine, event.combined_score, event.ceiling)
        case EvaluatedEvent(evaluation=verdict) | RescoredEvent(evaluation=verdict):
            said = verdict["outcome"], verdict["correct"], verdict["quarantine"]
            why = _of_the_score(*said, verdict["combined_score"], verdict["ceiling"])
            return why or _of_the_instances(verdict)
    return None


def _of_the_score(
    outcome: Outcome, correct: bool, quarantine: str | None, score: float, ceiling: float | None
) -> str | None:
    sound = outcome == Outcome.OK and quarantine is None
    if correct is not sound:
        return f"it is called {'correct' if correct else 'not correct'}, and its outcome is {outcome.value!r:.40}"
    if sound and exceeds(score, ceiling):
        return f"its score {score!r:.40} is above the ceiling {ceiling!r:.40}"
    return None


def _of_the_instances(evaluation: EvaluationData) -> str | None:
    costs, failed = evaluation["costs"], [index for index, _, _ in evaluation["failures"]]
    if len(set(failed)) != len(failed) or {i for i, cost in enumerate(costs) if cost is None} != set(failed):
        return "its costs and its failures are not of the same instances"
    if failed and evaluation["outcome"] == Outcome.OK:
        return f"its outcome is ok, and {len(failed)} of {len(costs)} instances failed"
    return None


def misjudged(recorded: EvaluationData, identity: Mapping[str, Any]) -> str | None:
    """Why a recorded evaluation is not what its costs come to, by the task's own judge. None if it is, and where that
    cannot be said: a task that does not ship with this package, or another version of it, or one whose score a clock
    measured.

    Runs no code but this package's own.
    """
    known = installed(str(identity.get("task")), str(identity.get("suite")))
    if known is None or known[0].uses_clock or known[2] != identity.get("evaluator_version"):
        return None
    task, suite, version = known
    evaluation = Evaluation.from_json(recorded)
    if len(evaluation.results) != len(suite.instances):
        return f"it has {len(evaluation.results)} instances, and suite {suite.name} has {len(suite.instances)}"
    try:
        computed = _scorer(task.name, suite.name).score(
            evaluation.results, outcome=evaluation.outcome, detail="", sandbox="", evaluator_version=version
        )
    except TaskError as cause:
        return f"its costs come to nothing ({one_line(str(cause))})"
    if computed.quarantine is not None and evaluation.quarantine is None:
        return f"it is believed, and cannot be ({computed.quarantine})"
    return _differing(evaluation, computed)


def _differing(said: Evaluation, computed: Evaluation) -> str | None:
    """Why what is said of a program is not what its costs come to: its score, and all that is shown beside it."""
    numbers = {
        "combined_score": (said.combined_score, computed.combined_score),
        "published_score": (said.published_score, computed.published_score),
        "ceiling": (said.ceiling, computed.ceiling),
        "metric_bound": (said.metric_bound, computed.metric_bound),
        **{name: (said.metrics.get(name), value) for name, value in computed.metrics.items()},
    }
    for name, (one, other) in numbers.items():
        if one != other and (one is None or other is None or not isclose(one, other, rel_tol=_CLOSE)):
            return f"its {name} is {one!r:.40}, and its costs come to {other!r:.40}"
    surplus = said.metrics.keys() - computed.metrics.keys()
    if surplus:
        return f"its metric {one_line(min(surplus), 40)!r} is none of the task's"
    for name in ("task", "suite", "objective"):
        if getattr(said, name) != getattr(computed, name):
            return f"its {name} is not what its costs come to"
    # Values alone: where a listed value comes from may be told in other words by now.
    if _listed(said) != _listed(computed):
        return "its best_known is not what its costs come to"
    return None


def _listed(evaluation: Evaluation) -> tuple[object, bool]:
    known = evaluation.best_known
    return None if known is None else (known.value, known.score), evaluation.beyond is not None


@cache
def _scorer(name: str, suite: str) -> "SuiteScorer":
    from evaluator.suite_scorer import SuiteScorer  # only where there is something to check

    known = installed(name, suite)
    assert known is not None
    return SuiteScorer(known[0], known[1])


@cache
def installed(name: str, suite: str) -> tuple[Task, Suite, str] | None:
    """A task that ships with this package, its suite, and the version of the evaluator that they make; None where there
    is no such task or suite."""
    if name not in built_in_tasks():
        return None
    task = load_task(name)
    if suite not in task.suites:
        return None
    read = task.suite(suite)
    return task, read, version_of(task, read)

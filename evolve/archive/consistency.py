"""Checks, while a journal is read, that a recorded verdict on a program is consistent."""

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
"""How far a recorded number may differ from its recomputation, relative to it: floats are summed again."""


def find_inconsistency(event: Event) -> str | None:
    """Why an event's verdict on a program contradicts itself; None if it does not, or the event holds none."""
    match event:
        case HeldOutEvent(outcome=outcome, correct=correct, quarantine=quarantine):
            return _check_score(outcome, correct, quarantine, event.combined_score, event.ceiling)
        case EvaluatedEvent(evaluation=verdict) | RescoredEvent(evaluation=verdict):
            claim = verdict["outcome"], verdict["correct"], verdict["quarantine"]
            return _check_score(*claim, verdict["combined_score"], verdict["ceiling"]) or _check_instances(verdict)
    return None


def _check_score(
    outcome: Outcome, correct: bool, quarantine: str | None, score: float, ceiling: float | None
) -> str | None:
    sound = outcome == Outcome.OK and quarantine is None
    if correct is not sound:
        return f"it is called {'correct' if correct else 'not correct'}, and its outcome is {outcome.value!r:.40}"
    if sound and exceeds(score, ceiling):
        return f"its score {score!r:.40} is above the ceiling {ceiling!r:.40}"
    return None


def _check_instances(evaluation: EvaluationData) -> str | None:
    costs, failed = evaluation["costs"], [index for index, _, _ in evaluation["failures"]]
    if len(set(failed)) != len(failed) or {i for i, cost in enumerate(costs) if cost is None} != set(failed):
        return "its costs and its failures are not of the same instances"
    if failed and evaluation["outcome"] == Outcome.OK:
        return f"its outcome is ok, and {len(failed)} of {len(costs)} instances failed"
    return None


def recompute_mismatch(recorded: EvaluationData, identity: Mapping[str, Any]) -> str | None:
    """Why a recorded evaluation differs from the one that its costs give by the task's own judge; None if it does not.

    None, too, where that cannot be checked: the task does not ship with this package, is of another version, or a clock
    measured its score. Runs no code but this package's own.
    """
    shipped = installed(str(identity.get("task")), str(identity.get("suite")))
    if shipped is None or shipped[0].uses_clock or shipped[2] != identity.get("evaluator_version"):
        return None
    task, suite, version = shipped
    evaluation = Evaluation.from_json(recorded)
    if len(evaluation.results) != len(suite.instances):
        return f"it has {len(evaluation.results)} instances, and suite {suite.name} has {len(suite.instances)}"
    try:
        computed = _scorer(task.name, suite.name).score(
            evaluation.results, outcome=evaluation.outcome, detail="", sandbox="", evaluator_version=version
        )
    except TaskError as cause:
        return f"no score follows from its costs ({one_line(str(cause))})"
    if computed.quarantine is not None and evaluation.quarantine is None:
        return f"it should be quarantined ({computed.quarantine})"
    return _differing(evaluation, computed)


def _differing(recorded: Evaluation, computed: Evaluation) -> str | None:
    """Which recorded score or figure differs from the one that follows from the costs; None if none does."""
    numbers = {
        "combined_score": (recorded.combined_score, computed.combined_score),
        "published_score": (recorded.published_score, computed.published_score),
        "ceiling": (recorded.ceiling, computed.ceiling),
        "metric_bound": (recorded.metric_bound, computed.metric_bound),
        **{name: (recorded.metrics.get(name), value) for name, value in computed.metrics.items()},
    }
    for name, (one, other) in numbers.items():
        if one != other and (one is None or other is None or not isclose(one, other, rel_tol=_CLOSE)):
            return f"its {name} is {one!r:.40}, and its costs give {other!r:.40}"
    surplus = recorded.metrics.keys() - computed.metrics.keys()
    if surplus:
        return f"its metric {one_line(min(surplus), 40)!r} is none of the task's"
    for name in ("task", "suite", "objective"):
        if getattr(recorded, name) != getattr(computed, name):
            return f"its {name} does not follow from its costs"
    # Values alone: the words for the source of a listed value may have changed.
    if _listed(recorded) != _listed(computed):
        return "its best_known does not follow from its costs"
    return None


def _listed(evaluation: Evaluation) -> tuple[object, bool]:
    listed = evaluation.best_known
    return None if listed is None else (listed.value, listed.score), evaluation.beyond is not None


@cache
def _scorer(name: str, suite: str) -> "SuiteScorer":
    from evaluator.suite_scorer import SuiteScorer  # only where there is something to check

    shipped = installed(name, suite)
    assert shipped is not None
    return SuiteScorer(shipped[0], shipped[1])


@cache
def installed(name: str, suite: str) -> tuple[Task, Suite, str] | None:
    """A task that ships with this package, its suite, and the evaluator's version for both; None without such a task or
    suite."""
    if name not in built_in_tasks():
        return None
    task = load_task(name)
    if suite not in task.suites:
        return None
    loaded = task.suite(suite)
    return task, loaded, version_of(task, loaded)

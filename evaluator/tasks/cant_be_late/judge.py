"""Can't be late: the judge owns the trace and the job, and asks what to run one tick at a time.

An instance is `{"work": W, "deadline": D, "overhead": L, "spot": "1101..."}`: ticks of work, the tick
before which it must end, the ticks that a start takes, and for each tick whether spot is there. `rule.py` says what an
answer does. The cost counts a tick of spot as 1 and a tick of on-demand as 3. A job that is not done at the deadline is
infeasible. Nothing of the ticks to come leaves the judge.
"""

import random
from collections.abc import Generator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from evaluator import Infeasible, InvalidAnswer
from evaluator.evaluation import Verdict
from evaluator.tasks.cant_be_late import recipes
from evaluator.tasks.cant_be_late.picture import picture
from evaluator.tasks.cant_be_late.rule import ANSWERS, ON_DEMAND, PRICES, CloudJob, after, at_tick, least_ticks, machine

_UP: Final = "1"


def converse(instance: Mapping[str, Any]) -> Generator[dict[str, Any], object, int]:
    """Ask what to run in each tick until the work is done. Raises InvalidAnswer for what is no such machine, Infeasible
    when the deadline comes first."""
    job = CloudJob(work_left=instance["work"])
    deadline, overhead = instance["deadline"], instance["overhead"]
    safe = 0
    for tick, mark in enumerate(instance["spot"]):
        spot = mark == _UP
        job = at_tick(job, spot)
        if tick + least_ticks(job, overhead) <= deadline:
            safe = tick
        answer = yield {
            "tick": tick,
            "deadline": deadline,
            "work": instance["work"],
            "work_left": job.work_left,
            "spot": spot,
            "running": job.running,
            "starting": job.starting,
            "overhead": overhead,
        }
        job = after(job, machine(_named(answer), spot), overhead)
        if not job.work_left:
            return job.cost
    raise Infeasible(
        f"the deadline is missed: {job.work_left} of {instance['work']} ticks of work are left at tick {deadline}; "
        f"tick {safe} was the last at which on-demand, from there on, was certain to meet it"
    )


def _named(answer: object) -> str:
    """An untrusted answer, if it is one of the three words."""
    if type(answer) is not str or answer not in ANSWERS:
        raise InvalidAnswer(f'the answer is {_shown(answer)}; it must be "spot", "on_demand" or "wait"')
    return answer


def summarise(verdicts: Sequence[Verdict], instances: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The mean cost of a trace. A failed one counts as on-demand until the deadline, which nothing exceeds."""
    if not verdicts or len(verdicts) != len(instances):
        raise ValueError(f"{len(verdicts)} verdicts for {len(instances)} instances")
    costs = [
        Fraction(PRICES[ON_DEMAND] * instance["deadline"]) if verdict.cost is None else Fraction(verdict.cost)
        for verdict, instance in zip(verdicts, instances, strict=True)
    ]
    return {"mean_cost": float(sum(costs) / len(costs))}


def draw_instance(rng: random.Random, suite: str) -> dict[str, Any]:
    """A new instance of a suite's recipe."""
    return recipes.draw_instance(rng, suite)


def describe(instance: Mapping[str, Any]) -> str:
    """What an instance is like: `work 144, deadline 180, overhead 3, spot there in 61 % of the ticks`."""
    there = 100 * instance["spot"].count(_UP) // instance["deadline"]
    return (
        f"work {instance['work']}, deadline {instance['deadline']}, overhead {instance['overhead']}, "
        f"spot there in {there} % of the ticks"
    )


def draw(instance: Mapping[str, Any], answer: Sequence[str]) -> str:
    """The trace as bands: when spot was there, what ran when, and the same of the cheapest plan."""
    return picture(instance, answer)


def _shown(value: object) -> str:
    """A short name for an untrusted value. A string is shown if it could be a misspelt word, others by their type."""
    if type(value) is str:
        return f'"{value}"' if value.isascii() and value.isidentifier() and len(value) <= 20 else "another string"
    if value is None or isinstance(value, bool):
        return repr(value)
    return {"int": "a number", "float": "a number", "list": "a list", "dict": "an object"}.get(
        type(value).__name__, "no JSON value"
    )

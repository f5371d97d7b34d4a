"""New instances of a suite's recipe, drawn from a seed, so no program can be fitted to them. Programs are compared by
exact costs, since no optimum of a fresh instance is known."""

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from evaluator.errors import TaskError
from evaluator.evaluation import OF_THE_MOMENT, Evaluation, InstanceResult, Outcome
from evaluator.overfitting import CostPairs
from evaluator.task import Instance, Suite, Task

UNKNOWN: Final = OF_THE_MOMENT | {Outcome.NOT_RUN}
"""Outcomes that show a limit, and not what the program would have answered."""
LEAST: Final = 8
MOST: Final = 10
"""How many fresh instances a sample has at a run's end, as far as they fit in `SECONDS`."""
SECONDS: Final = 600.0
ROOM: Final = 10
"""A program that stayed this many times below a limit on every instance of a suite should not meet it on another
instance of the recipe."""


def one_instance_s(task: Task, suite: Suite) -> float:
    """The wall seconds that a program may take for one instance; for a script, for all of them."""
    limits = suite.limits
    return limits.wall_total_s if task.script else min(limits.wall_per_instance_s, limits.wall_total_s)


def sample_size(task: Task, suite: Suite) -> int:
    """How many fresh instances two programs are compared on, fixed beforehand."""
    return max(LEAST, min(MOST, int(SECONDS / (2 * one_instance_s(task, suite)))))


def never_near(task: Task, suite: Suite, evaluation: Evaluation) -> frozenset[Outcome]:
    """The limits, by the outcome of meeting them, that a program stayed far below on every instance of `suite`."""
    limits, script = suite.limits, task.script is not None
    joined = sum if script else max  # a script's processes are measured together
    cpu_s = joined(result.cpu_s for result in evaluation.results)
    wall_s = joined(result.wall_s for result in evaluation.results)
    cpu_limits = [limits.cpu_total_s, *([] if script else [limits.cpu_per_instance_s, limits.cpu_per_item_s])]
    far = {
        Outcome.CPU_LIMIT: ROOM * cpu_s <= min(limit for limit in cpu_limits if limit is not None),
        Outcome.TIMEOUT: ROOM * wall_s <= one_instance_s(task, suite),
        Outcome.OOM: ROOM * evaluation.peak_memory_mb <= limits.memory_mb,
    }
    return frozenset(outcome for outcome, is_far in far.items() if is_far)


def draw_suite(task: Task, suite: Suite, count: int, seed: str) -> Suite:
    """`count` new instances of the suite's recipe, with its limits: a function of `seed`. Raises TaskError when the
    task has no recipe, or a wrong one."""
    draw = task.judge.draw_instance
    if draw is None:
        why = "it has no judge.py" if task.self_judged else "its judge.py defines no draw_instance(rng, suite)"
        raise TaskError(f"task {task.name!r} has no recipe to draw fresh instances by: {why}")
    instances = tuple(
        Instance(index=number, data=draw(random.Random(f"{seed}:{suite.name}:{number}"), suite.name))
        for number in range(count)
    )
    return replace(suite, instances=instances, held_out=None)


def compared(initial: Sequence[Fraction | None], program: Evaluation, suite: Suite) -> CostPairs:
    """The exact costs of the initial program (None: it failed) and of an evaluation on the same suite, per instance;
    negated where more is better."""
    return paired(initial, program.results, suite.instances, sign=-program.objective.per_instance.sign)


def paired(
    initial: Sequence[Fraction | None],
    program: Sequence[InstanceResult],
    instances: Sequence[Instance],
    *,
    sign: int,
    losses: Collection[Outcome] = frozenset(),
) -> CostPairs:
    """As `compared`, for results on these instances. Meeting one of the limits `losses` counts as a loss where the
    initial program succeeds; otherwise a limit makes the instance unknown."""

    def costs(values: Iterable[Fraction | None]) -> list[Fraction | None]:
        return [None if value is None else sign * value for value in values]

    return CostPairs(
        initial=costs(initial),
        program=costs(result.cost for result in program),
        optima=costs(instance.bound if instance.proven else None for instance in instances),
        unknown=[
            result.outcome in UNKNOWN and (before is None or result.outcome not in losses)
            for before, result in zip(initial, program, strict=True)
        ],
    )

"""New instances of a suite's recipe, drawn from a seed: nobody can have fitted a program to them.

No optimum of a fresh instance is known. What programs are compared by is their exact costs.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from evaluator.errors import TaskError
from evaluator.evaluation import Evaluation, Outcome
from evaluator.overfitting import CostPairs
from evaluator.task import Instance, Suite, Task

UNKNOWN: Final = frozenset({Outcome.TIMEOUT, Outcome.CPU_LIMIT, Outcome.OOM, Outcome.NOT_RUN})
"""Outcomes that say of a limit and nothing of what the program would have answered."""


def draw_suite(task: Task, suite: Suite, count: int, seed: str) -> Suite:
    """`count` new instances of the suite's recipe, with its limits: a function of `seed`.

    Raises TaskError when the task has no recipe, or its recipe is wrong.
    """
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
    """The costs of the initial program (None: it failed) and an evaluation on the same suite, instance by instance:
    what the judge returned, negated where more of it is better."""
    sign = -program.objective.per_instance.sign

    def costs(values: Iterable[Fraction | None]) -> list[Fraction | None]:
        return [None if value is None else sign * value for value in values]

    return CostPairs(
        initial=costs(initial),
        program=costs(result.cost for result in program.results),
        bounds=costs(instance.bound for instance in suite.instances),
        unknown=[result.outcome in UNKNOWN for result in program.results],
    )

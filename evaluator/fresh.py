"""New instances of a suite's recipe, drawn from a seed: nobody can have fitted a program to them.

No optimum of a fresh instance is known. What programs are compared by is their exact costs.
"""

import random
from dataclasses import replace

from evaluator.errors import TaskError
from evaluator.evaluation import Evaluation
from evaluator.overfitting import CostPairs
from evaluator.task import Instance, Suite, Task


def draw_suite(task: Task, suite: Suite, count: int, seed: str) -> Suite:
    """`count` new instances of the suite's recipe, with its limits: a function of `seed`.

    Raises TaskError when the task has no recipe, or its recipe is wrong.
    """
    draw = task.judge.draw_instance
    if draw is None:
        raise TaskError(
            f"task {task.name!r} has no recipe to draw fresh instances by: its judge.py defines no "
            "draw_instance(rng, suite)"
        )
    instances = tuple(
        Instance(index=number, data=draw(random.Random(f"{seed}:{suite.name}:{number}"), suite.name))
        for number in range(count)
    )
    return replace(suite, instances=instances, held_out=None)


def compared(initial: Evaluation, program: Evaluation, suite: Suite) -> CostPairs:
    """Two evaluations on the same suite, instance by instance."""
    return CostPairs(
        initial=[result.cost for result in initial.results],
        program=[result.cost for result in program.results],
        bounds=[instance.bound for instance in suite.instances],
    )

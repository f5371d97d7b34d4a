"""Proves the bounds of tours again, with the shortest 1-trees (`one_tree.py`): behind `evolve bounds`."""

from evaluator.task import BoundCheck, Instance
from evaluator.tasks.tours.one_tree import lower_bound


def verify(instance: Instance, *, limit_s: float) -> BoundCheck:
    """Whether the bound that is listed is at most the one that a 1-tree proves."""
    if instance.bound is None:
        return BoundCheck(instance=instance.index, holds=False, detail="there is no bound")
    proven = lower_bound(instance.data["points"])
    detail = f"a 1-tree proves that no tour is shorter than {proven}; the bound listed is {instance.bound}"
    return BoundCheck(instance=instance.index, holds=instance.bound <= proven, detail=detail)

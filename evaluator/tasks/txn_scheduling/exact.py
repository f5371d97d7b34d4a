"""Proves the bounds of workloads again, by counting them anew (`bounds.py`): behind `evolve bounds`."""

from evaluator.task import BoundCheck, Instance
from evaluator.tasks.txn_scheduling.bounds import lower_bound


def verify(instance: Instance, *, limit_s: float) -> BoundCheck:
    """Whether the bound that is listed is at most the one that counting proves."""
    if instance.bound is None:
        return BoundCheck(instance=instance.index, holds=False, detail="there is no bound")
    proven = lower_bound(instance.data)
    holds = instance.bound <= proven
    detail = f"counting proves that no schedule takes fewer than {proven} slots; the bound listed is {instance.bound}"
    return BoundCheck(instance=instance.index, holds=holds, detail=detail)

"""The clairvoyant optimum: the least cost of a trace with all of it known, by dynamic programming in integers.

No program can be better, and none can be sure to reach it without foresight. The table goes backwards over the ticks.
For each number of ticks of work left it holds the least cost of finishing where nothing runs, where spot works, and
where on-demand works. A start is decided as a whole: `overhead` ticks and one of work. That loses nothing: a start that
is given up before any work is no better than waiting, which costs less.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from evaluator.task import BoundCheck, Instance
from evaluator.tasks.cant_be_late.rule import ON_DEMAND, PRICES, SPOT, WAIT

_NEVER: Final = 10**9
"""More than any job costs."""


class _LeastCosts(NamedTuple):
    """The least cost of finishing from one tick on, for each number of ticks of work left."""

    idle: list[int]
    spot: list[int]
    on_demand: list[int]


def least_cost(instance: Mapping[str, Any]) -> int:
    """The least cost of a job that meets its deadline. Raises ValueError if none does."""
    cost: int = _table(instance)[0].idle[instance["work"]]
    if cost >= _NEVER:
        raise ValueError(f"no answers meet the deadline: work {instance['work']}, deadline {instance['deadline']}")
    return cost


def best_answers(instance: Mapping[str, Any]) -> list[str]:
    """The answers, tick by tick, of one way to reach `least_cost`."""
    table, lasts = _table(instance), _lasting(instance["spot"])
    overhead = instance["overhead"]
    answers: list[str] = []
    running, left = None, instance["work"]
    while left:
        tick = len(answers)
        here = table[tick]
        if running is not None:
            stays = PRICES[running] + (table[tick + 1].spot if running == SPOT else table[tick + 1].on_demand)[left - 1]
            if stays <= here.idle[left] and (running == ON_DEMAND or lasts[tick]):
                answers.append(running)
                left -= 1
                continue
        options = {WAIT: table[tick + 1].idle[left]}
        for machine in (SPOT, ON_DEMAND):
            options[machine] = _started(table, lasts, tick, machine, overhead)[left]
        running = min(options, key=options.__getitem__)
        if running == WAIT:
            answers.append(WAIT)
            running = None
        else:
            answers += [running] * (overhead + 1)
            left -= 1
    return answers


def _table(instance: Mapping[str, Any]) -> list[_LeastCosts]:
    """The costs from each tick on; the last entry is the deadline."""
    work, deadline, overhead = instance["work"], instance["deadline"], instance["overhead"]
    lasts = _lasting(instance["spot"])
    nothing = [0] + [_NEVER] * work
    table = [_LeastCosts(nothing, nothing, nothing)] * (deadline + 1)
    for tick in range(deadline - 1, -1, -1):
        after = table[tick + 1]
        new_spot = _started(table, lasts, tick, SPOT, overhead)
        new_on_demand = _started(table, lasts, tick, ON_DEMAND, overhead)
        idle = [min(costs) for costs in zip(after.idle, new_spot, new_on_demand, strict=True)]
        on_demand = _going_on(after.on_demand, idle, PRICES[ON_DEMAND])
        spot = _going_on(after.spot, idle, PRICES[SPOT]) if lasts[tick] else idle
        table[tick] = _LeastCosts(idle, spot, on_demand)
    return table


def _started(table: Sequence[_LeastCosts], lasts: Sequence[int], tick: int, machine: str, overhead: int) -> list[int]:
    """The costs with a start at this tick, up to the first tick of work; `_NEVER` where that cannot be."""
    work, end = len(table[tick + 1].idle) - 1, tick + overhead + 1
    if end >= len(table) or (machine == SPOT and lasts[tick] <= overhead):
        return [0] + [_NEVER] * work
    price = (overhead + 1) * PRICES[machine]
    then = table[end].spot if machine == SPOT else table[end].on_demand
    return [0] + [price + cost for cost in then[:-1]]


def _going_on(after: Sequence[int], idle: Sequence[int], price: int) -> list[int]:
    """The costs where a machine works: one more tick of it, or what can be done where nothing runs."""
    return [0] + [min(price + one, other) for one, other in zip(after[:-1], idle[1:], strict=True)]


def _lasting(marks: str) -> list[int]:
    """For each tick how many ticks spot is there from it on, without an end; 0 where it is not there."""
    lasts = [0] * (len(marks) + 1)
    for tick in range(len(marks) - 1, -1, -1):
        lasts[tick] = lasts[tick + 1] + 1 if marks[tick] == "1" else 0
    return lasts[:-1]


def verify(instance: Instance, *, limit_s: float) -> BoundCheck:
    """Whether the listed bound is at most the clairvoyant optimum."""
    if instance.bound is None:
        return BoundCheck(instance=instance.index, holds=False, detail="there is no bound")
    optimum = least_cost(instance.data)
    detail = f"no answers to this trace cost less than {optimum}; the bound listed is {instance.bound}"
    return BoundCheck(instance=instance.index, holds=instance.bound <= optimum, detail=detail)


def place(instance: Instance, *, seconds: float) -> list[str]:
    """The answers of a clairvoyant program; proven to be the best. `seconds` does not matter: it takes a moment."""
    return best_answers(instance.data)

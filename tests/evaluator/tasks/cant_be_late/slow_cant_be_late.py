"""Can't be late judged slowly, from its definition: the whole past is looked at again after every tick."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from evaluator.evaluation import Outcome


def slow_cost(data: Mapping[str, Any], answers: Sequence[Any]) -> int | Outcome:
    """What the answers cost, or what is wrong with the first wrong one (or with their number)."""
    used: list[str] = []
    for tick, mark in enumerate(data["spot"]):
        if tick == len(answers) or repr(answers[tick]) not in ("'spot'", "'on_demand'", "'wait'"):
            return Outcome.INVALID_OUTPUT
        used.append("wait" if (answers[tick], mark) == ("spot", "0") else answers[tick])
        spans = [(name, len(list(ticks))) for name, ticks in groupby(used) if name != "wait"]
        if sum(max(0, ticks - data["overhead"]) for _, ticks in spans) == data["work"]:
            if len(answers) > tick + 1:
                return Outcome.INVALID_OUTPUT
            return sum(ticks * {"spot": 1, "on_demand": 3}[name] for name, ticks in spans)
    return Outcome.INFEASIBLE


def slow_optimum(data: Mapping[str, Any]) -> int | None:
    """The least cost of all answers, tried one after the other; None if none meets the deadline."""
    costs: list[int] = []

    def go_on(answers: list[str]) -> None:
        cost = slow_cost(data, answers)
        if type(cost) is int:
            costs.append(cost)
        elif len(answers) < data["deadline"]:
            for answer in ("spot", "on_demand", "wait"):
                go_on([*answers, answer])

    go_on([])
    return min(costs, default=None)

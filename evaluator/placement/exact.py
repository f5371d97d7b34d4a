"""Exact reasoning about placements: does one attain a value, and is there a strictly better one?

A GPU's pressure is below K = n / d when load + K * size < 80 * K: for a fixed K that is one weight per model and
one capacity per GPU, so a strictly better placement is a bin packing, decided in integers. OR-Tools (the extra
`bounds`) is needed for that and nothing else here.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from evaluator.errors import SandboxError
from evaluator.evaluation import Outcome
from evaluator.placement.judge import GPU_MEM_SIZE, judge
from evaluator.task import Instance

Answer = list[list[Any]]
"""A placement as the judge takes it: [[gpu_id, [model index, ...]], ...]."""


class Search(StrEnum):
    """How a search for a strictly better placement ended."""

    FOUND = "found"
    NONE_EXISTS = "none exists"
    UNKNOWN = "unknown"  # the time was up


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The end of a search; `answer` is the better placement that was found, else None."""

    search: Search
    answer: Answer | None = None


def cost_of(data: Mapping[str, Any], answer: Answer) -> Fraction:
    """The exact cost of a valid placement. Raises ValueError, with the judge's reason, on any other."""
    verdict = judge(Instance(index=0, data=data), answer)
    if verdict.outcome is not Outcome.OK or verdict.cost is None:
        raise ValueError(verdict.detail)
    return verdict.cost


def attains(data: Mapping[str, Any], answer: object, bound: Fraction) -> bool:
    """Whether `answer` is a valid placement whose cost is exactly `bound`."""
    return judge(Instance(index=0, data=data), answer).cost == bound


def fluid_bound(data: Mapping[str, Any]) -> Fraction:
    """What no placement can beat: all models on one GPU of the summed memory, or any one model alone."""
    models = data["models"]
    loads = [Fraction(rate, slo) for _, rate, slo in models]
    alone: Fraction = max(load / (GPU_MEM_SIZE - size) for load, (size, _, _) in zip(loads, models, strict=True))
    free = GPU_MEM_SIZE * data["gpu_num"] - sum(size for size, _, _ in models)
    return max(alone, Fraction(sum(loads), free))


def packing_below(data: Mapping[str, Any], bound: Fraction) -> tuple[list[int], int]:
    """A weight per model and the capacity such that a GPU's cost is < `bound` when its weights sum to <= capacity."""
    loads = [Fraction(rate, slo) for _, rate, slo in data["models"]]
    scale = math.lcm(bound.denominator, *[load.denominator for load in loads])
    unit = bound * scale
    weights = [int(load * scale + unit * size) for load, (size, _, _) in zip(loads, data["models"], strict=True)]
    capacity = int(unit * GPU_MEM_SIZE) - 1
    common = math.gcd(*weights)
    return [weight // common for weight in weights], capacity // common


def strictly_better(
    data: Mapping[str, Any], bound: Fraction, *, limit_s: float, workers: int = 2, seed: int = 0
) -> Proof:
    """A placement with a cost strictly below `bound`, or the proof that none exists, within `limit_s` seconds.

    Raises SandboxError when OR-Tools is not installed.
    """
    weights, capacity = packing_below(data, bound)
    if overflows(weights, capacity, data["gpu_num"]):
        return Proof(search=Search.NONE_EXISTS)
    cp_model = solver_module()
    model = cp_model.CpModel()
    order = sorted(range(len(weights)), key=lambda index: (-weights[index], index))
    # The GPUs are alike: the model at place p of the order may be assumed to be on one of the first p + 1.
    on = [[model.new_bool_var("") for _ in range(min(place + 1, data["gpu_num"]))] for place in range(len(order))]
    for row in on:
        model.add_exactly_one(row)
    for gpu in range(data["gpu_num"]):
        held = [(row[gpu], weights[index]) for row, index in zip(on, order, strict=True) if gpu < len(row)]
        model.add(sum(variable * weight for variable, weight in held) <= capacity)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit_s
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return Proof(search=Search.NONE_EXISTS)
    if status not in (cp_model.FEASIBLE, cp_model.OPTIMAL):
        return Proof(search=Search.UNKNOWN)
    answer: Answer = [[gpu, []] for gpu in range(data["gpu_num"])]
    for row, index in zip(on, order, strict=True):
        gpu = next(gpu for gpu, variable in enumerate(row) if solver.value(variable))
        answer[gpu][1].append(index)
    if cost_of(data, answer) >= bound:
        raise AssertionError(f"the solver's placement is not below {bound}: {answer}")
    return Proof(search=Search.FOUND, answer=answer)


def overflows(weights: Sequence[int], capacity: int, bins: int) -> bool:
    """Whether the items cannot fit by counting alone (the bound L2 of Martello and Toth)."""
    if max(weights) > capacity:
        return True
    for small in [0, *sorted({weight for weight in weights if 2 * weight <= capacity})]:
        # Items above capacity - small share a bin with no item of at least `small`; items above half the
        # capacity are alone among themselves, and what they leave free may be filled by the smaller ones.
        alone = sum(1 for weight in weights if weight > capacity - small)
        large = [weight for weight in weights if capacity < 2 * weight and weight <= capacity - small]
        rest = sum(weight for weight in weights if small <= weight and 2 * weight <= capacity)
        overflow = rest - (len(large) * capacity - sum(large))
        if alone + len(large) + max(0, -(-overflow // capacity)) > bins:
            return True
    return False


def solver_module() -> Any:
    """OR-Tools' CP-SAT. Raises SandboxError when it is not installed."""
    try:
        from ortools.sat.python import cp_model
    except ImportError as cause:
        raise SandboxError(
            f"exact bounds need OR-Tools, which is not installed ({cause}): pip install 'evolve[bounds]'"
        ) from None
    return cp_model

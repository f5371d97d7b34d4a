"""Exact reasoning about placements: does one attain a value, is there a strictly better one, what is the best?

A GPU's pressure is below K = n / d when load + K * size < 80 * K: for a fixed K that is one weight per model and
one capacity per GPU, so a strictly better placement is a bin packing, decided in integers. OR-Tools (the extra
`bounds`) is needed for that and nothing else here.
"""

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from evaluator import Infeasible, InvalidAnswer
from evaluator.errors import EvaluatorError
from evaluator.task import BoundCheck, Instance
from evaluator.tasks.placement import packing, repack
from evaluator.tasks.placement.judge import judge
from evaluator.tasks.placement.recipes import GPU_MEM_SIZE

Answer = list[list[Any]]
"""A placement as the judge takes it: [[gpu_id, [model index, ...]], ...]."""

_BISECTIONS = 12
_SEARCHES = 12
_DENOMINATOR = 10**6  # of the costs that are aimed at
_MODELS_SEARCHED = 120  # beyond it, the solver finds nothing and proves nothing in a useful time


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The end of a search for a strictly better placement: the `answer` that was found; else `impossible` says whether
    it is proven that none exists, or the time was up."""

    answer: Answer | None = None
    impossible: bool = False


def cost_of(data: Mapping[str, Any], answer: Answer) -> Fraction:
    """The exact cost of a valid placement. Raises ValueError, with the judge's reason, on any other."""
    try:
        return judge(data, answer)
    except (InvalidAnswer, Infeasible) as why:
        raise ValueError(str(why)) from None


def fluid_bound(data: Mapping[str, Any]) -> Fraction:
    """What no placement can beat: all models on one GPU of the summed memory, or any one model alone."""
    models = data["models"]
    loads = [Fraction(rate, slo) for _, rate, slo in models]
    alone: Fraction = max(load / (GPU_MEM_SIZE - size) for load, (size, _, _) in zip(loads, models, strict=True))
    free = GPU_MEM_SIZE * data["gpu_num"] - sum(size for size, _, _ in models)
    return max(alone, Fraction(sum(loads), free))


def packing_below(data: Mapping[str, Any], bound: Fraction) -> tuple[list[int], int]:
    """A weight per model and the capacity such that a GPU's cost is < `bound` when its weights sum to <= capacity.
    Sizes may be fractions, as those of a cluster whose GPUs have another memory are."""
    loads = [Fraction(rate, slo) for _, rate, slo in data["models"]]
    sizes = {(bound * size).denominator for size, _, _ in data["models"]}
    scale = math.lcm(bound.denominator, *sizes, *[load.denominator for load in loads])
    unit = bound * scale
    weights = [int(load * scale + unit * size) for load, (size, _, _) in zip(loads, data["models"], strict=True)]
    capacity = int(unit * GPU_MEM_SIZE) - 1
    common = math.gcd(*weights)
    return [weight // common for weight in weights], capacity // common


def strictly_better(data: Mapping[str, Any], bound: Fraction, *, limit_s: float) -> Proof:
    """A placement with a cost strictly below `bound`, or the proof that none exists, within `limit_s` seconds.

    Raises SandboxError when OR-Tools is not installed.
    """
    if len(data["models"]) > _MODELS_SEARCHED:  # counting and repairs say what they can
        impossible = _refuted(data, bound, limit_s)
        return Proof(answer=None if impossible else _balanced_below(data, bound), impossible=impossible)
    weights, capacity = packing_below(data, bound)
    decision = packing.decide(weights, capacity, data["gpu_num"], limit_s=limit_s)
    if decision.bins is None:
        return Proof(impossible=decision.impossible)
    answer = _as_answer(decision.bins)
    if cost_of(data, answer) >= bound:
        raise AssertionError(f"the solver's placement is not below {bound}: {answer}")
    return Proof(answer=answer)


def _refuted(data: Mapping[str, Any], bound: Fraction, limit_s: float) -> bool:
    """Whether counting or prices prove that no placement is below `bound`."""
    return packing.refuted(*packing_below(data, bound), data["gpu_num"], limit_s=limit_s)


def verify(instance: Instance, *, limit_s: float) -> BoundCheck:
    """Proves an instance's bound again: its placement attains what it should, and none is below the bound."""
    holds, detail = _verified(instance, limit_s)
    return BoundCheck(instance=instance.index, holds=holds, detail=detail)


def _verified(instance: Instance, limit_s: float) -> tuple[bool | None, str]:
    """The cheap checks come first, so that a wrong bound is mostly refuted at once."""
    bound = instance.bound
    if bound is None:
        return False, "there is no bound"
    try:
        cost = judge(instance.data, instance.best_answer)
    except (InvalidAnswer, Infeasible) as why:
        return False, f"its placement does not hold: {why}"
    if cost < bound:
        return False, f"its placement costs {_shown(cost)}, which is below the bound {_shown(bound)}"
    if instance.proven and cost != bound:
        return False, f"the optimum is said to be {_shown(bound)}, but its placement costs {_shown(cost)}"
    proof = strictly_better(instance.data, bound, limit_s=limit_s)
    if proof.answer is not None:
        better = cost_of(instance.data, proof.answer)
        return False, f"a placement costs {_shown(better)}, which is below the bound {_shown(bound)}"
    if not proof.impossible:
        return None, f"nothing below {_shown(bound)} was found, nor proven not to exist, within {limit_s:g} s"
    return True, f"{_shown(bound)} is {'the optimum' if cost == bound else 'a lower bound'}"


def _shown(cost: Fraction) -> str:
    return f"{cost} ({float(cost):.9f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The best placement that was found, and a cost that no placement can be below; `proven`: it is the best."""

    answer: Answer
    cost: Fraction
    bound: Fraction

    @property
    def proven(self) -> bool:
        """Whether the placement is optimal."""
        return self.cost == self.bound


def solve(data: Mapping[str, Any], *, limit_s: float) -> Solution:
    """A good placement and a good bound: several searches, each of at most `limit_s` seconds.

    Raises EvaluatorError when no placement was found at all, SandboxError when OR-Tools is not installed.
    """
    best = _start(data, limit_s)
    bound = _bisected(fluid_bound(data), cost_of(data, best), lambda target: _refuted(data, target, limit_s))
    best = _repacked(data, bound, best)
    if len(data["models"]) > _MODELS_SEARCHED:
        return Solution(answer=best, cost=cost_of(data, best), bound=bound)
    unknown = bound  # below this, nothing is known to exist or not to exist
    for _ in range(_SEARCHES):
        cost = cost_of(data, best)
        # Low targets first: the nearer to the bound, the fewer contents of a GPU come into question.
        step = (unknown + (cost - unknown) / 8).limit_denominator(_DENOMINATOR)
        target = step if bound < step < cost and (cost - unknown) * 500 > cost else cost
        proof = strictly_better(data, target, limit_s=limit_s)
        if proof.answer is not None:
            best = proof.answer
        elif proof.impossible:
            bound = max(bound, target)
            unknown = max(unknown, target)
        else:
            unknown = target
        if unknown >= cost:
            break
    return Solution(answer=best, cost=cost_of(data, best), bound=bound)


def place(instance: Instance, *, seconds: float) -> Answer:
    """The best placement that the solver finds in about `seconds` of wall time, from a first one by first fit.

    Raises EvaluatorError when none is found at all, SandboxError when OR-Tools is not installed.
    """
    return placed(instance.data, seconds=seconds).answer


def placed(data: Mapping[str, Any], *, seconds: float) -> Solution:
    """What `place` finds; its bound is the cost where that is proven to be the optimum, else what counting says."""
    packing.solver_module()  # loading it is no part of anybody's time
    deadline = time.monotonic() + seconds
    best = _start(data, seconds)
    bound = fluid_bound(data)
    while (left := deadline - time.monotonic()) > 0:
        proof = strictly_better(data, cost_of(data, best), limit_s=left)
        if proof.answer is None:
            if proof.impossible:
                bound = cost_of(data, best)
            break
        best = proof.answer
    return Solution(answer=best, cost=cost_of(data, best), bound=bound)


def counted_bound(data: Mapping[str, Any], cost: Fraction) -> Fraction:
    """A cost that no placement can be below, by counting alone and without a solver; at most `cost`, which one has."""
    return _bisected(
        fluid_bound(data), cost, lambda target: packing.overflows(*packing_below(data, target), data["gpu_num"])
    )


def _bisected(low: Fraction, high: Fraction, impossible: Callable[[Fraction], bool]) -> Fraction:
    """The largest cost that was found such that nothing is below it; at least `low`, of which that is known."""
    for _ in range(_BISECTIONS):
        target = ((low + high) / 2).limit_denominator(_DENOMINATOR)
        if not low < target < high:
            break
        if impossible(target):
            low = target
        else:
            high = target
    return low


def _improved(
    data: Mapping[str, Any], low: Fraction, best: Answer, found_below: Callable[[Fraction, Answer], Answer | None]
) -> Answer:
    """A better placement than `best` by bisection: `found_below` looks for one below a cost, given the best so far."""
    for _ in range(_BISECTIONS):
        cost = cost_of(data, best)
        target = ((low + cost) / 2).limit_denominator(_DENOMINATOR)
        if not low < target < cost:
            break
        answer = found_below(target, best)
        if answer is None:
            low = target
        else:
            best = answer
    return best


def _start(data: Mapping[str, Any], limit_s: float) -> Answer:
    """A placement by bisection with first fit; by repairs or the solver where first fit finds none at all."""
    # No valid placement costs more than all the load on a GPU with as little left as such fractions can leave.
    parts = math.lcm(*[Fraction(size).denominator for size, _, _ in data["models"]])
    anything = 1 + parts * sum((Fraction(rate, slo) for _, rate, slo in data["models"]), start=Fraction(0))
    best = (
        _first_fit(data, anything)
        or _balanced_below(data, anything)
        or strictly_better(data, anything, limit_s=limit_s).answer
    )
    if best is None:
        raise EvaluatorError(f"no placement at all was found within {limit_s} s")
    return _improved(data, fluid_bound(data), best, lambda target, _: _first_fit(data, target))


def _first_fit(data: Mapping[str, Any], bound: Fraction) -> Answer | None:
    weights, capacity = packing_below(data, bound)
    bins = packing.first_fit(weights, capacity, data["gpu_num"])
    return None if bins is None else _as_answer(bins)


def _balanced_below(data: Mapping[str, Any], bound: Fraction) -> Answer | None:
    """A placement below `bound` by repairing an even one, or None where that finds none."""
    weights, capacity = packing_below(data, bound)
    start = repack.balanced(weights, data["gpu_num"])
    bins = repack.search(weights, capacity, start, _generator(data), attempts=_attempts(data))
    return None if bins is None else _as_answer(bins)


def _repacked(data: Mapping[str, Any], low: Fraction, best: Answer) -> Answer:
    """A better placement than `best` by bisection with repairs in pairs."""
    rng = _generator(data)

    def repaired(target: Fraction, start: Answer) -> Answer | None:
        weights, capacity = packing_below(data, target)
        packed = [held for _, held in start]
        bins = repack.search(weights, capacity, packed, rng, attempts=_attempts(data))
        return None if bins is None else _as_answer(bins)

    return _improved(data, low, best, repaired)


def _attempts(data: Mapping[str, Any]) -> int:
    """Repairs to try for one target: more of a small instance, where one is over in no time."""
    return 2 if len(data["models"]) > _MODELS_SEARCHED else 10


def _generator(data: Mapping[str, Any]) -> random.Random:
    return random.Random(f"repack:{data['gpu_num']}:{len(data['models'])}")


def _as_answer(bins: packing.Bins) -> Answer:
    return [[gpu, sorted(held)] for gpu, held in enumerate(bins)]

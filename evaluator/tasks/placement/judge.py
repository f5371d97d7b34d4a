"""Judging placements: exact, from the pristine instance, believing nothing that the candidate says.

An instance is `{"gpu_num": G, "models": [[size, rate, slo], ...]}` in integers (GB, requests/s, latency target),
perhaps with "names", which are nothing to the judge; an answer is `[[gpu_id, [model index, ...]], ...]`, with a GPU
that is not named being empty. The cost is the largest KV-cache pressure of a GPU, sum(rate / slo) / (80 - sum(size)),
as an exact fraction.
"""

import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from evaluator import Infeasible, InvalidAnswer
from evaluator.evaluation import Verdict
from evaluator.tasks.placement import recipes
from evaluator.tasks.placement.picture import picture
from evaluator.tasks.placement.recipes import GPU_MEM_SIZE

_NAMES_SHOWN = 8


def judge(instance: Mapping[str, Any], answer: object) -> Fraction:
    """The exact cost of one answer. Raises InvalidAnswer or Infeasible for any JSON value that is no placement."""
    models = instance["models"]
    gpu_num = instance["gpu_num"]
    if type(answer) is not list:
        raise InvalidAnswer(f"the answer is {_shown(answer)}, not a list of [gpu_id, [model index, ...]]")
    scale = math.lcm(*[slo for _, _, slo in models])
    where = [-1] * len(models)
    used_by: dict[int, int] = {}
    worst_load, worst_free = 0, 1  # the largest load / free so far; loads in units of 1 / scale
    overfull = -1
    for entry in answer:
        if type(entry) is not list or len(entry) != 2 or type(entry[1]) is not list:
            raise InvalidAnswer(f"the answer holds {_shown(entry)} where [gpu_id, [model index, ...]] is expected")
        gpu, indexes = entry
        if type(gpu) is not int:
            raise InvalidAnswer(f"a GPU id is {_shown(gpu)}; it must be an int from 0 to {gpu_num - 1}")
        if not 0 <= gpu < gpu_num:
            raise InvalidAnswer(f"GPU {_shown(gpu)} does not exist: the ids go from 0 to {gpu_num - 1}")
        if gpu in used_by:
            raise InvalidAnswer(f"GPU {gpu} is listed twice")
        used = load = 0
        for index in indexes:
            if type(index) is not int or not 0 <= index < len(models):
                raise InvalidAnswer(f"GPU {gpu} holds {_shown(index)}, which is none of the {len(models)} models")
            if where[index] >= 0:
                raise InvalidAnswer(_doubled(index, where[index], gpu))
            where[index] = gpu
            size, rate, slo = models[index]
            used += size
            load += rate * (scale // slo)
        used_by[gpu] = used
        free = GPU_MEM_SIZE - used
        if free <= 0:
            overfull = gpu
        elif load * worst_free > worst_load * free:
            worst_load, worst_free = load, free
    if -1 in where:
        raise InvalidAnswer(_left_out([index for index, gpu in enumerate(where) if gpu < 0], len(models)))
    if overfull >= 0:
        raise Infeasible(_overfull(used_by))
    return Fraction(worst_load, worst_free * scale)


def summarise(verdicts: Sequence[Verdict], instances: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The metrics of a program over a suite; a failed instance never helps.

    `combined_score` is 1 + max_kvpr_inverse (1 / mean cost), and that metric is 0 unless every instance succeeded.
    `published_score` averages over the successes only.
    """
    if not verdicts or len(verdicts) != len(instances):
        raise ValueError(f"{len(verdicts)} verdicts for {len(instances)} instances")
    reached = [float(verdict.cost) for verdict in verdicts if verdict.cost is not None]
    success_rate = len(reached) / len(verdicts)
    inverse_of_successes = len(reached) / math.fsum(reached) if reached else 0.0
    inverse = inverse_of_successes if len(reached) == len(verdicts) else 0.0
    return {
        "max_kvpr_inverse": inverse,
        "success_rate": success_rate,
        "combined_score": success_rate + inverse,
        "published_score": success_rate + inverse_of_successes,
    }


def renamed(data: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """The instance with the names that its models have anyway, dealt out anew: none of them looks foreign."""
    names = [f"model_{index}" for index in range(len(data["models"]))]
    return {**data, "names": rng.sample(names, len(names))}


def permuted(data: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """The instance with its models in another order."""
    return {**data, "models": rng.sample(data["models"], len(data["models"]))}


def draw_instance(rng: random.Random, suite: str) -> dict[str, Any]:
    """A new instance of a suite's recipe: of its twin, and of what `evolve score --fresh` draws."""
    return recipes.draw_instance(rng, suite)


def describe(instance: Mapping[str, Any]) -> str:
    """What an instance is like: `9 GPUs, 18 models, 53 % of the memory`."""
    gpu_num, models = instance["gpu_num"], instance["models"]
    filled = sum(size for size, _, _ in models) / (GPU_MEM_SIZE * gpu_num)
    return f"{gpu_num} GPUs, {len(models)} models, {filled:.0%} of the memory".replace("%", " %")


def draw(instance: Mapping[str, Any], answer: Any) -> str:
    """The memory and the pressure of every GPU, as SVG. Raises as `judge` does."""
    judge(instance, answer)
    return picture(instance, answer)


def _shown(value: object) -> str:
    """A short name for an untrusted value. Strings and containers are named by their type only."""
    if type(value) is int:
        return str(value) if abs(value) < 10**12 else "a number far out of range"
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    names = {"list": "a list", "dict": "an object", "str": "a string"}
    return names.get(type(value).__name__, "no JSON value")


def _doubled(index: int, first: int, second: int) -> str:
    if first == second:
        return f"model 'model_{index}' is on GPU {first} twice; each model must be placed exactly once"
    return f"model 'model_{index}' is on GPU {first} and GPU {second}; each model must be placed exactly once"


def _left_out(missing: Sequence[int], total: int) -> str:
    names = ", ".join(f"model_{index}" for index in missing[:_NAMES_SHOWN])
    more = f" and {len(missing) - _NAMES_SHOWN} more" if len(missing) > _NAMES_SHOWN else ""
    return f"{len(missing)} of {total} models left out: {names}{more}"


def _overfull(used_by: dict[int, int]) -> str:
    full = [f"GPU {gpu} holds {used} GB of {GPU_MEM_SIZE}" for gpu, used in used_by.items() if used >= GPU_MEM_SIZE]
    more = f" and {len(full) - 3} GPUs more" if len(full) > 3 else ""
    return f"{', '.join(full[:3])}{more}: the models on a GPU must stay below {GPU_MEM_SIZE} GB"

"""A cluster as an instance of the task `placement`, whose GPUs have 80 GB.

Scaling all sizes by 80 / memory and all loads by a constant does not change which of two placements has less pressure.
So programs for GPUs of 80 GB can place any cluster, and the task's own judge scores the placement exactly.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from evaluator import Infeasible, InvalidAnswer
from evaluator.evaluation import Outcome, Summary, Verdict
from evaluator.task import Instance, Judge, Limits, Suite, Task
from evaluator.tasks.placement.interface import GPU_MEM_SIZE, judge
from evolve.apps.placing.cluster import Cluster, shown_gb
from evolve.review.texts import counted

NAME: Final = "cluster"
Placement = tuple[int, ...]
"""The GPU of each model, in the cluster's order."""

_GRAIN: Final = 2**20  # sizes for programs are multiples of 1 GB / 2**20, so that their sums are exact floats
_MEMORY_MB: Final = 4096
_ANSWER_KB: Final = 2048
_WHOLE: Final = 2**53


def exact_instance(cluster: Cluster) -> dict[str, Any]:
    """The instance for the judge. Its cost is the pressure, in requests per second per unit of the SLO and GB."""
    scale = Fraction(GPU_MEM_SIZE) / cluster.memory
    loads = [model.load * scale for model in cluster.models]
    return {
        "gpu_num": cluster.gpus,
        "models": [
            [_plain(model.size * scale), load.numerator, load.denominator]
            for model, load in zip(cluster.models, loads, strict=True)
        ],
    }


def asked_instance(cluster: Cluster) -> dict[str, Any]:
    """The instance for a program: sizes in 80ths of a GPU, fractions rounded up so that whatever fits for the program
    fits; rates and targets as whole numbers."""
    scale = Fraction(GPU_MEM_SIZE) / cluster.memory
    rates = _whole([model.rate for model in cluster.models])
    slos = _whole([model.slo for model in cluster.models])
    sizes = [_rounded_up(model.size * scale) for model in cluster.models]
    return {
        "gpu_num": cluster.gpus,
        "models": [list(model) for model in zip(sizes, rates, slos, strict=True)],
        "names": [model.name for model in cluster.models],
    }


def cost_of(cluster: Cluster, placement: Sequence[int | None]) -> Fraction:
    """The largest pressure of a placement. Raises InvalidAnswer or Infeasible for an impossible one."""
    return judge(exact_instance(cluster), as_answer(cluster.gpus, placement))


def as_answer(gpus: int, placement: Sequence[int | None]) -> list[Any]:
    """A placement as an answer for the task's judge. A model without a GPU is left out, which the judge refuses."""
    held: list[list[int]] = [[] for _ in range(gpus)]
    for index, gpu in enumerate(placement):
        if gpu is not None:
            held[gpu].append(index)
    return [[gpu, indexes] for gpu, indexes in enumerate(held) if indexes]


def as_placement(models: int, answer: Sequence[Sequence[Any]]) -> Placement:
    """The placement in an answer that the judge accepted."""
    where = [0] * models
    for gpu, indexes in answer:
        for index in indexes:
            where[index] = gpu
    return tuple(where)


def cluster_task(task: Task, cluster: Cluster, *, cpu_s: float) -> tuple[Task, Suite]:
    """The task `placement` with this cluster as its only suite, and that suite. A program may use `cpu_s`."""
    limits = Limits(cpu_per_instance_s=cpu_s, cpu_total_s=cpu_s, memory_mb=_MEMORY_MB, answer_kb=_ANSWER_KB)
    asked = Instance(index=0, data=asked_instance(cluster))
    suite = Suite(name=NAME, instances=(asked,), limits=limits, digest="")
    return replace(task, judge=ClusterJudge(cluster), suites={NAME: lambda: suite}, default_suite=NAME), suite


class ClusterJudge(Judge):
    """Judges answers for a cluster by the task's own judge, with exact sizes and loads."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._exact = exact_instance(cluster)

    def judge(self, instance: Instance, answer: object) -> Verdict:
        """The verdict on one answer; its cost is the largest pressure."""
        try:
            return Verdict(outcome=Outcome.OK, cost=judge(self._exact, answer))
        except InvalidAnswer as why:
            return Verdict(outcome=Outcome.INVALID_OUTPUT, detail=str(why))
        except Infeasible:
            return Verdict(outcome=Outcome.INFEASIBLE, detail="the models on a GPU take all of its memory, or more")

    def summarise(self, verdicts: Sequence[Verdict], instances: Sequence[Instance]) -> Summary:
        """The inverse of the pressure; 0 for a program that places nothing."""
        cost = verdicts[0].cost
        return Summary(score=float(1 / cost) if cost else 0.0, published_score=None, metrics={})

    def describe(self, instance: Instance) -> str:
        """`16 GPUs of 80 GB, 60 models`."""
        return description(self._cluster)


def description(cluster: Cluster) -> str:
    """`16 GPUs of 80 GB, 60 models`."""
    return f"{counted(cluster.gpus, 'GPU')} of {shown_gb(cluster.memory)}, {counted(len(cluster.models), 'model')}"


def _whole(values: Sequence[Fraction]) -> Sequence[int | float]:
    """The values times a common factor that makes them whole; as floats if those would be too large."""
    common = math.lcm(*(value.denominator for value in values))
    whole = [int(value * common) for value in values]
    return whole if max(whole) < _WHOLE else [float(value) for value in values]


def _rounded_up(size: Fraction) -> int | float:
    return size.numerator if size.denominator == 1 else math.ceil(size * _GRAIN) / _GRAIN


def _plain(size: Fraction) -> int | Fraction:
    return size.numerator if size.denominator == 1 else size

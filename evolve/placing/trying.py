"""Programs tried on a cluster, fastest first, until the time is up; the best answer that came counts."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from evaluator.certificate import KeptAnswers
from evaluator.errors import EvaluationCancelled
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task import Task
from evaluator.waiting import threads
from evolve.placing.cluster import Cluster
from evolve.placing.instance import Placement, as_placement, cluster_task


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A program and what it is called."""

    name: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What became of one program: its pressure and placement, or why it has none. `cut_off`: the time was up."""

    name: str
    seconds: float
    pressure: Fraction | None = None
    placement: Placement | None = None
    detail: str = ""
    cut_off: bool = False


@dataclass(slots=True)
class _UnderWay:
    """When each program began, for those that are cut off."""

    began: dict[str, float] = field(default_factory=dict)


def try_programs(
    task: Task,
    cluster: Cluster,
    programs: Sequence[Contender],
    *,
    seconds: float,
    workers: int,
    heard: Callable[[Reached], None],
    opened: Callable[[str], None],
    demands: dict[str, Any],
) -> list[Reached]:
    """Each program's end, in the order given. They begin in that order, several at a time; what has not answered after
    `seconds` of wall time is cut off. `heard` is told of each that ended, `opened` of the sandbox's level.

    Raises SandboxError and HarnessError for the machine.
    """
    variant, suite = cluster_task(task, cluster, cpu_s=seconds + 1)
    ended: dict[str, Reached] = {}
    under_way = _UnderWay()
    with SandboxedEvaluator(variant, suite, workers=workers, **demands) as evaluator:
        opened(evaluator.sandbox)
        until = time.monotonic() + seconds
        with threads(workers, cancel=evaluator.cancel) as pool:
            futures = [pool.submit(_try, evaluator, cluster, program, under_way) for program in programs]
            for future in pool.settled(futures, within_s=until - time.monotonic()):
                tried = future.result()
                ended[tried.name] = tried
                heard(tried)
            evaluator.cancel()  # ends those under way, and each that begins now
            for future in futures:
                try:
                    tried = future.result()
                except EvaluationCancelled:
                    continue
                ended.setdefault(tried.name, tried)
    return [ended.get(program.name) or _cut_off(program, under_way, until) for program in programs]


def _try(evaluator: SandboxedEvaluator, cluster: Cluster, program: Contender, under_way: _UnderWay) -> Reached:
    began = under_way.began[program.name] = time.monotonic()
    kept = KeptAnswers()
    evaluation = evaluator.evaluate(program.source, kept=kept)
    result, took = evaluation.results[0], time.monotonic() - began
    if result.cost is None or not kept.texts:
        detail = result.detail or evaluation.detail.strip().rpartition("\n")[2] or str(evaluation.outcome)
        return Reached(name=program.name, seconds=took, detail=detail)
    placement = as_placement(len(cluster.models), json.loads(kept.texts[0]))
    return Reached(name=program.name, seconds=took, pressure=result.cost, placement=placement)


def _cut_off(program: Contender, under_way: _UnderWay, until: float) -> Reached:
    began = under_way.began.get(program.name)
    if began is None or began >= until:
        return Reached(name=program.name, seconds=0.0, detail="not begun: the time was up", cut_off=True)
    took = until - began
    return Reached(name=program.name, seconds=took, detail=f"cut off after {took:.1f} s", cut_off=True)

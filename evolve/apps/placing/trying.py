"""Programs tried on a cluster, fastest first, until the time is up; the best answer counts."""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from evaluator.certificate import KeptAnswers
from evaluator.errors import EvaluationCancelled
from evaluator.evaluator import SandboxedEvaluator
from evaluator.program_files import Files
from evaluator.sandbox.options import SandboxOptions
from evaluator.task import Task
from evaluator.waiting import threads
from evolve.apps.placing.cluster import Cluster
from evolve.apps.placing.instance import Placement, as_placement, cluster_task
from evolve.archive.reader import RunReader
from evolve.core.config import available_cores
from evolve.core.errors import InputError
from evolve.core.files import read_program
from evolve.review.curves import cpu_seconds
from evolve.review.runs import resolve_run

_MEASURED_ON: Final = "fleet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A program and its name."""

    name: str
    program: Files


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The result of a program: its pressure and placement, or why it has none. `cut_off`: the time was up."""

    name: str
    seconds: float
    pressure: Fraction | None = None
    placement: Placement | None = None
    detail: str = ""
    cut_off: bool = False


def shipped(task: Task) -> list[Contender]:
    """The initial program, the baselines and the families of the task: the fastest first, as measured on the largest
    shipped instances, and those without a measurement last."""
    folder = task.initial.parent
    files = [task.initial, *sorted((folder / "baselines").glob("*.py")), *sorted((folder / "families").glob("*.py"))]
    cpu_s = cpu_seconds(task.name, _MEASURED_ON)
    files.sort(key=lambda path: cpu_s.get(path.relative_to(folder).with_suffix("").as_posix(), math.inf))
    return [Contender(name=path.stem, program=read_program(path, task)) for path in files]


def named(name: str, task: Task) -> Contender:
    """The program in a file, or in a run as `RUN:PROGRAM`. Raises InputError and ArchiveError."""
    run, colon, program = name.rpartition(":")
    if not colon or Path(name).is_file():
        return Contender(name=name, program=read_program(Path(name), task))
    with RunReader.open(resolve_run(run)) as archive:
        if archive.identity["task"] != task.name:
            raise InputError(
                f"{run} is a run of the task {archive.identity['task']!r}; only programs of placement can place models"
            )
        return Contender(name=name, program=archive.files(archive.find(program)))


def try_programs(
    task: Task,
    cluster: Cluster,
    programs: Sequence[Contender],
    *,
    seconds: float,
    heard: Callable[[Reached], None],
    opened: Callable[[str], None],
    confined: SandboxOptions,
) -> list[Reached]:
    """The result of each program, in the order given. They begin in that order, several at a time; a program without
    an answer after `seconds` of wall time is cut off. `heard` gets each result, `opened` the sandbox's level.

    Raises SandboxError and HarnessError for the machine.
    """
    variant, suite = cluster_task(task, cluster, cpu_s=seconds + 1)
    workers = min(available_cores(), len(programs))
    ended: dict[str, Reached] = {}
    began: dict[str, float] = {}  # of each program, for those that are cut off
    with SandboxedEvaluator(variant, suite, workers=workers, confined=confined) as evaluator:
        opened(evaluator.sandbox)
        until = time.monotonic() + seconds
        with threads(workers, cancel=evaluator.cancel) as pool:
            futures = [pool.submit(_try, evaluator, cluster, program, began) for program in programs]
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
    return [ended.get(program.name) or _cut_off(program, began.get(program.name), until) for program in programs]


def _try(evaluator: SandboxedEvaluator, cluster: Cluster, program: Contender, begun: dict[str, float]) -> Reached:
    began = begun[program.name] = time.monotonic()
    kept = KeptAnswers()
    evaluation = evaluator.evaluate(program.program, kept=kept)
    result, took = evaluation.results[0], time.monotonic() - began
    if result.cost is None or not kept.texts:
        detail = result.detail or evaluation.detail.strip().rpartition("\n")[2] or str(evaluation.outcome)
        return Reached(name=program.name, seconds=took, detail=detail)
    placement = as_placement(len(cluster.models), json.loads(kept.texts[0]))
    return Reached(name=program.name, seconds=took, pressure=result.cost, placement=placement)


def _cut_off(program: Contender, began: float | None, until: float) -> Reached:
    if began is None or began >= until:
        return Reached(name=program.name, seconds=0.0, detail="not begun: the time was up", cut_off=True)
    took = until - began
    return Reached(name=program.name, seconds=took, detail=f"cut off after {took:.1f} s", cut_off=True)

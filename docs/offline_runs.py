"""Offline runs for the tables of `programs/README.md`: makes them, and reads their results.

Per suite there is a run for each of `SEEDS`, of `GENERATIONS` proposals, in `<runs>/<task>-<suite>-<seed>`. A result is
plain data; it records judge, instances, initial program and ingredients.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evaluator.task import Suite, Task
from evaluator.version import version_of
from evolve.archive.archive import Archive
from evolve.archive.reader import RunReader
from evolve.cli.conduct import conduct
from evolve.core.config import Config
from evolve.core.files import read_source
from evolve.core.program import normalised_hash
from evolve.core.settings import configured
from evolve.lang.languages import language_of_task
from evolve.loop.session import new_session, resumed_session
from evolve.search.stopping import StopReason
from evolve.trust import stored_config

GENERATIONS: Final = 100
SEEDS: Final = (0, 1, 2)
_FINISHED: Final = frozenset({StopReason.GENERATIONS, StopReason.CEILING, StopReason.UNCONFIRMED})
_OF_THE_MACHINE: Final = frozenset({"parallel", "workers"})
_IN_THE_IDENTITY: Final = frozenset({"task", "suite"})
"""A configuration may leave out the suite."""


class NotUsable(Exception):
    """Raised when a folder has no result for the tables: the message says why."""


def folder_of(runs: Path, task: Task, suite: Suite, seed: int) -> Path:
    """Where the run lies."""
    return runs / f"{task.name}-{suite.name}-{seed}"


def search(runs: Path, task: Task, suite: Suite, seed: int) -> int:
    """Begin the run, or go on with it unless it has ended. Returns the exit code of the command `run`."""
    folder = folder_of(runs, task, suite, seed)
    if not folder.exists():
        with new_session(_wanted(task, suite, seed), folder) as session:
            return conduct(session)
    with RunReader.open(folder) as archive:
        if archive.finished in _FINISHED:
            return 0
    with resumed_session(folder) as session:
        return conduct(session)


def result(runs: Path, task: Task, suite: Suite, seed: int) -> dict[str, Any]:
    """The result of a run. Raises NotUsable, ArchiveError."""
    folder = folder_of(runs, task, suite, seed)
    if not folder.exists():
        raise NotUsable("there is no such run")
    with RunReader.open(folder) as archive:
        _require(archive, task, suite, seed)
        best = archive.best
        held_out = None if best is None else archive.held_out_scores.get(best.generation)
        evaluations = [archive.evaluation(program) for program in archive.programs]
        return {
            "seed": seed,
            **conditions(task, suite),
            "ingredients": ingredients_digest(task),
            "parallel": stored_config(archive).parallel,
            "finished": archive.finished,
            "programs": len(archive.programs),
            "value": None if best is None else best.value,
            "overfitted": best is not None and best.overfitted is not None,
            "held_out": None
            if held_out is None
            else {
                "suite": held_out.suite,
                "evaluator_version": archive.identity["held_out"],
                "value": held_out.value if held_out.correct else None,
            },
            # Of recorded evaluations only: re-evaluation and held-out scoring have no record of their CPU.
            "cpu_s": round(sum(result.cpu_s for evaluation in evaluations for result in evaluation.results), 1),
        }


def conditions(task: Task, suite: Suite) -> dict[str, Any]:
    """What must be unchanged for a kept result to be shown."""
    return {
        "generations": GENERATIONS,
        "evaluator_version": version_of(task, suite),
        "suite_digest": suite.digest,
        "initial": normalised_hash(read_source(task.initial), language_of_task(task)),
    }


def why_refused(kept: Mapping[str, Any], task: Task, suite: Suite) -> str | None:
    """Why a kept result cannot be shown any more, in words; None where it can."""
    changed = [key for key, now in conditions(task, suite).items() if kept.get(key) != now]
    return f"{', '.join(changed)} changed since it was measured" if changed else None


def without_stale_held_out(kept: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """A kept result without its held-out score, if the held-out suite or its evaluator has changed."""
    held_out = kept["held_out"]
    names = {held_out["suite"]} & task.suites.keys() if held_out is not None else set()
    same = all(version_of(task, task.suite(name)) == held_out["evaluator_version"] for name in names)
    return {**kept, "held_out": held_out if names and same else None}


def ingredients_digest(task: Task) -> str:
    """The digest of the task's ingredients, without their comments."""
    files = [] if task.ingredients is None else sorted(task.ingredients.glob("*.py"))
    parts = [f"{path.name} {normalised_hash(read_source(path), language_of_task(task))}" for path in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _wanted(task: Task, suite: Suite, seed: int) -> Config:
    values = {"task": task.name, "suite": suite.name, "seed": seed, "generations": GENERATIONS, "parallel": 1}
    return configured(None, values=values, origin="docs/offline_runs.py")


def _require(archive: Archive, task: Task, suite: Suite, seed: int) -> None:
    """Raise NotUsable unless this is a complete run as the tables need it."""
    identity, now = archive.identity, conditions(task, suite)
    wanted = {"task": task.name, "suite": suite.name, "seed": seed}
    wanted |= {key: now[key] for key in ("evaluator_version", "initial")}
    other = [
        f"{key} is {identity.get(key)}, not {value}" for key, value in wanted.items() if identity.get(key) != value
    ]
    has, wants = (config.model_dump(mode="json") for config in (stored_config(archive), _wanted(task, suite, seed)))
    compared = wants.keys() - _OF_THE_MACHINE - _IN_THE_IDENTITY
    other += [f"{key} is {has[key]}, not {wants[key]}" for key in sorted(compared) if has[key] != wants[key]]
    if other:
        raise NotUsable("; ".join(dict.fromkeys(other)))
    if archive.finished not in _FINISHED:
        raise NotUsable(f"it is not finished ({archive.finished or 'under way, or cut off'})")

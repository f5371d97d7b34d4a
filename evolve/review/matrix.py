"""Instances by programs: what the initial program and each new best cost on every instance, beside its bound."""

from functools import cache
from typing import Any

from evaluator.errors import TaskError
from evaluator.task import Suite, Task
from evaluator.task_files import built_in_tasks, load_task
from evolve.archive.archive import Archive
from evolve.review.generations import new_bests
from evolve.review.scores import finite


def shipped_task(archive: Archive) -> Task | None:
    """The task of a run, where it ships with evolve: reading an archive runs none of its code, and a task is code."""
    return _shipped(archive.identity["task"])


@cache
def _shipped(name: str) -> Task | None:
    return load_task(name) if name in built_in_tasks() else None


def suite_of(archive: Archive, task: Task | None) -> Suite | None:
    """The suite that scored a run; None where it cannot be had."""
    try:
        return None if task is None else task.suite(archive.identity["suite"])
    except TaskError:  # an archive may name a suite that this version does not have: then no bound is known
        return None


def matrix(archive: Archive, task: Task | None) -> dict[str, Any]:
    """The costs of the initial program and of each new best, a list each, by instance; `bounds` and `names` where the
    suite is at hand and has as many instances. `finite` numbers or None."""
    programs = [program for program in archive.programs if not program.parents][:1]
    programs += [program for program in new_bests(archive.programs) if program not in programs]
    evaluations = [archive.evaluation(program) for program in programs]
    count = max((len(one.results) for one in evaluations), default=0)
    suite = suite_of(archive, task)
    known = suite.instances if suite is not None and len(suite.instances) == count else ()
    return {
        "indices": list(range(count)),
        "names": [task.judge.describe(instance) for instance in known] if task is not None else [],
        "bounds": [finite(instance.bound) for instance in known] if known else [None] * count,
        "proven": [instance.proven for instance in known] if known else [False] * count,
        "columns": [program.generation for program in programs],
        "costs": [[finite(result.cost) for result in one.results] for one in evaluations],
        "outcomes": [[result.outcome.value for result in one.results] for one in evaluations],
        "direction": evaluations[-1].objective.per_instance.value if evaluations else None,
    }

"""Instances by programs: what the initial program and each new best cost on every instance, beside its bound."""

from typing import Any

from evaluator.task import Suite, Task
from evolve.archive.archive import Archive
from evolve.archive.truth import installed
from evolve.review.generations import new_bests
from evolve.review.scores import finite


def judge_of(archive: Archive) -> tuple[Task, Suite] | None:
    """The task and the suite of a run where they ship with evolve and are those that scored it: reading an archive runs
    none of its code, and a task is code. None where bounds, names and pictures cannot be had."""
    identity = archive.identity
    known = installed(str(identity["task"]), str(identity["suite"]))
    if known is None or known[2] != identity.get("evaluator_version"):
        return None
    return known[0], known[1]


def matrix(archive: Archive) -> dict[str, Any]:
    """The costs of the initial program and of each new best, a list each, by instance, with `bounds` and `names` where
    they can be had. Programs that an earlier judge scored are left out."""
    current = [program for program in archive.programs if not program.stale]
    bests = new_bests(current)
    programs = [*(program for program in current[:1] if program not in bests), *bests]
    evaluations = [archive.evaluation(program) for program in programs]
    count = max((len(one.results) for one in evaluations), default=0)
    judge = judge_of(archive)
    known = () if judge is None or len(judge[1].instances) != count else judge[1].instances
    return {
        "indices": list(range(count)),
        "names": [] if judge is None else [judge[0].judge.describe(instance) for instance in known],
        "bounds": [finite(instance.bound) for instance in known] if known else [None] * count,
        "proven": [instance.proven for instance in known] if known else [False] * count,
        "columns": [program.generation for program in programs],
        "costs": [[finite(result.cost) for result in one.results] for one in evaluations],
        "outcomes": [[result.outcome.value for result in one.results] for one in evaluations],
        "direction": evaluations[-1].objective.per_instance.value if evaluations else None,
    }

"""Measures the complete programs of a task for the second table of `programs/README.md`; `docs/tables.py` calls it.

Rows are the initial program, the baselines and the programs of `families/`. A program is scored again on a suite only
when its file or the evaluator of that suite changed: the record has the digest of the file and the version of the
evaluator.
"""

import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evaluator.evaluation import Evaluation, Outcome
from evaluator.opening import open_evaluator
from evaluator.task import Suite, Task
from evaluator.version import version_of
from evolve.core.errors import InputError
from evolve.core.files import read_source
from evolve.review.verdict import peers_of
from tests.builders import one_file


def programs_of(task: Task) -> dict[str, Path]:
    """The rows of the table by name (`initial`, `baselines/naive`, `families/annealing`): none without families."""
    folder = task.initial.parent
    families = sorted((folder / "families").glob(f"*{task.initial.suffix}"))
    paths = [*peers_of(task).values(), *families] if families else []
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in paths}


def measured(
    task: Task, suite: Suite, kept: Mapping[str, Any], keep: Callable[[Mapping[str, Any]], None]
) -> dict[str, Any]:
    """The results on a suite by name of the program: those of `kept` that are current, the rest measured again.
    After each program `keep` gets all current results, so that an interrupted measurement goes on where it stopped.
    Raises InputError for a program that is quarantined."""
    programs = programs_of(task)
    stale = set(outdated(task, suite, kept)) & set(programs)
    if not stale:
        return {name: kept[name] for name in programs}
    results = {name: kept[name] for name in programs if name not in stale}
    with open_evaluator(task, suite, workers=1) as evaluator:
        for name, path in programs.items():
            if name not in stale:
                continue
            sys.stderr.write(f"  {name}\n")
            source = read_source(path)
            evaluation = evaluator.evaluate(one_file(source))
            if evaluation.quarantine is not None:
                raise InputError(f"{path}: quarantined on {task.name}/{suite.name}: {evaluation.quarantine}")
            results[name] = _of_program(source, task, suite) | _result(evaluation)
            keep(results)
    return {name: results[name] for name in programs}


def outdated(task: Task, suite: Suite, kept: Mapping[str, Any]) -> dict[str, str]:
    """Why the result of a program is out of date, by its name; also for a program that is gone or new."""
    programs = programs_of(task)
    why = {name: "there is no such program" for name in kept if name not in programs}
    for name, path in programs.items():
        if name not in kept:
            why[name] = "not in the table"
            continue
        now = _of_program(read_source(path), task, suite)
        changed = [key for key in now if kept[name].get(key) != now[key]]
        if changed:
            why[name] = f"{' and '.join(changed)} changed since it was measured"
    return why


def _of_program(source: str, task: Task, suite: Suite) -> dict[str, str]:
    """The program and the evaluator that a result belongs to."""
    digest = hashlib.sha256(source.encode()).hexdigest()
    return {"program": digest[:16], "evaluator_version": version_of(task, suite)}


def _result(evaluation: Evaluation) -> dict[str, Any]:
    """What the table shows of an evaluation; `cpu_s` is of the machine that measured it."""
    return {
        "score": evaluation.combined_score,
        "ceiling": evaluation.ceiling,
        "optimality": evaluation.metrics.get("optimality"),
        "answered": sum(result.outcome is Outcome.OK for result in evaluation.results),
        "cpu_s": round(evaluation.runtime_s, 4),
    }

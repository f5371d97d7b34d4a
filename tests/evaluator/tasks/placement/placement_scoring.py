"""Runs a program in this process, without a sandbox: for our own programs only."""

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluator.evaluation import Outcome, Summary, Verdict
from evaluator.task import Instance, Suite
from evaluator.task_files import load_task
from evaluator.tasks.placement import adapter

PROGRAMS = Path(__file__).resolve().parents[4] / "programs" / "placement"

judge = load_task("placement").judge
Place = Callable[[int, list[Any]], Any]


def program(name: str) -> Place:
    """The entry point of a program that ships with the task: `initial`, `baselines/naive`."""
    entry: Place = runpy.run_path(str(PROGRAMS / f"{name}.py"))["compute_model_placement"]
    return entry


def verdict_on(place: Place, instance: Instance) -> Verdict:
    """One instance as the runner does it: adapter, call, encode, JSON, judge."""
    arguments, encode = adapter.prepare(json.loads(json.dumps(dict(instance.data))))
    try:
        result = place(*arguments)
    except Exception as error:  # noqa: BLE001 - boundary: a candidate may raise anything
        return Verdict(outcome=Outcome.EXCEPTION, detail=str(error))
    try:
        answer = encode(result)
    except ValueError as error:
        return Verdict(outcome=Outcome.INVALID_OUTPUT, detail=str(error))
    return judge.judge(instance, json.loads(json.dumps(answer)))


def score(place: Place, suite: Suite) -> tuple[Summary, list[Verdict]]:
    """The summary of a program over a suite, and its verdicts."""
    verdicts = [verdict_on(place, instance) for instance in suite.instances]
    return judge.summarise(verdicts, suite.instances), verdicts

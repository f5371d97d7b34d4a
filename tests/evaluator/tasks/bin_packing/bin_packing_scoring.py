"""Runs a rule in this process, without a sandbox, as the runner does it: for our own programs only."""

import json
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evaluator.task import Suite
from evaluator.task_files import load_task
from evaluator.tasks.bin_packing import adapter

PROGRAMS = Path(__file__).resolve().parents[4] / "programs" / "bin_packing"
TASK = load_task("bin_packing")
Place = Callable[[int, int, list[int]], Any]


def program(name: str) -> Place:
    """The entry point of a program that ships with the task: `initial`, `baselines/best_fit`."""
    entry: Place = runpy.run_path(str(PROGRAMS / f"{name}.py"))["place"]
    return entry


def answers_of(place: Place, data: Mapping[str, Any]) -> list[int]:
    """What a rule answers to the items of an instance, through the adapter."""
    prepare = adapter.begin({"item": data["items"][0], "capacity": data["capacity"]})
    answers = []
    for item in data["items"]:
        arguments, encode = prepare({"item": item})
        answers.append(json.loads(json.dumps(encode(place(*arguments)))))
    return answers


def excess(place: Place, suite: Suite) -> tuple[float, float]:
    """Excess in per cent and mean number of bins of a rule over a suite, by the judge."""
    verdicts = [TASK.judge.judge(instance, answers_of(place, instance.data)) for instance in suite.instances]
    metrics = TASK.judge.summarise(verdicts, suite.instances).metrics
    return metrics["excess_percent"], metrics["mean_bins"]

"""Programs on fresh instances, next to the initial program and the baselines: behind `evolve score --fresh`."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

from evaluator.evaluation import Evaluation
from evaluator.fresh import compared
from evaluator.objective import Objective
from evaluator.task import Suite, Task
from evolve.review.scores import metric_text, value_text
from evolve.review.table import Cell, Fit, Table, TableOf, Tone, objective_title

NO_BOUND: Final = "Fresh instances have no known optimum: costs are compared exactly."
_BASELINES: Final = "baselines"


def peers_of(task: Task) -> dict[str, Path]:
    """The programs to compare with, by name: the task's initial program first, then its baselines."""
    baselines = sorted((task.initial.parent / _BASELINES).glob(f"*{task.initial.suffix}"))
    return {"initial program": task.initial} | {f"baseline {path.stem}": path for path in baselines}


def rows(evaluations: Mapping[str, Evaluation], initial: str, suite: Suite, seed: str) -> list[dict[str, Any]]:
    """A row per program: the keys of `evolve score --fresh --json`."""
    return [_row(name, found, evaluations[initial], suite, seed) for name, found in evaluations.items()]


def _row(name: str, found: Evaluation, initial: Evaluation, suite: Suite, seed: str) -> dict[str, Any]:
    comparison = compared([result.cost for result in initial.results], found, suite)
    better, equal, worse = comparison.tally
    pairs = zip(found.results, comparison.initial, strict=True)
    return {
        "program": name,
        "task": found.task,
        "suite": suite.name,
        "seed": seed,
        "instances": len(suite.instances),
        "correct": found.correct,
        "outcome": found.outcome.value,
        "combined_score": found.combined_score,
        "metric": found.objective.metric,
        "value": found.value,
        "mean_cost": _mean([result.cost for result in found.results]),
        "against_initial": {"better": better, "equal": equal, "worse": worse},
        "results": [
            {
                "instance": result.instance,
                "outcome": result.outcome.value,
                "cost": None if result.cost is None else str(result.cost),
                "initial_cost": None if before is None else str(before),
            }
            for result, before in pairs
        ],
        "sandbox": found.sandbox,
    }


def table(found: Sequence[Mapping[str, Any]], objective: Objective) -> Table:
    """The rows on a screen, each value as the task's own metric."""
    table = TableOf(found)
    table.column("program", lambda row: str(row["program"]), fit=Fit.FOLD)
    table.column(objective_title(objective), _value_cell, number=True)
    table.column("mean", lambda row: metric_text(row["mean_cost"]), number=True)
    for name in ("better", "equal", "worse"):
        table.column(name, partial(_count, name), number=True)
    table.column("outcome", lambda row: Cell(row["outcome"], Tone.PLAIN if row["correct"] else Tone.BAD))
    return table.table()


def _value_cell(row: Mapping[str, Any]) -> Cell:
    return Cell(value_text(row["value"]), Tone.STRONG if row["correct"] else Tone.BAD)


def _count(name: str, row: Mapping[str, Any]) -> str:
    return str(row["against_initial"][name])


def _mean(costs: Sequence[Fraction | None]) -> float | None:
    """The mean of what the judge returned, in the task's own direction; None where an instance failed."""
    present = [cost for cost in costs if cost is not None]
    return float(sum(present) / len(present)) if present and len(present) == len(costs) else None

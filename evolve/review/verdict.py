"""Evaluations as rows and sentences: the plain values behind `evolve score`, also with `--fresh`."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

from evaluator.evaluation import Evaluation, Outcome, StrictReport
from evaluator.fresh import compared
from evaluator.objective import Objective
from evaluator.task import Suite, Task
from evolve.review.scores import metric_text, score_json, value_text
from evolve.review.table import Cell, Fit, Table, TableOf, Tone, objective_title, outcome_cell


def failures(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The instances that failed, in order, each with its sentence."""
    return [
        {"instance": result.instance, "outcome": result.outcome.value, "detail": result.detail}
        for result in evaluation.results
        if result.outcome is not Outcome.OK
    ]


def score_row(program: str, evaluation: Evaluation, *, strict: bool = False) -> dict[str, Any]:
    """One program: the keys of `evolve score --json`. `strict`: with the result of strict re-evaluation, None if there
    was nothing to examine."""
    report = evaluation.strict
    examined = {"strict": None if report is None else report.to_json()} if strict else {}
    row = {"program": program, "task": evaluation.task, "suite": evaluation.suite} | score_json(evaluation)
    verdict = {
        "published_score": evaluation.published_score,
        "quarantine": evaluation.quarantine,
        "failures": failures(evaluation),
        "sandbox": evaluation.sandbox,
    }
    return row | verdict | examined


def strict_cell(report: StrictReport | None) -> Cell:
    """The result of strict re-evaluation: `agrees`, or what the program depends on; `-` if it was not examined."""
    if report is None:
        return Cell("-")
    if report.classification is None:
        skipped = f" (not checked: {', '.join(report.skipped)})" if report.skipped else ""
        varies = f"; {report.detail}" if report.detail else ""
        return Cell(f"agrees{skipped}{varies}", Tone.PLAIN if varies else Tone.GOOD)
    return Cell(report.classification.value.replace("_", " "), Tone.BAD)


def strict_text(report: StrictReport | None) -> str | None:
    """`agrees`, or what the program depends on; None if it was not examined."""
    if report is None:
        return None
    return "agrees" if report.classification is None else report.classification.value


def scores_table(programs: Sequence[str], evaluations: Sequence[Evaluation], *, strict: bool = False) -> Table:
    """The verdicts on several programs, in the order given; `strict`: with the results of strict re-evaluation."""
    table = TableOf(zip(programs, evaluations, strict=True))
    table.column("program", lambda row: row[0], fit=Fit.FOLD)
    table.score_columns(lambda row: row[1])
    table.metric_columns(lambda row: row[1])
    if strict:
        table.column("strict", lambda row: strict_cell(row[1].strict), fit=Fit.FOLD)
    table.column("outcome", lambda row: outcome_cell(row[1]))
    return table.table()


def why_not(evaluation: Evaluation, *, shown: int = 3) -> list[str]:
    """Why a program does not count, a text for each reason: its quarantine, its failure, the first failing instances.

    The first failure is given in full, perhaps with a traceback of several lines, further ones in a sentence each.
    Instances that were not run because the program had died before are only counted.
    """
    reasons = []
    if evaluation.quarantine is not None:
        reasons.append(f"quarantined, so the score does not count: {evaluation.quarantine}")
    if evaluation.outcome is Outcome.OK:
        return reasons
    reasons.append(f"{evaluation.outcome.value}: {evaluation.detail}")
    failed = [result for result in evaluation.results if result.outcome not in (Outcome.OK, Outcome.NOT_RUN)]
    reasons += [f"instance {result.instance}: {result.outcome.value}: {result.detail}" for result in failed[1:shown]]
    if len(failed) > shown:
        reasons.append(f"and {len(failed) - shown} more of {len(evaluation.results)} instances failed")
    not_run = sum(result.outcome is Outcome.NOT_RUN for result in evaluation.results)
    if not_run and failed:
        reasons.append(f"{not_run} instances were not run after that, and count as failed")
    return reasons


NO_BOUND: Final = "Fresh instances have no known optimum: costs are compared exactly."
_BASELINES: Final = "baselines"


def peers_of(task: Task) -> dict[str, Path]:
    """The programs to compare with, by name: the task's initial program first, then its baselines."""
    baselines = sorted((task.initial.parent / _BASELINES).glob(f"*{task.initial.suffix}"))
    return {"initial program": task.initial} | {f"baseline {path.stem}": path for path in baselines}


def fresh_rows(evaluations: Mapping[str, Evaluation], initial: str, suite: Suite, seed: str) -> list[dict[str, Any]]:
    """A row per program: the keys of `evolve score --fresh --json`."""
    return [_fresh_row(name, evaluation, evaluations[initial], suite, seed) for name, evaluation in evaluations.items()]


def _fresh_row(name: str, evaluation: Evaluation, initial: Evaluation, suite: Suite, seed: str) -> dict[str, Any]:
    comparison = compared([result.cost for result in initial.results], evaluation, suite)
    better, equal, worse = comparison.tally
    pairs = zip(evaluation.results, comparison.initial, strict=True)
    return {
        "program": name,
        "task": evaluation.task,
        "suite": suite.name,
        "seed": seed,
        "instances": len(suite.instances),
        "correct": evaluation.correct,
        "outcome": evaluation.outcome.value,
        "combined_score": evaluation.combined_score,
        "metric": evaluation.objective.metric,
        "value": evaluation.value,
        "mean_cost": _mean([result.cost for result in evaluation.results]),
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
        "sandbox": evaluation.sandbox,
    }


def fresh_table(rows: Sequence[Mapping[str, Any]], objective: Objective) -> Table:
    """The fresh_rows on a screen, each value as the task's own metric."""
    table = TableOf(rows)
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

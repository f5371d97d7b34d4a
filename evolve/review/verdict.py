"""What an evaluation says, as rows and sentences: the plain values behind `evolve score`."""

from collections.abc import Sequence
from typing import Any

from evaluator.evaluation import Evaluation, Outcome
from evolve.review.standing import of_evaluation
from evolve.review.table import (
    SCORE_COLUMNS,
    Cell,
    Column,
    Fit,
    Table,
    metric_cells,
    metric_columns,
    outcome_cell,
    score_cells,
)


def failures(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The instances that failed, in order, each with its sentence."""
    return [
        {"instance": result.instance, "outcome": result.outcome.value, "detail": result.detail}
        for result in evaluation.results
        if result.outcome is not Outcome.OK
    ]


def score_row(program: str, evaluation: Evaluation) -> dict[str, Any]:
    """One program: the keys of `evolve score --json`."""
    return {
        "program": program,
        "task": evaluation.task,
        "suite": evaluation.suite,
        **of_evaluation(evaluation).to_json(),
        "published_score": evaluation.published_score,
        "quarantine": evaluation.quarantine,
        "failures": failures(evaluation),
        "sandbox": evaluation.sandbox,
    }


def scores_table(programs: Sequence[str], evaluations: Sequence[Evaluation]) -> Table:
    """The verdicts on several programs, in the order given."""
    standings = [of_evaluation(evaluation) for evaluation in evaluations]
    metrics = metric_columns(standings)
    columns = (
        Column("program", fit=Fit.FOLD),
        *SCORE_COLUMNS,
        *metrics,
        Column("outcome"),
    )
    rows = tuple(
        (Cell(program), *score_cells(standing), *metric_cells(standing, metrics), outcome_cell(standing))
        for program, standing in zip(programs, standings, strict=True)
    )
    return Table(columns=columns, rows=rows)


def why_not(evaluation: Evaluation, *, shown: int = 3) -> list[str]:
    """Why a program is not correct, one text an entry: what is impossible, then the first failing instances.

    The first failure is told in full, perhaps with a traceback of several lines, the others in a sentence each.
    Instances that were not run since the program had died before are only counted.
    """
    said = []
    if evaluation.quarantine is not None:
        said.append(f"quarantined, so the score counts for nothing: {evaluation.quarantine}")
    if evaluation.outcome is Outcome.OK:
        return said
    said.append(f"{evaluation.outcome.value}: {evaluation.detail}")
    failed = [result for result in evaluation.results if result.outcome not in (Outcome.OK, Outcome.NOT_RUN)]
    said += [f"instance {result.instance}: {result.outcome.value}: {result.detail}" for result in failed[1:shown]]
    if len(failed) > shown:
        said.append(f"and {len(failed) - shown} more of {len(evaluation.results)} instances failed")
    not_run = sum(result.outcome is Outcome.NOT_RUN for result in evaluation.results)
    if not_run and failed:
        said.append(f"{not_run} instances were not run after that, and count as failed")
    return said

"""What an evaluation says, as rows and sentences: the plain values behind `evolve score`."""

from collections.abc import Sequence
from typing import Any

from evaluator.evaluation import Evaluation, Outcome, StrictReport
from evolve.review.scores import score_json
from evolve.review.table import Cell, Fit, Table, TableOf, Tone, outcome_cell


def failures(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The instances that failed, in order, each with its sentence."""
    return [
        {"instance": result.instance, "outcome": result.outcome.value, "detail": result.detail}
        for result in evaluation.results
        if result.outcome is not Outcome.OK
    ]


def score_row(program: str, evaluation: Evaluation, *, strict: bool = False) -> dict[str, Any]:
    """One program: the keys of `evolve score --json`. `strict`: with what strict re-evaluation found, None where
    there was nothing to examine."""
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
    """Whether a program answers the same however it is asked, or what it depends on; `-` when it was not examined."""
    if report is None:
        return Cell("-")
    if report.classification is None:
        skipped = f" (not checked: {', '.join(report.skipped)})" if report.skipped else ""
        varies = f"; {report.detail}" if report.detail else ""
        return Cell(f"agrees{skipped}{varies}", Tone.PLAIN if varies else Tone.GOOD)
    return Cell(report.classification.value.replace("_", " "), Tone.BAD)


def strict_text(report: StrictReport | None) -> str | None:
    """`agrees`, or what the program depends on; None where it was not examined."""
    if report is None:
        return None
    return "agrees" if report.classification is None else report.classification.value


def scores_table(programs: Sequence[str], evaluations: Sequence[Evaluation], *, strict: bool = False) -> Table:
    """The verdicts on several programs, in the order given; `strict`: with what strict re-evaluation found."""
    table = TableOf(zip(programs, evaluations, strict=True))
    table.column("program", lambda row: row[0], fit=Fit.FOLD)
    table.score_columns(lambda row: row[1])
    table.metric_columns(lambda row: row[1])
    if strict:
        table.column("strict", lambda row: strict_cell(row[1].strict), fit=Fit.FOLD)
    table.column("outcome", lambda row: outcome_cell(row[1]))
    return table.table()


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

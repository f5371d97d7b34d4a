"""The record of a program from the events that told of it, and when one stands above another."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from evaluator.evaluation import Evaluation, Outcome
from evaluator.objective import BestKnown, Objective
from evolve.archive.records import ProgramRecord
from evolve.program import Origin, PatchKind


def program_record(event: Mapping[str, Any]) -> ProgramRecord:
    """The record of a program from its `evaluated` event."""
    origin = event["origin"]
    return ProgramRecord(
        generation=event["generation"],
        commit=event["commit"],
        parents=tuple(event["parents"]),
        inspirations=tuple(event["inspirations"]),
        island=event["island"],
        origin=Origin(
            kind=PatchKind(origin["kind"]),
            model=origin["model"],
            patch_name=origin["patch_name"],
            description=origin["description"],
            features=tuple(origin["features"]),
        ),
        source_hash=event["source_hash"],
        **scores(event["evaluation"]),
    )


def scores(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record that an evaluation decides."""
    outcome = Outcome(evaluation["outcome"])
    return {
        "outcome": outcome,
        "correct": outcome is Outcome.OK and evaluation["quarantine"] is None,
        "combined_score": float(evaluation["combined_score"]),
        "ceiling": evaluation["ceiling"],
        "quarantine": evaluation["quarantine"],
        "objective": Objective.from_json(evaluation["objective"]),
        "metric_bound": evaluation["metric_bound"],
        "best_known": None if evaluation["best_known"] is None else BestKnown.from_json(evaluation["best_known"]),
        "beyond": evaluation["beyond"],
        "metrics": {**evaluation["metrics"], "runtime_s": evaluation["measured"]["runtime_s"]},
        "behaviour": _behaviour(evaluation),
    }


def _behaviour(evaluation: Mapping[str, Any]) -> str:
    failures = [[index, outcome] for index, outcome, _ in evaluation["failures"]]
    found = json.dumps([evaluation["outcome"], evaluation["costs"], failures])
    return hashlib.sha256(found.encode("ascii")).hexdigest()[:16]


def would_be_best(best: ProgramRecord | None, generation: int, evaluation: Evaluation) -> bool:
    """Whether a program with that evaluation would stand above `best`: correct, and of a higher score, or as high and
    earlier."""
    return evaluation.correct and _above(evaluation.combined_score, generation, best)


def better(record: ProgramRecord, than: ProgramRecord | None) -> bool:
    """Whether a program stands above another: correct, and of a higher score, or as high and earlier."""
    return record.correct and _above(record.combined_score, record.generation, than)


def rank_key(record: ProgramRecord) -> tuple[bool, float, int]:
    """Sorts records best first: correct, higher score, then earlier generation (never a clock)."""
    return not record.correct, -record.combined_score, record.generation


def _above(score: float, generation: int, than: ProgramRecord | None) -> bool:
    if score != score:  # NaN is no score to compare with
        return False
    return (
        than is None or score > than.combined_score or (score == than.combined_score and generation < than.generation)
    )

"""The record of a program from the events that told of it, and when one stands above another."""

import hashlib
import json
import math
from collections.abc import Sequence

from evaluator.evaluation import LEAST_SPREAD, Evaluation, Outcome, spread_of
from evaluator.objective import BestKnown, Objective
from evolve.archive.events import EvaluatedEvent, EvaluationData
from evolve.archive.records import COSTS_KEPT, ProgramRecord
from evolve.program import PatchKind


def program_record(made: EvaluatedEvent | ProgramRecord, evaluation: EvaluationData) -> ProgramRecord:
    """The record of a program that was made as an event says, or an earlier record of it, with an evaluation."""
    outcome, known = evaluation["outcome"], evaluation["best_known"]
    return ProgramRecord(
        generation=made.generation,
        commit=made.commit,
        parents=made.parents,
        inspirations=made.inspirations,
        island=made.island,
        origin=made.origin,
        source_hash=made.source_hash,
        length=made.length,
        outcome=outcome,
        correct=outcome is Outcome.OK and evaluation["quarantine"] is None,
        combined_score=evaluation["combined_score"],
        ceiling=evaluation["ceiling"],
        quarantine=evaluation["quarantine"],
        objective=Objective.from_json(evaluation["objective"]),
        metric_bound=evaluation["metric_bound"],
        best_known=None if known is None else BestKnown.from_json(known),
        beyond=evaluation["beyond"],
        metrics=evaluation["metrics"] | {"runtime_s": evaluation["measured"]["runtime_s"]},
        behaviour=_behaviour(evaluation),
        costs=_costs(evaluation),
        spread=spread_of(evaluation),
        self_judged=evaluation.get("self_judged", False),
    )


def _costs(evaluation: EvaluationData) -> str:
    costs = [cost for cost in evaluation["costs"] if cost is not None]
    return "" if len(costs) > COSTS_KEPT or len(costs) < len(evaluation["costs"]) else " ".join(costs)


def _behaviour(evaluation: EvaluationData) -> str:
    failures = [[index, outcome] for index, outcome, _ in evaluation["failures"]]
    told: list[object] = [evaluation["outcome"], evaluation["costs"], failures]
    if spread_of(evaluation) is not None and (score := evaluation["combined_score"]) > 0:
        # Programs that are right differ by their speed alone. A step is so small that one which stands above another
        # (their spreads are apart) never shares it.
        told.append(math.floor(math.log(score) / (2 * math.log1p(LEAST_SPREAD))))
    found = json.dumps(told)
    return hashlib.sha256(found.encode("ascii")).hexdigest()[:16]


def would_be_best(best: ProgramRecord | None, generation: int, evaluation: Evaluation) -> bool:
    """Whether a program with that evaluation would stand above `best`: see `better`."""
    return evaluation.correct and _above(evaluation.combined_score, evaluation.spread, generation, best)


def better(record: ProgramRecord, than: ProgramRecord | None) -> bool:
    """Whether a program stands above another: correct, not excluded, and of a higher score, or as high and earlier.

    Where the clock or chance is in the score, it is higher only where it is beyond what both were measured to within:
    the lowest that this one may be lies above the highest that the other may be. Being earlier does not count there.
    """
    counts = record.correct and not record.excluded
    return counts and _above(record.combined_score, record.spread, record.generation, than)


def measured_against(program: ProgramRecord, seen: Sequence[ProgramRecord]) -> ProgramRecord:
    """What a program is measured against: its parent, the first of those that it was made from and `seen` beside it; of
    a crossover the best of them by the same judge, of equals the first."""
    if program.origin.kind is not PatchKind.CROSS:
        return seen[0]
    alike = [one for one in seen if one.stale == program.stale] or [seen[0]]
    return max(alike, key=lambda one: (one.correct, one.combined_score))


def rank_key(record: ProgramRecord) -> tuple[bool, float, int]:
    """Sorts records best first: correct, higher score, then earlier generation (never a clock)."""
    return not record.correct, -record.combined_score, record.generation


def worth_rescoring(programs: Sequence[ProgramRecord], elites: int) -> list[int]:
    """The generations that are scored again under another judge: the initial program, and the best correct ones by
    their scores so far, one per behaviour, best first."""
    chosen: dict[str, int] = {}
    for record in sorted(programs, key=rank_key):
        if record.correct and not record.excluded and len(chosen) < elites:
            chosen.setdefault(record.behaviour, record.generation)
    return list(dict.fromkeys([0, *chosen.values()]))


def _above(score: float, spread: tuple[float, float] | None, generation: int, than: ProgramRecord | None) -> bool:
    if score != score:  # NaN is no score to compare with
        return False
    if than is None:
        return True
    step = compared(score, spread, than.combined_score, than.spread)
    return step > 0 or (score == than.combined_score and not (spread and than.spread) and generation < than.generation)


def compared(
    score: float,
    spread: tuple[float, float] | None,
    than: float,
    than_spread: tuple[float, float] | None,
    *,
    same: float = 0.0,
) -> int:
    """1 where a score stands above another, -1 where it stands below, 0 where they cannot be told apart: they differ by
    no more than `same`, or what they were measured to within overlaps."""
    if spread is not None and than_spread is not None:
        return (spread[0] > than_spread[1]) - (spread[1] < than_spread[0])
    return (score > than + same) - (score < than - same)

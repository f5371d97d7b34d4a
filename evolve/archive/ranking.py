"""The record of a program from the events that told of it, and when one stands above another."""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence

from evaluator.evaluation import FARTHEST, LEAST_SPREAD, Evaluation, OrderRange, Outcome
from evaluator.input_files import read_as
from evaluator.objective import BestKnown, Objective
from evolve.archive.events import EvaluatedEvent, EvaluationData
from evolve.archive.records import COSTS_KEPT, ProgramRecord
from evolve.core.program import PatchKind

CEILING_TOLERANCE = 1e-6
_ROUNDING = 1e-9
"""Scores that differ by no more than this share of them differ by the order of a sum."""


def program_record(made: EvaluatedEvent | ProgramRecord, evaluation: EvaluationData) -> ProgramRecord:
    """The record of a program that was made as an event says, or an earlier record of it, with an evaluation."""
    outcome, known, strict = evaluation["outcome"], evaluation["best_known"], evaluation["strict"]
    orders, wanted = None if strict is None else strict["confirmed"], evaluation["objective"]
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
        objective=Objective(
            metric=wanted["metric"],
            direction=wanted["direction"],
            per_instance=wanted["per_instance"],
            unit=wanted["unit"],
        ),
        metric_bound=evaluation["metric_bound"],
        best_known=None if known is None else read_as(BestKnown, known),
        beyond=evaluation["beyond"],
        metrics=evaluation["metrics"] | {"runtime_s": evaluation["measured"]["runtime_s"]},
        behaviour=_behaviour(evaluation),
        costs=_costs(evaluation),
        spread=evaluation.get("spread"),
        confirmed=None if orders is None else read_as(OrderRange, orders),
        self_judged=evaluation.get("self_judged", False),
    )


def _costs(evaluation: EvaluationData) -> str:
    costs = [cost for cost in evaluation["costs"] if cost is not None]
    return "" if len(costs) > COSTS_KEPT or len(costs) < len(evaluation["costs"]) else " ".join(costs)


def _behaviour(evaluation: EvaluationData) -> str:
    failures = [[index, outcome] for index, outcome, _ in evaluation["failures"]]
    told: list[object] = [evaluation["outcome"], evaluation["costs"], failures]
    if evaluation.get("spread") is not None and (score := evaluation["combined_score"]) > 0:
        # Programs that are right differ by their speed alone. A step is so small that one which stands above another
        # (their spreads are apart) never shares it.
        told.append(math.floor(math.log(score) / (2 * math.log1p(LEAST_SPREAD))))
    found = json.dumps(told)
    return hashlib.sha256(found.encode("ascii")).hexdigest()[:16]


def reached_ceiling(score: float | None, ceiling: float | None) -> bool:
    """Whether `score` is the ceiling, within 1e-6 (of the larger one, where both are below 1)."""
    if score is None or ceiling is None:
        return False
    return score >= ceiling - CEILING_TOLERANCE * min(1.0, max(abs(score), abs(ceiling)))


def rank_score(scored: ProgramRecord | Evaluation) -> float:
    """The score that a program ranks by: the median over other orders once it is confirmed in them, else the score in
    the suite's own order. A program that reaches the ceiling in the suite's own order ranks by that: none is better."""
    orders = scored.confirmed
    if orders is None or reached_ceiling(scored.combined_score, scored.ceiling):
        return scored.combined_score
    return -FARTHEST if orders.median is None else orders.median


def paired_scores(program: ProgramRecord, base: ProgramRecord) -> tuple[float, float]:
    """The scores by which a program is compared with what it was made from: what they rank by where both have a median,
    else both in the suite's own order. A median beside a score of one order would call luck a gain."""
    if by_medians(program, base):
        return rank_score(program), rank_score(base)
    return program.combined_score, base.combined_score


def by_medians(program: ProgramRecord, base: ProgramRecord) -> bool:
    """Whether two programs are compared by their medians over other orders: neither ranks by its own order."""
    return all(
        one.confirmed is not None
        and one.confirmed.median is not None
        and not reached_ceiling(one.combined_score, one.ceiling)
        for one in (program, base)
    )


def step(program: ProgramRecord, base: ProgramRecord) -> int:
    """1 where a correct program is a gain on a correct base, -1 for a loss, 0 where they cannot be told apart."""
    score, than = paired_scores(program, base)
    return compared(score, program.spread, than, base.spread)


def improves(program: ProgramRecord, base: ProgramRecord) -> bool:
    """Whether a program is better than what it was made from; anything correct is better than a failure."""
    counts = program.correct and not program.excluded
    return counts and (not base.correct or step(program, base) > 0)


def would_be_best(best: ProgramRecord | None, generation: int, evaluation: Evaluation) -> bool:
    """Whether a program with that evaluation would stand above `best`: see `better`. Before its confirmation its score
    in the suite's own order counts."""
    return evaluation.correct and _above(rank_score(evaluation), evaluation.spread, generation, best)


def better(record: ProgramRecord, than: ProgramRecord | None) -> bool:
    """Whether a program stands above another: correct, not excluded, and ranking higher, or as high and earlier.

    Where the clock or chance is in the score, it is higher only where it is beyond what both were measured to within:
    the lowest that this one may be lies above the highest that the other may be. Being earlier does not count there.
    """
    counts = record.correct and not record.excluded
    return counts and _above(rank_score(record), record.spread, record.generation, than)


def new_bests(programs: Iterable[ProgramRecord]) -> list[ProgramRecord]:
    """The programs that were the best when they came, in order: the last one is the best of the run. What only an
    earlier judge scored is left out."""
    found: list[ProgramRecord] = []
    for program in programs:
        if not program.stale and better(program, found[-1] if found else None):
            found.append(program)
    return found


def measured_against(program: ProgramRecord, seen: Sequence[ProgramRecord]) -> ProgramRecord:
    """What a program is measured against: its parent, the first of those that it was made from and `seen` beside it; of
    a crossover the best of them by the same judge, of equals the first."""
    if program.origin.kind is not PatchKind.CROSS:
        return seen[0]
    alike = [one for one in seen if one.stale == program.stale] or [seen[0]]
    return max(alike, key=lambda one: (one.correct, rank_score(one)))


def rank_key(record: ProgramRecord) -> tuple[bool, float, int]:
    """Sorts records best first: correct, ranking higher, then earlier generation (never a clock)."""
    return not record.correct, -rank_score(record), record.generation


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
    best = rank_score(than)
    ahead = compared(score, spread, best, than.spread)
    return ahead > 0 or (ahead == 0 and not (spread and than.spread) and generation < than.generation)


def compared(
    score: float,
    spread: tuple[float, float] | None,
    than: float,
    than_spread: tuple[float, float] | None,
    *,
    same: float = 0.0,
) -> int:
    """1 where a score stands above another, -1 where it stands below, 0 where they cannot be told apart: they differ by
    no more than `same` or by rounding alone, or what they were measured to within overlaps."""
    if spread is not None and than_spread is not None:
        return (spread[0] > than_spread[1]) - (spread[1] < than_spread[0])
    if math.isclose(score, than, rel_tol=_ROUNDING):
        return 0
    return (score > than + same) - (score < than - same)


def compared_costs(cost: str, other: str) -> int:
    """1 where an exact cost (`7/3`, `-2`) is larger than another, -1 where it is smaller, 0 where they are equal. As
    `Fraction` has it, without making any: this runs for every instance of every program."""
    if cost == other:
        return 0
    above, _, below = cost.partition("/")
    other_above, _, other_below = other.partition("/")
    left, right = int(above) * int(other_below or 1), int(other_above) * int(below or 1)
    return (left > right) - (left < right)

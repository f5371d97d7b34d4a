"""The record of a program, made from its events, and when one program ranks above another."""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence

from evaluator.evaluation import FARTHEST, LEAST_SPREAD, Evaluation, OrderRange, PairedResult, Scored
from evaluator.input_files import read_as
from evaluator.objective import BestKnown, Objective
from evolve.archive.events import EvaluatedEvent, EvaluationData
from evolve.archive.records import COSTS_KEPT, ProgramRecord
from evolve.core.program import PatchKind

CEILING_TOLERANCE = 1e-6
_ROUNDING = 1e-9
"""Scores within this relative difference differ by the order of a sum alone."""


def program_record(made: EvaluatedEvent | ProgramRecord, evaluation: EvaluationData) -> ProgramRecord:
    """The record of a program: its origin from an event or an earlier record, its scores from an evaluation."""
    outcome, listed, strict = evaluation["outcome"], evaluation["best_known"], evaluation["strict"]
    orders, paired = None if strict is None else strict["confirmed"], evaluation.get("against")
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
        combined_score=evaluation["combined_score"],
        ceiling=evaluation["ceiling"],
        quarantine=evaluation["quarantine"],
        objective=read_as(Objective, evaluation["objective"]),
        metric_bound=evaluation["metric_bound"],
        best_known=None if listed is None else read_as(BestKnown, listed),
        beyond=evaluation["beyond"],
        metrics=evaluation["metrics"] | {"runtime_s": evaluation["measured"]["runtime_s"]},
        behaviour=_behaviour(evaluation),
        costs=_costs(evaluation),
        spread=evaluation.get("spread"),
        confirmed=None if orders is None else read_as(OrderRange, orders),
        self_judged=evaluation.get("self_judged", False),
        against=None if paired is None else read_as(PairedResult, paired),
        claimed=made.claimed,
    )


def _costs(evaluation: EvaluationData) -> str:
    costs = [cost for cost in evaluation["costs"] if cost is not None]
    return "" if len(costs) > COSTS_KEPT or len(costs) < len(evaluation["costs"]) else " ".join(costs)


def _behaviour(evaluation: EvaluationData) -> str:
    failures = [[index, outcome] for index, outcome, _ in evaluation["failures"]]
    facts: list[object] = [evaluation["outcome"], evaluation["costs"], failures]
    if evaluation.get("spread") is not None and (score := evaluation["combined_score"]) > 0:
        # Correct programs differ by their speed alone. Steps are so small that two programs whose spreads do not
        # overlap never share one.
        facts.append(math.floor(math.log(score) / (2 * math.log1p(LEAST_SPREAD))))
    return hashlib.sha256(json.dumps(facts).encode("ascii")).hexdigest()[:16]


def reached_ceiling(score: float | None, ceiling: float | None) -> bool:
    """Whether `score` is the ceiling, within 1e-6 (of the larger one, where both are below 1)."""
    if score is None or ceiling is None:
        return False
    return score >= ceiling - CEILING_TOLERANCE * min(1.0, max(abs(score), abs(ceiling)))


def rank_score(scored: Scored) -> float:
    """The score that a program ranks by: the median over other orders once it is confirmed in them, else the score in
    the suite's own order. A program that reaches the ceiling in the suite's own order ranks by that: none is better."""
    orders = scored.confirmed
    if orders is None or reached_ceiling(scored.combined_score, scored.ceiling):
        return scored.combined_score
    return -FARTHEST if orders.median is None else orders.median


def paired_scores(program: ProgramRecord, base: ProgramRecord) -> tuple[float, float]:
    """The scores by which a program is compared with its base (parent or inspiration): their medians where both have
    one, else both in the suite's own order. A median against a score in one order would call luck a gain."""
    if by_medians(program, base):
        return rank_score(program), rank_score(base)
    return program.combined_score, base.combined_score


def by_medians(program: ProgramRecord, base: ProgramRecord) -> bool:
    """Whether two programs are compared by their medians over other orders: neither ranks by its own order."""
    return all(
        record.confirmed is not None
        and record.confirmed.median is not None
        and not reached_ceiling(record.combined_score, record.ceiling)
        for record in (program, base)
    )


def step(program: ProgramRecord, base: ProgramRecord) -> int:
    """1 where a correct program is a gain over a correct base, -1 for a loss, 0 where their scores do not differ."""
    score, than = paired_scores(program, base)
    return compared(score, program.spread, than, base.spread)


def improves(program: ProgramRecord, base: ProgramRecord) -> bool:
    """Whether a program is better than its base; anything correct is better than a failure."""
    counts = program.correct and not program.excluded
    return counts and (not base.correct or step(program, base) > 0)


def would_be_best(best: ProgramRecord | None, generation: int, evaluation: Evaluation) -> bool:
    """Whether a program with that evaluation would rank above `best` (see `better`). Before its confirmation, its score
    in the suite's own order counts."""
    return evaluation.correct and _above(rank_score(evaluation), evaluation.spread, generation, best)


def better(record: ProgramRecord, than: ProgramRecord | None) -> bool:
    """Whether a program ranks above another: correct, not excluded, and scoring higher, or as high and earlier.

    Where the clock or chance is in the score, it is higher only if the confidence ranges do not overlap: the low end of
    this one lies above the high end of the other. Being earlier does not count there. Two programs
    that were measured in pairs with each other rank by that alone.
    """
    counts = record.correct and not record.excluded
    if than is not None and record.against is not None and record.against.than == than.commit:
        return counts and record.against.is_better
    if than is not None and than.against is not None and than.against.than == record.commit and than.against.is_better:
        return False
    return counts and _above(rank_score(record), record.spread, record.generation, than)


def new_bests(programs: Iterable[ProgramRecord]) -> list[ProgramRecord]:
    """The successive best programs, in order: the last one is the best of the run. Programs that only an earlier judge
    scored are left out."""
    bests: list[ProgramRecord] = []
    for program in programs:
        if not program.stale and better(program, bests[-1] if bests else None):
            bests.append(program)
    return bests


def measured_against(program: ProgramRecord, seen: Sequence[ProgramRecord]) -> ProgramRecord:
    """The base of a program's gain: its parent, the first of the programs `seen` in its prompt; of a crossover the best
    of these by the same judge, the first among equals."""
    if program.origin.kind is not PatchKind.CROSS:
        return seen[0]
    same_judge = [record for record in seen if record.stale == program.stale] or [seen[0]]
    return max(same_judge, key=lambda record: (record.correct, rank_score(record)))


def rank_key(record: ProgramRecord) -> tuple[bool, float, int]:
    """Sorts records best first: correct, ranking higher, then earlier generation (never a clock)."""
    return not record.correct, -rank_score(record), record.generation


def worth_rescoring(programs: Sequence[ProgramRecord], elites: int) -> list[int]:
    """The generations to score again under another judge: the initial program, then the best correct ones so far, one
    per behaviour, best first."""
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
    """1 where a score is above another, -1 where it is below, 0 where they do not differ: they are within `same` or
    within rounding, or their confidence ranges overlap."""
    if spread is not None and than_spread is not None:
        return (spread[0] > than_spread[1]) - (spread[1] < than_spread[0])
    if math.isclose(score, than, rel_tol=_ROUNDING):
        return 0
    return (score > than + same) - (score < than - same)


def compared_costs(cost: str, other: str) -> int:
    """1 where an exact cost (`7/3`, `-2`) is larger than another, -1 where it is smaller, 0 where they are equal. It
    makes no `Fraction`, since it runs for every instance of every program."""
    if cost == other:
        return 0
    above, _, below = cost.partition("/")
    other_above, _, other_below = other.partition("/")
    left, right = int(above) * int(other_below or 1), int(other_above) * int(below or 1)
    return (left > right) - (left < right)

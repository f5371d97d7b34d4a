"""How far the generations of a run came, why those failed that did, and what each kind, model and feature yielded."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from evolve.evidence.yields import ModelYield
from evolve.review.facts import STAGES, GenerationFacts

_FAILED = frozenset({"failed", "refused", "duplicate", "quarantined", "unanswered"})
_COUNTED = ("asked", "answered", "applied", "correct", "improved", "best")


def funnel(facts: Sequence[GenerationFacts]) -> list[dict[str, Any]]:
    """For each of STAGES, how many generations came that far, and which ended there. The initial program, which nobody
    was asked for, counts in none."""
    ended: list[list[int]] = [[] for _ in STAGES]
    for one in facts:
        if one.stage is not None:
            ended[one.stage].append(one.n)
    reached = [sum(map(len, ended[index:])) for index in range(len(STAGES))]
    return [
        {"stage": stage, "count": count, "generations": generations}
        for stage, count, generations in zip(STAGES, reached, ended, strict=True)
    ]


def failures(facts: Sequence[GenerationFacts]) -> list[dict[str, Any]]:
    """Why generations gave no correct program, the most frequent reason first: how often, which, and the last one's
    words."""
    by_reason: dict[str, list[GenerationFacts]] = {}
    for one in facts:
        if one.mark in _FAILED:
            by_reason.setdefault(one.reason or one.mark, []).append(one)
    ordered = sorted(by_reason.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [
        {"reason": reason, "count": len(found), "generations": [one.n for one in found], "example": found[-1].why}
        for reason, found in ordered
    ]


def yields(facts: Sequence[GenerationFacts], models: Sequence[ModelYield]) -> list[dict[str, Any]]:
    """What each kind, model (these are counted elsewhere, only listed) and feature gave, those asked for most first:
    how many came how far; `gain`, the sum of how much each was better than its parent, where it was; `cost_usd`, None
    where the price of one is not known, and `gain_per_usd` too where nothing was paid. A program that changed several
    things counts in the group of each."""
    of_models = [
        {
            "by": "model",
            "name": one.model,
            **{name: getattr(one, name) for name in (*_COUNTED, "gain")},
            "cost_usd": one.spent.cost_usd,
            "gain_per_usd": one.gain_per_usd,
        }
        for one in models
    ]
    kinds = _grouped("kind", facts, lambda one: (one.kind,))
    return [*kinds, *of_models, *_grouped("feature", facts, lambda one: dict.fromkeys(one.features))]


def _grouped(
    by: str, facts: Sequence[GenerationFacts], names: Callable[[GenerationFacts], Iterable[str]]
) -> list[dict[str, Any]]:
    found: dict[str, list[GenerationFacts]] = {}
    for one in facts:
        if one.stage is not None:
            for name in names(one):
                found.setdefault(name, []).append(one)
    ordered = sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [{"by": by, "name": name, **_yield(members)} for name, members in ordered]


def _yield(members: Sequence[GenerationFacts]) -> dict[str, Any]:
    stages = [one.stage for one in members if one.stage is not None]
    gain = sum(max(0.0, one.change) for one in members if one.change is not None)
    costs = [one.cost_usd for one in members if one.cost_usd is not None]
    cost = sum(costs) if len(costs) == len(members) else None
    return {
        **{name: sum(at >= STAGES.index(name) for at in stages) for name in _COUNTED},
        "gain": gain,
        "cost_usd": cost,
        "gain_per_usd": gain / cost if cost else None,
    }

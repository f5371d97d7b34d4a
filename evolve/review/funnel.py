"""How far the generations of a run came, why those failed that did, and what each kind, model and feature yielded."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evolve.evidence.yields import ModelYield
from evolve.review.facts import STAGES, GenerationFacts

_FAILED = frozenset({"failed", "refused", "duplicate", "quarantined", "unanswered"})


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Yield:
    """What a group of generations gave. `gain`: the sum of how much each was better than its parent, where it was;
    `cost_usd`: None where the price of one is not known, and `gain_per_usd` too where nothing was paid."""

    by: str
    name: str
    asked: int
    answered: int
    applied: int
    correct: int
    improved: int
    best: int
    gain: float
    cost_usd: float | None
    gain_per_usd: float | None


def yields(facts: Sequence[GenerationFacts], models: Sequence[ModelYield]) -> list[dict[str, Any]]:
    """A Yield per kind, model (these are counted elsewhere, and only told) and feature, those asked for most first. A
    program that changed several things counts in the group of each."""
    asked = [one for one in facts if one.stage is not None]
    groups: list[Yield] = []
    keys: tuple[tuple[str, Callable[[GenerationFacts], Iterable[str]]], ...] = (
        ("kind", lambda one: (one.kind,)),
        ("feature", lambda one: dict.fromkeys(one.features)),
    )
    for by, names in keys:
        found: dict[str, list[GenerationFacts]] = {}
        for one in asked:
            for name in names(one):
                found.setdefault(name, []).append(one)
        ordered = sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))
        groups += [_yield(by, name, members) for name, members in ordered]
    told = [_of_model(one) for one in models]
    kinds = sum(group.by == "kind" for group in groups)
    return list(map(asdict, [*groups[:kinds], *told, *groups[kinds:]]))


def _of_model(one: ModelYield) -> Yield:
    known = {
        name: getattr(one, name) for name in ("asked", "answered", "applied", "correct", "improved", "best", "gain")
    }
    return Yield(by="model", name=one.model, **known, cost_usd=one.spent.cost_usd, gain_per_usd=one.gain_per_usd)


def _yield(by: str, name: str, members: Sequence[GenerationFacts]) -> Yield:
    stages = [one.stage for one in members if one.stage is not None]
    reached = {stage: sum(at >= index for at in stages) for index, stage in enumerate(STAGES)}
    gain = sum(max(0.0, one.change) for one in members if one.change is not None)
    costs = [one.cost_usd for one in members if one.cost_usd is not None]
    cost = sum(costs) if len(costs) == len(members) else None
    wanted = ("asked", "answered", "applied", "correct", "improved", "best")
    return Yield(
        by=by,
        name=name,
        **{stage: reached[stage] for stage in wanted},
        gain=gain,
        cost_usd=cost,
        gain_per_usd=gain / cost if cost else None,
    )

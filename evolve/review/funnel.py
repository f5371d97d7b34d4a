"""How far the generations of a run came, why those failed that did, and what each kind, model and feature yielded."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from evaluator.untrusted import one_line
from evolve.archive.records import AttemptRecord
from evolve.evidence.yields import ModelYield
from evolve.propose.verdicts import telling_line
from evolve.review.generation_view import STAGES, GenerationView

_FAILED = frozenset({"failed", "refused", "duplicate", "quarantined", "unanswered"})
_COUNTED = ("asked", "answered", "applied", "correct", "improved", "best")


def funnel(views: Sequence[GenerationView]) -> list[dict[str, Any]]:
    """For each of STAGES, how many generations came that far, and which ended there. The initial program, which nobody
    was asked for, counts in none."""
    ended: list[list[int]] = [[] for _ in STAGES]
    for view in views:
        if view.stage is not None:
            ended[view.stage].append(view.generation)
    reached = [sum(map(len, ended[index:])) for index in range(len(STAGES))]
    return [
        {"stage": stage, "count": count, "generations": generations}
        for stage, count, generations in zip(STAGES, reached, ended, strict=True)
    ]


def failures(views: Sequence[GenerationView]) -> list[dict[str, Any]]:
    """Why generations gave no correct program, and why answers were refused that were asked for again within one
    (`again`, with the generations), the most frequent reason first: how often, which, and the last one's words."""
    ended: dict[str, list[GenerationView]] = {}
    again: dict[str, list[AttemptRecord]] = {}
    for view in views:
        if view.mark in _FAILED:
            ended.setdefault(view.reason or view.mark, []).append(view)
        for attempt in view.questions[:-1]:
            if attempt.reason is not None:
                again.setdefault(attempt.reason, []).append(attempt)
    found = [(reason, ended.get(reason, []), again.get(reason, [])) for reason in dict.fromkeys((*ended, *again))]
    return [
        {
            "reason": reason,
            "count": len(failed),
            "generations": [view.generation for view in failed],
            "again": [attempt.generation for attempt in refused],
            "example": failed[-1].why if failed else one_line(telling_line(refused[-1].message or ""), 400),
        }
        for reason, failed, refused in sorted(found, key=lambda one: (-len(one[1]) - len(one[2]), one[0]))
    ]


def yields(views: Sequence[GenerationView], models: Sequence[ModelYield]) -> list[dict[str, Any]]:
    """What each kind, model (these are counted elsewhere, only listed) and feature gave, those asked for most first:
    how many came how far; `gain`, the sum of how much each was better than its parent, where it was; `cost_usd`, None
    where the price of one is not known, and `gain_per_usd` too where nothing was paid. A program that changed several
    things counts in the group of each."""
    of_models = [
        _row("model", one.model, [getattr(one, name) for name in _COUNTED], one.gain, one.spent.cost_usd)
        for one in models
    ]
    kinds = _grouped("kind", views, lambda view: (view.patch_kind,))
    return [*kinds, *of_models, *_grouped("feature", views, lambda view: dict.fromkeys(view.features))]


def _grouped(
    by: str, views: Sequence[GenerationView], names: Callable[[GenerationView], Iterable[str]]
) -> list[dict[str, Any]]:
    groups: dict[str, list[GenerationView]] = {}
    for view in views:
        if view.stage is not None:
            for name in names(view):
                groups.setdefault(name, []).append(view)
    ordered = sorted(groups.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [_of_group(by, name, members) for name, members in ordered]


def _of_group(by: str, name: str, members: Sequence[GenerationView]) -> dict[str, Any]:
    stages = [view.stage for view in members if view.stage is not None]
    reached = [sum(stage >= STAGES.index(counted) for stage in stages) for counted in _COUNTED]
    gain = sum(max(0.0, view.value_change) for view in members if view.value_change is not None)
    costs = [view.spent.cost_usd for view in members if view.spent.cost_usd is not None]
    return _row(by, name, reached, gain, sum(costs) if len(costs) == len(members) else None)


def _row(by: str, name: str, reached: Sequence[int], gain: float, cost_usd: float | None) -> dict[str, Any]:
    paid = {"gain": gain, "cost_usd": cost_usd, "gain_per_usd": gain / cost_usd if cost_usd else None}
    return {"by": by, "name": name} | dict(zip(_COUNTED, reached, strict=True)) | paid

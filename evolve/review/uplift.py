"""Whether guidance helps: proposals that were given what the run has learnt, against those that were not.

Both kinds are counted from the first guided proposal on, so that neither is a matter of when. Where who is unguided is
drawn before anything else is chosen, the two differ by chance and by guidance alone. A guided proposal counts as one
whether or not a recommendation was left for it, and whether or not it followed it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import fsum, sqrt
from typing import Any, Final

from evaluator.exact_tests import as_far
from evaluator.objective import SCORE_ITSELF, Objective
from evolve.archive.reader import RunReader
from evolve.core.program import PatchKind
from evolve.review.generation_view import STAGES, GenerationView

LEAST: Final = 20
"""With fewer of either kind there is too little to say."""
_Z: Final = 1.959963984540054
"""Of an interval of 95 %."""
_IMPROVED: Final = STAGES.index("improved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposal that has ended: whether it was guided, whether it is better than what it was made from, and by how
    much it differs from what it is measured against (None where that cannot be compared)."""

    guided: bool
    improved: bool
    change: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The proposals of one kind: how many, how many of them improved, and the mean of the changes that there are."""

    proposals: int
    improved: int
    mean_change: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Uplift:
    """What guidance is worth. `rate` is the difference of the shares that improved (guided less unguided) with its
    interval of 95 % (Newcombe's of two Wilson scores), `p` the exact two-sided probability that chance alone deals the
    improvements out as unevenly; `change` the difference of the mean changes, with the interval of two standard errors
    (None where a kind has fewer than LEAST of them). All None where there is too little to say. `scale`: of what the
    changes are."""

    guided: Side
    unguided: Side
    rate: tuple[float, float, float] | None = None
    p: Fraction | None = None
    change: tuple[float, float, float] | None = None
    scale: Objective = SCORE_ITSELF

    @property
    def told(self) -> str:
        """In one sentence."""
        sides = ", ".join(
            f"{side.improved} of {side.proposals} {name} proposals improved"
            for name, side in (("guided", self.guided), ("unguided", self.unguided))
        )
        if self.rate is None or self.p is None:
            return f"{sides}: too few to say whether guidance helps ({LEAST} of each are needed)."
        difference, low, high = map(_points, self.rate)
        said = f"{sides}: {difference} (95 % interval {low} to {high}), p = {float(self.p):.2g}"
        if self.change is None:
            return f"{said}."
        difference, low, high = (self.scale.worded(value * self.scale.direction.sign) for value in self.change)
        return f"{said}; on average {difference} ({low} to {high})."

    def to_json(self) -> dict[str, Any]:
        """The key `uplift` of `list RUN --json` and of the pages."""
        return {
            "guided": asdict(self.guided),
            "unguided": asdict(self.unguided),
            "rate": _interval_json(self.rate),
            "p": None if self.p is None else float(self.p),
            "change": _interval_json(self.change),
            "told": self.told,
        }


def _points(share: float) -> str:
    return f"{abs(100 * share):.0f} points {'more' if share >= 0 else 'fewer'}"


def _interval_json(found: tuple[float, float, float] | None) -> dict[str, float] | None:
    return None if found is None else dict(zip(("difference", "low", "high"), found, strict=True))


def proposals(views: Iterable[GenerationView]) -> list[Proposal]:
    """The proposals that an answer came to and that have ended, from the first guided one on; but for those that no
    guidance could change, of kind tune."""
    in_order = sorted(views, key=lambda view: view.generation)
    ended = [view for view in in_order if view.stage is not None and view.moment is not None]
    first = next((view.generation for view in ended if view.document is not None), None)
    return [
        Proposal(guided=view.document is not None, improved=(view.stage or 0) >= _IMPROVED, change=view.value_change)
        for view in ended
        if first is not None
        and view.generation >= first
        and view.mark != "unanswered"
        and view.patch_kind != PatchKind.TUNE
    ]


def uplift_of(archive: RunReader, views: Iterable[GenerationView]) -> Uplift | None:
    """What guidance is worth over the generations of a run."""
    return uplift(proposals(views), archive.programs[0].objective if archive.programs else SCORE_ITSELF)


def uplift(found: Sequence[Proposal], scale: Objective = SCORE_ITSELF) -> Uplift | None:
    """What guidance is worth over these proposals of a run with that objective; None where none was guided."""
    if not any(one.guided for one in found):
        return None
    changes = {
        kind: [one.change for one in found if one.guided is kind and one.change is not None] for kind in (True, False)
    }
    guided, unguided = (_side([one for one in found if one.guided is kind], changes[kind]) for kind in (True, False))
    if min(guided.proposals, unguided.proposals) < LEAST:
        return Uplift(guided=guided, unguided=unguided)
    improved = guided.improved + unguided.improved  # `p` is over all ways to say which proposals were guided
    return Uplift(
        guided=guided,
        unguided=unguided,
        rate=_rates(guided, unguided),
        p=as_far(guided.improved, drawn=guided.proposals, marked=improved, total=guided.proposals + unguided.proposals),
        change=_means(changes[True], changes[False]) if min(map(len, changes.values())) >= LEAST else None,
        scale=scale,
    )


def _side(found: Sequence[Proposal], changes: Sequence[float]) -> Side:
    return Side(
        proposals=len(found),
        improved=sum(one.improved for one in found),
        mean_change=fsum(changes) / len(changes) if changes else None,
    )


def _rates(one: Side, other: Side) -> tuple[float, float, float]:
    """The difference of two shares and its interval: Newcombe's, Statistics in Medicine 17 (1998), method 10."""
    (p, low, high), (q, under, over) = _wilson(one), _wilson(other)
    return p - q, p - q - sqrt((p - low) ** 2 + (over - q) ** 2), p - q + sqrt((high - p) ** 2 + (q - under) ** 2)


def _wilson(side: Side) -> tuple[float, float, float]:
    """A share and its interval."""
    n, p, square = side.proposals, side.improved / side.proposals, _Z * _Z
    middle = (p + square / (2 * n)) / (1 + square / n)
    half = _Z / (1 + square / n) * sqrt(p * (1 - p) / n + square / (4 * n * n))
    return p, middle - half, middle + half


def _means(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """The difference of two means, and its interval by the variances of both."""
    means, errors = [], []
    for values in (one, other):
        mean = fsum(values) / len(values)
        means.append(mean)
        errors.append(fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    difference, half = means[0] - means[1], _Z * sqrt(sum(errors))
    return difference, difference - half, difference + half

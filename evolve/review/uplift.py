"""Whether guidance helps: proposals with an insights report in their prompt, against those without.

Both kinds are counted from the first guided proposal on, so that time does not separate them. The unguided ones are
drawn before anything else is chosen, so only chance and guidance separate them. A guided proposal counts as guided even
if it got no recommendation, or did not follow it.
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
"""The least number of proposals of each kind for a comparison."""
_Z: Final = 1.959963984540054
"""The normal quantile of a 95 % interval."""
_IMPROVED: Final = STAGES.index("improved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposal that has ended: whether it was guided, whether it is better than its parent, and its gain over the
    program that it is measured against (None if not comparable)."""

    guided: bool
    improved: bool
    change: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The proposals of one kind: how many, how many of them improved, and the mean of their known changes."""

    proposals: int
    improved: int
    mean_change: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Uplift:
    """The effect of guidance. `rate` is the difference of the shares that improved (guided minus unguided) with its
    interval of 95 % (Newcombe's of two Wilson scores). `p` is the exact two-sided probability that chance alone gives a
    split at least as uneven. `change` is the difference of the mean changes with an interval of two standard errors,
    None if a kind has fewer than LEAST of them. All are None if there are too few proposals. `scale`: the objective of
    the changes."""

    guided: Side
    unguided: Side
    rate: tuple[float, float, float] | None = None
    p: Fraction | None = None
    change: tuple[float, float, float] | None = None
    scale: Objective = SCORE_ITSELF

    def describe(self) -> str:
        """The effect in one sentence."""
        sides = ", ".join(
            f"{side.improved} of {side.proposals} {name} proposals improved"
            for name, side in (("guided", self.guided), ("unguided", self.unguided))
        )
        if self.rate is None or self.p is None:
            return f"{sides}: too few to say whether guidance helps ({LEAST} of each are needed)."
        difference, low, high = map(_points, self.rate)
        sentence = f"{sides}: {difference} (95 % interval {low} to {high}), p = {float(self.p):.2g}"
        if self.change is None:
            return f"{sentence}."
        difference, low, high = (self.scale.worded(value * self.scale.direction.sign) for value in self.change)
        return f"{sentence}; on average {difference} ({low} to {high})."

    def to_json(self) -> dict[str, Any]:
        """The key `uplift` of `list RUN --json` and of the pages."""
        return {
            "guided": asdict(self.guided),
            "unguided": asdict(self.unguided),
            "rate": _interval_json(self.rate),
            "p": None if self.p is None else float(self.p),
            "change": _interval_json(self.change),
            "sentence": self.describe(),
        }


def _points(share: float) -> str:
    return f"{abs(100 * share):.0f} points {'more' if share >= 0 else 'fewer'}"


def _interval_json(interval: tuple[float, float, float] | None) -> dict[str, float] | None:
    return None if interval is None else dict(zip(("difference", "low", "high"), interval, strict=True))


def proposals(views: Iterable[GenerationView]) -> list[Proposal]:
    """The ended proposals with an answer, from the first guided one on, without those of kind tune, which guidance
    cannot change."""
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
    """The effect of guidance over the generations of a run."""
    return uplift(proposals(views), archive.programs[0].objective if archive.programs else SCORE_ITSELF)


def uplift(trials: Sequence[Proposal], scale: Objective = SCORE_ITSELF) -> Uplift | None:
    """The effect of guidance over these proposals of a run with that objective; None if none was guided."""
    kinds = [[trial for trial in trials if trial.guided is kind] for kind in (True, False)]
    if not kinds[0]:
        return None
    changes = [[trial.change for trial in kind if trial.change is not None] for kind in kinds]
    guided, unguided = map(_side, kinds, changes)
    if min(guided.proposals, unguided.proposals) < LEAST:
        return Uplift(guided=guided, unguided=unguided)
    improved = guided.improved + unguided.improved  # `p` is over all ways to choose the guided proposals
    return Uplift(
        guided=guided,
        unguided=unguided,
        rate=_rates(guided, unguided),
        p=as_far(guided.improved, drawn=guided.proposals, marked=improved, total=guided.proposals + unguided.proposals),
        change=_means(*changes) if min(map(len, changes)) >= LEAST else None,
        scale=scale,
    )


def _side(trials: Sequence[Proposal], changes: Sequence[float]) -> Side:
    return Side(
        proposals=len(trials),
        improved=sum(trial.improved for trial in trials),
        mean_change=fsum(changes) / len(changes) if changes else None,
    )


def _rates(guided: Side, unguided: Side) -> tuple[float, float, float]:
    """The difference of two shares and its interval: Newcombe's, Statistics in Medicine 17 (1998), method 10."""
    (p, low, high), (q, under, over) = _wilson(guided), _wilson(unguided)
    return p - q, p - q - sqrt((p - low) ** 2 + (over - q) ** 2), p - q + sqrt((high - p) ** 2 + (q - under) ** 2)


def _wilson(side: Side) -> tuple[float, float, float]:
    """A share and its interval."""
    n, p, square = side.proposals, side.improved / side.proposals, _Z * _Z
    middle = (p + square / (2 * n)) / (1 + square / n)
    half = _Z / (1 + square / n) * sqrt(p * (1 - p) / n + square / (4 * n * n))
    return p, middle - half, middle + half


def _means(guided: Sequence[float], unguided: Sequence[float]) -> tuple[float, float, float]:
    """The difference of two means, and its interval by the variances of both."""
    means, errors = [], []
    for values in (guided, unguided):
        mean = fsum(values) / len(values)
        means.append(mean)
        errors.append(fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    difference, half = means[0] - means[1], _Z * sqrt(sum(errors))
    return difference, difference - half, difference + half

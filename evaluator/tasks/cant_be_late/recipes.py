"""The recipe of the traces: when spot is there in one of six zones, for the shipped suites and for fresh instances.

No published trace is used. Spot comes and goes: times of both kinds follow one another, many short ones and a few that
are very long. A short one lasts 1 to 6 ticks, a long one follows a power law (Pareto). A trace begins with either kind,
each with probability 1/2.
"""

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

ZONES: Final = (
    (Fraction(1), Fraction(1)),
    (Fraction(1), Fraction(1, 2)),
    (Fraction(1, 2), Fraction(1)),
    (Fraction(2), Fraction(1)),
    (Fraction(1), Fraction(2)),
    (Fraction(7, 10), Fraction(7, 10)),
)
"""By what a zone multiplies the times with spot and those without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasting:
    """How long one kind of time lasts, in ticks: uniform 1 to 6 with probability `short`, else `scale` / U^(1/exponent)
    rounded down, at most `longest`."""

    short: float
    scale: int
    longest: int

    def draw(self, rng: random.Random, exponent: float) -> int:
        """A number of ticks, before the zone multiplies it."""
        if rng.random() < self.short:
            return rng.randint(1, 6)
        uniform = 1 - rng.random()  # in (0, 1]
        power: float = uniform ** (1 / exponent)
        return min(self.longest, math.floor(self.scale / power))


UP: Final = Lasting(short=0.3, scale=6, longest=288)
DOWN: Final = Lasting(short=0.5, scale=4, longest=144)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The exponent of both power laws, and the jobs: (work, deadline, overhead), in ticks."""

    exponent: float
    jobs: tuple[tuple[int, int, int], ...]


_SINGLE: Final = Recipe(
    exponent=1.3, jobs=tuple((144, deadline, overhead) for deadline in (180, 216) for overhead in (1, 3))
)
_SHIFTED: Final = Recipe(exponent=2.5, jobs=tuple((100, 110, overhead) for overhead in (1, 3)))
RECIPES: Final = {
    "single": _SINGLE,
    "single-holdout": _SINGLE,
    "shifted": _SHIFTED,
    "shifted-holdout": _SHIFTED,
}
"""The recipe of each suite, by its name."""


def make(
    rng: random.Random, recipe: Recipe, zone: tuple[Fraction, Fraction], job: tuple[int, int, int]
) -> dict[str, Any]:
    """A trace of a zone, up to the deadline, and its job."""
    work, deadline, overhead = job
    up = rng.random() < 0.5
    marks = ""
    while len(marks) < deadline:
        kind, factor = (UP, zone[0]) if up else (DOWN, zone[1])
        marks += ("1" if up else "0") * math.ceil(kind.draw(rng, recipe.exponent) * factor)
        up = not up
    return {"work": work, "deadline": deadline, "overhead": overhead, "spot": marks[:deadline]}


def draw_instance(rng: random.Random, suite: str) -> dict[str, Any]:
    """A new instance of a suite: one of its jobs in one of the zones."""
    recipe = RECIPES[suite]
    zone = rng.choice(ZONES)
    return make(rng, recipe, zone, rng.choice(recipe.jobs))

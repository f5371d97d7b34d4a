"""Whether a program's gains on a suite hold on other instances of the same recipe.

A program and the initial program are compared instance by instance, on the suite and on others: its held-out suite, or
fresh instances. All are draws of one recipe, so an honest program gains alike on both; a table of the suite's answers
gains on the suite alone. The rule:

1. An instance where the initial program is at the proven optimum has no room for a gain, and does not count. This
   applies only where every optimum is known, on the suite and on the others: left out on one side alone, such
   instances would make an honest program's gains look rarer on the other. An instance does not count either where the
   program met a limit of time or memory, or had done so before. On fresh instances meeting a limit is a failure where
   the program stayed ten times below that limit on every instance of the suite and the initial program succeeds
   (`evaluator.fresh`). That rests on measured times, so it does not apply to the held-out suite, whose result is part
   of a run's fingerprint.
2. The gain on an instance is the drop of the cost divided by the larger of both absolute costs: from -1 to 1. It is 1
   where only the initial program fails, -1 where only the other fails, 0 where both fail.
3. A program is *overfitted or looked up* if three things hold. Its mean gain on the suite is above 0. Its mean gain on
   the others is less than half of that. And instances that gain at least half of the suite's mean gain are rarer among
   the others, by Fisher's exact test (one-sided) at a level of 0.01.

So very few instances (fewer than five of each, say) never convict a program.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from evaluator.exact_tests import at_most

LEVEL: Final = 0.01
"""The highest probability of calling a program overfitted whose gains are alike on both."""
KEPT: Final = Fraction(1, 2)
"""The share of the suite's mean gain that other instances must show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPairs:
    """Exact costs per instance of the initial program and of another one (None: it failed), and the proven optima
    (None: not known); `unknown` where the program met a limit, or had done so before."""

    initial: Sequence[Fraction | None]
    program: Sequence[Fraction | None]
    optima: Sequence[Fraction | None]
    unknown: Sequence[bool]

    def gains(self, *, with_room: bool) -> list[Fraction]:
        """The gain on each instance that counts; `with_room`: only where the initial program is not at the optimum."""
        return [
            gain(before, after)
            for before, after, best, unknown in zip(self.initial, self.program, self.optima, self.unknown, strict=True)
            if not unknown and not (with_room and before is not None and before == best)
        ]

    @property
    def tally(self) -> tuple[int, int, int]:
        """On how many instances the program is better, equal and worse."""
        signs = [gain(before, after) for before, after in zip(self.initial, self.program, strict=True)]
        better, worse = sum(sign > 0 for sign in signs), sum(sign < 0 for sign in signs)
        return better, len(signs) - better - worse, worse


def gain(before: Fraction | None, after: Fraction | None) -> Fraction:
    """How much smaller a cost became, from -1 to 1; None is a failure."""
    if before is None or after is None:
        return Fraction((before is None) - (after is None))
    larger = max(abs(before), abs(after))
    return Fraction(0) if not larger else max(Fraction(-1), min(Fraction(1), (before - after) / larger))


def overfitted(suite: CostPairs, others: CostPairs, *, called: str) -> str | None:
    """Why the program counts as overfitted, in a sentence; None where it does not. `called` names the others."""
    with_room = None not in (*suite.optima, *others.optima)
    here, there = suite.gains(with_room=with_room), others.gains(with_room=with_room)
    if not here or not there:
        return None
    mean, mean_there = Fraction(sum(here), len(here)), Fraction(sum(there), len(there))
    if mean <= 0 or mean_there >= KEPT * mean:
        return None
    enough = KEPT * mean
    gained, gained_there = sum(share >= enough for share in here), sum(share >= enough for share in there)
    every, total = gained + gained_there, len(here) + len(there)
    if at_most(gained_there, drawn=len(there), marked=every, total=total) >= LEVEL:
        return None
    return (
        f"it gains on the suite only: {gained} of {len(here)} instances have at least half of its mean gain on the "
        f"initial program there, and {gained_there} of {len(there)} {called}. It is overfitted to the suite's "
        "instances, or their answers are looked up"
    )

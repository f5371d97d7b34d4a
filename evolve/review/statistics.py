"""Statistics over several runs: the median of a configuration with its interval, and tests between two.

No distribution of the values is assumed. With fewer than `LEAST` runs there is no interval and no test.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, erfc, isfinite, sqrt
from typing import Final

from evaluator.exact_tests import as_uneven

LEAST: Final = 5
"""With fewer values, no interval of the median reaches a level of 90 %."""
LEVEL: Final = Fraction(9, 10)
"""The least level of an interval."""
MOST_EXACT: Final = 2500
"""The most pairs (50 runs against 50) of an exact test; a larger one would take seconds."""
SETTLED: Final = Fraction(1, 20)
"""The largest p of a settled test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianInterval:
    """The interval of the median from the `rank`-th smallest to the `rank`-th largest value, with its level: the exact
    probability, or a lower limit of it if values may be equal."""

    low: float
    high: float
    level: Fraction
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedCounts:
    """The pairs of a value of a first configuration with a value of a second: in how many the second is better, equal
    and worse. `p` is the two-sided probability of a split at least as uneven by chance. `exact`: all splits were
    counted; else it is the normal approximation."""

    better: int
    equal: int
    worse: int
    p: Fraction
    exact: bool

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return self.better + self.equal + self.worse

    @property
    def settled(self) -> bool:
        """Whether the difference is significant."""
        return self.p <= SETTLED


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle. Raises ValueError without values, or if one is not
    finite."""
    ordered = _sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median_interval(values: Sequence[float], *, least: Fraction = LEVEL) -> MedianInterval | None:
    """The narrowest interval from the k-th smallest to the k-th largest value with a level of at least `least`; None
    for fewer than LEAST values, or too few for that level. Raises ValueError as `median` does.

    The median lies below the k-th smallest of n values if fewer than k of them fall below it, each with probability
    1/2: so the level is 1 - 2 P(B < k), B binomial of n and 1/2. Of five values it is 93.75 %, from the smallest to the
    largest.
    """
    ordered = _sorted(values)
    if len(ordered) < LEAST:
        return None
    rank = max((k for k in range(1, len(ordered) // 2 + 1) if level_of(len(ordered), k) >= least), default=None)
    if rank is None:
        return None
    return MedianInterval(low=ordered[rank - 1], high=ordered[-rank], level=level_of(len(ordered), rank), rank=rank)


def level_of(count: int, rank: int) -> Fraction:
    """The exact level of the interval from the `rank`-th smallest to the `rank`-th largest of `count` values."""
    outside = sum(comb(count, below) for below in range(rank))
    return 1 - Fraction(2 * outside, 2**count)


def compare(first: Sequence[float], second: Sequence[float], *, sign: int) -> PairedCounts | None:
    """Compare the values of a second configuration with those of a first; None if one has fewer than LEAST. `sign`: 1
    if larger is better, else -1. Raises ValueError as `median` does.

    The test is the permutation test of the number of pairs in which the second is better, an equal pair counting half:
    without a difference, all splits of the values between the two are equally likely. Up to MOST_EXACT pairs, all
    splits are counted; beyond that, the normal approximation is used.
    """
    ours, theirs = _sorted(first), _sorted(second)
    if min(len(ours), len(theirs)) < LEAST:
        return None
    better, equal, worse = pair_counts(ours, theirs, sign=sign)
    exact = len(ours) * len(theirs) <= MOST_EXACT
    few, many = sorted((ours, theirs), key=len)
    p = as_uneven(many, few, abs(better - worse)) if exact else approximation(ours, theirs, abs(better - worse))
    return PairedCounts(better=better, equal=equal, worse=worse, p=p, exact=exact)


def pair_counts(first: Sequence[float], second: Sequence[float], *, sign: int) -> tuple[int, int, int]:
    """The number of pairs in which the value of the second is better, equal and worse."""
    better = sum(sign * b > sign * a for a in first for b in second)
    equal = sum(a == b for a in first for b in second)
    return better, equal, len(first) * len(second) - better - equal


def approximation(first: Sequence[float], second: Sequence[float], excess: int) -> Fraction:
    """The normal approximation of `as_uneven`. The variance of the excess over all splits is
    n m (N + 1 - sum (t^3 - t) / (N (N - 1))) / 3 with t equal values of each kind. The continuity correction is half a
    step: possible excesses differ by two if no values are equal."""
    pooled = Counter((*first, *second))
    total = pooled.total()
    ties = Fraction(sum(count**3 - count for count in pooled.values()), total * (total - 1))
    variance = Fraction(len(first) * len(second), 3) * (total + 1 - ties)
    return Fraction(erfc(max(0, excess - 1) / sqrt(2 * variance))) if variance else Fraction(1)


def _sorted(values: Sequence[float]) -> list[float]:
    if not values or not all(map(isfinite, values)):
        raise ValueError(f"{list(values)!r:.80}: a median takes finite numbers, one at least")
    return sorted(values)

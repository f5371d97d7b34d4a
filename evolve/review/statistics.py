"""What several runs of one configuration say: the median with its interval, and one configuration against another.

Nothing is assumed of how values are distributed. With fewer than `LEAST` runs there is no interval and no test: the
values are all there is to tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, isfinite
from typing import Final

LEAST: Final = 5
"""With fewer values no interval of the median has a level of 90 %."""
LEVEL: Final = Fraction(9, 10)
"""The least level of an interval."""
SETTLED: Final = Fraction(1, 20)
"""A test whose p is at most this settles which of two is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianInterval:
    """Between which two of the values (the `rank`-th smallest and the `rank`-th largest) the median of what they were
    drawn from lies, and with which probability (exact, and at least that where values may be equal)."""

    low: float
    high: float
    level: Fraction
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedCounts:
    """Each value of one configuration with each of another: in how many pairs the second one's is better, equal and
    worse; and `p`, the exact two-sided probability that chance alone deals the values out as unevenly."""

    better: int
    equal: int
    worse: int
    p: Fraction

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self.better + self.equal + self.worse

    @property
    def settled(self) -> bool:
        """Whether chance alone would seldom do this."""
        return self.p <= SETTLED


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle. Raises ValueError for none, or one that is no number."""
    ordered = _sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median_interval(values: Sequence[float]) -> MedianInterval | None:
    """The narrowest interval from the k-th smallest to the k-th largest value whose level is at least LEVEL; None for
    fewer than LEAST values. Raises ValueError as `median` does.

    The median lies below the k-th smallest of n values if fewer than k of them fall below it, each with probability
    1/2: so the level is 1 - 2 P(B < k), B binomial of n and 1/2. Of five values it is 93.75 %, from the smallest to the
    largest.
    """
    ordered = _sorted(values)
    if len(ordered) < LEAST:
        return None
    rank = max(k for k in range(1, len(ordered) // 2 + 1) if level_of(len(ordered), k) >= LEVEL)
    return MedianInterval(low=ordered[rank - 1], high=ordered[-rank], level=level_of(len(ordered), rank), rank=rank)


def level_of(count: int, rank: int) -> Fraction:
    """The exact level of the interval from the `rank`-th smallest to the `rank`-th largest of so many values."""
    outside = sum(comb(count, below) for below in range(rank))
    return 1 - Fraction(2 * outside, 2**count)


def compare(first: Sequence[float], second: Sequence[float], *, sign: int) -> PairedCounts | None:
    """How values of a second configuration stand to those of a first; None if one has fewer than LEAST. `sign`: 1 where
    larger is better, else -1. Raises ValueError as `median` does.

    The test is the exact permutation test of the number of pairs in which the second is better, an equal pair counting
    half: were there no difference, each way of dealing the values out to the two would be as likely. All ways are
    counted, none is sampled.
    """
    ours, theirs = _sorted(first), _sorted(second)
    if min(len(ours), len(theirs)) < LEAST:
        return None
    better = sum(sign * b > sign * a for a in ours for b in theirs)
    equal = sum(a == b for a in ours for b in theirs)
    worse = len(ours) * len(theirs) - better - equal
    return PairedCounts(better=better, equal=equal, worse=worse, p=_probability(ours, theirs, abs(better - worse)))


def _probability(first: Sequence[float], second: Sequence[float], excess: int) -> Fraction:
    """The share of all ways to choose as many of the values as `first` has, in which better and worse pairs differ by
    at least `excess`.

    A choice of m out of n + m values whose doubled mid-ranks add up to s has s - m (n + m + 1) more better than worse
    pairs. How many choices have which sum is counted together: one long integer for each size of a choice holds, at
    every `width` bits, the number of choices with that sum.
    """
    pooled = sorted((*first, *second))
    size, total = len(second), comb(len(pooled), len(second))
    width = (total.bit_length() + 7) // 8
    ways = [1, *[0] * size]
    for value in pooled:
        below, same = sum(other < value for other in pooled), pooled.count(value)
        doubled_rank = 2 * below + same + 1
        for chosen in range(size, 0, -1):
            ways[chosen] += ways[chosen - 1] << (8 * width * doubled_rank)
    packed = ways[size].to_bytes((ways[size].bit_length() + 7) // 8, "little")
    middle = size * (len(pooled) + 1)
    extreme = sum(
        int.from_bytes(packed[at : at + width], "little")
        for at in range(0, len(packed), width)
        if abs(at // width - middle) >= excess
    )
    return Fraction(extreme, total)


def _sorted(values: Sequence[float]) -> list[float]:
    if not values or not all(map(isfinite, values)):
        raise ValueError(f"{list(values)!r:.80}: a median takes finite numbers, one at least")
    return sorted(values)

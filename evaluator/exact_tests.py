"""Exact tests: how likely chance alone is to give a result this uneven. All ways are counted, none is sampled."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb


def at_most(hits: int, *, drawn: int, marked: int, total: int) -> Fraction:
    """The probability of at most `hits` hits among `drawn` of `total` things, of which `marked` are hits: Fisher's
    exact test, one-sided."""
    ways = sum(ways for count, ways in _hypergeometric(drawn, marked, total) if count <= hits)
    return Fraction(ways, comb(total, drawn))


def as_far(hits: int, *, drawn: int, marked: int, total: int) -> Fraction:
    """The probability that the count of hits among `drawn` of `total` things, of which `marked` are hits, lies at least
    as far from its mean as `hits` does."""
    middle = marked * drawn
    far = abs(hits * total - middle)
    ways = sum(ways for count, ways in _hypergeometric(drawn, marked, total) if abs(count * total - middle) >= far)
    return Fraction(ways, comb(total, drawn))


def as_uneven(first: Sequence[float], second: Sequence[float], excess: int) -> Fraction:
    """The share of all choices of as many of the values as `second` has, in which better and worse pairs differ by at
    least `excess`. Fastest where `second` has fewer values.

    A choice of m out of n + m values whose doubled mid-ranks add up to s has s - m (n + m + 1) more better than worse
    pairs. For each size of a choice one long integer counts the choices by their sum: `width` bytes for each sum.
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


def _hypergeometric(drawn: int, marked: int, total: int) -> Iterator[tuple[int, int]]:
    """Each possible number of hits, with the number of ways to draw it."""
    least, most = max(0, marked + drawn - total), min(marked, drawn)
    ways = comb(marked, least) * comb(total - marked, drawn - least)
    for hits in range(least, most + 1):
        yield hits, ways
        ways = ways * (marked - hits) * (drawn - hits) // ((hits + 1) * (total - marked - drawn + hits + 1))

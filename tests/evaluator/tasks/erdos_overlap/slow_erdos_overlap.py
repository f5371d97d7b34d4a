"""An independent judge of heights: the definition, word by word, in fractions and a double loop."""

import math
from collections.abc import Sequence
from fractions import Fraction


def slow_overlap(answer: Sequence[int | float]) -> Fraction | None:
    """The overlap of the heights, cut down to multiples of max / 2^60 first; None if one is above 1 then."""
    unit = Fraction(max(answer)) / 2**60
    whole = [math.floor(Fraction(height) / unit) * unit for height in answer]
    n = len(whole)
    heights = [height * n / 2 / sum(whole) for height in whole]
    if max(heights) > 1:
        return None
    overlaps = {shift: Fraction(0) for shift in range(1 - n, n)}
    for i, height in enumerate(heights):
        for j, other in enumerate(heights):
            overlaps[j - i] += height * (1 - other)
    return Fraction(2, n) * max(overlaps.values())

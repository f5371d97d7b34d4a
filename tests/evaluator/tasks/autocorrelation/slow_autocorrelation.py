"""An independent judge of heights: the definition, word by word, in fractions and a double loop."""

import math
from collections.abc import Sequence
from fractions import Fraction


def slow_constant(answer: Sequence[int | float]) -> Fraction:
    """C of the heights, cut down to multiples of max / 2^60 first."""
    unit = Fraction(max(answer)) / 2**60
    heights = [math.floor(Fraction(height) / unit) * unit for height in answer]
    sums = [Fraction(0)] * (2 * len(heights) - 1)
    for i, left in enumerate(heights):
        for j, right in enumerate(heights):
            sums[i + j] += left * right
    return 2 * len(heights) * max(sums) / sum(heights) ** 2

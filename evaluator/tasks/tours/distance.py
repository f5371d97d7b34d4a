"""How far two points lie apart."""

from collections.abc import Sequence
from math import isqrt


def distance(one: Sequence[int], other: Sequence[int]) -> int:
    """Their Euclidean distance, rounded to the nearest whole number (as TSPLIB's EUC_2D), exactly."""
    square = (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2
    return (isqrt(4 * square) + 1) // 2

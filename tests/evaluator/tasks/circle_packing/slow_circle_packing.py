"""An independent judge of packings: the rule, word by word, in fractions, with halvings in place of a square root."""

import itertools
import math
from fractions import Fraction

from evaluator import Infeasible, InvalidAnswer

STEPS = 2**128
"""The factor is a whole multiple of 1 / STEPS, where it is not 1."""


def slow_verdict(n: int, answer: object) -> Fraction | type[Exception]:
    """The sum of the radii after the repair; or what is raised for an answer that has none."""
    if type(answer) is not list or len(answer) != n or not all(_is_circle(entry) for entry in answer):
        return InvalidAnswer
    circles = [[Fraction(number) for number in entry] for entry in answer]
    if any(r < 0 for _, _, r in circles):
        return InvalidAnswer
    if any(not (0 <= x <= 1 and 0 <= y <= 1) for x, y, _ in circles):
        return Infeasible
    factor = slow_factor(circles)
    return factor * sum(r for _, _, r in circles) if factor else Infeasible


def slow_factor(circles: list[list[Fraction]]) -> Fraction:
    """The largest factor <= 1 for all radii that makes the packing valid, rounded down to a multiple of 1 / STEPS."""
    # What must fit: a radius into the way to each of the four sides, two radii into the distance of their centres.
    fits = [(r**2, gap**2) for x, y, r in circles for gap in (x, 1 - x, y, 1 - y)]
    fits += [
        ((a[2] + b[2]) ** 2, (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) for a, b in itertools.combinations(circles, 2)
    ]

    def valid(multiple: int) -> bool:
        square = Fraction(multiple, STEPS) ** 2
        return all(square * reach <= room for reach, room in fits)

    low, high = 0, STEPS
    if valid(high):
        return Fraction(1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if valid(middle) else (low, middle)
    return Fraction(low, STEPS)


def _is_circle(entry: object) -> bool:
    if type(entry) is not list or len(entry) != 3:
        return False
    return all(
        (type(number) is float and math.isfinite(number)) or (type(number) is int and abs(number) < 2**1024)
        for number in entry
    )

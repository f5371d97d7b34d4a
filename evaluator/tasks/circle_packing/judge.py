"""Judging circle packings: exact, with one repair in place of a tolerance.

An instance is `{"n": n}`; an answer is `[[x, y, r], ...]`, n circles for the unit square. Every number is read as the
exact rational that it is (a float is one). Circles that overlap or leave the square are not refused: all radii are
shrunk by the largest factor <= 1 that makes the packing valid, rounded down, so that a rounding error of 1e-16 costs
1e-16 and an overlap of 1e-6 gains nothing. The value is the sum of the shrunk radii, an exact fraction.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from evaluator import Infeasible, InvalidAnswer

FACTOR_BITS = 128
"""The factor is rounded down to a multiple of 2^-128."""
_LARGEST = 2**1024


class Circle(NamedTuple):
    """A centre and a radius, as whole multiples of one small unit."""

    x: int
    y: int
    r: int


def judge(instance: Mapping[str, Any], answer: object) -> Fraction:
    """The sum of the radii after the repair. Raises InvalidAnswer or Infeasible for what is no packing."""
    circles, unit = read(instance["n"], answer)
    for index, (x, y, _) in enumerate(circles):
        if not (0 <= x <= unit and 0 <= y <= unit):
            raise Infeasible(f"the centre of circle {index} is outside the unit square")
    factor = repair_factor(circles, unit)
    if not factor:
        raise Infeasible(_unrepairable(circles, unit))
    return factor * Fraction(sum(circle.r for circle in circles), unit)


def read(n: int, answer: object) -> tuple[list[Circle], int]:
    """The circles in a unit that makes all numbers whole, and how many such units the side of the square has.
    Raises InvalidAnswer."""
    if type(answer) is not list:
        raise InvalidAnswer(f"the answer is {_shown(answer)}, not a list of [x, y, r]")
    if len(answer) != n:
        raise InvalidAnswer(f"the answer holds {len(answer)} circles; it must hold {n}")
    rows = []
    for index, entry in enumerate(answer):
        if type(entry) is not list or len(entry) != 3:
            raise InvalidAnswer(f"circle {index} is {_shown(entry)}, not [x, y, r]")
        rows.append([_number(value, index, name) for value, name in zip(entry, "xyr", strict=True)])
        if rows[-1][2] < 0:
            raise InvalidAnswer(f"the radius of circle {index} is negative")
    # Denominators are powers of 2, so that the largest of them is a common one.
    unit = max((value.denominator for row in rows for value in row), default=1)
    whole = [[value.numerator * (unit // value.denominator) for value in row] for row in rows]
    return [Circle(x, y, r) for x, y, r in whole], unit


def repair_factor(circles: Sequence[Circle], unit: int) -> Fraction:
    """The largest factor <= 1 for all radii that makes the packing valid, rounded down to a multiple of 2^-128 where
    it is not 1 (so it may be 0)."""
    factor = Fraction(1)
    for x, y, r in circles:
        wall = min(x, unit - x, y, unit - y)
        if r > wall:
            factor = min(factor, Fraction(_rounded_down(wall**2, r**2), 2**FACTOR_BITS))
    for index, (x, y, r) in enumerate(circles):
        for other in circles[:index]:
            distance, reach = (x - other.x) ** 2 + (y - other.y) ** 2, (r + other.r) ** 2
            if reach > distance:
                factor = min(factor, Fraction(_rounded_down(distance, reach), 2**FACTOR_BITS))
    return factor


def describe(instance: Mapping[str, Any]) -> str:
    """What an instance is like: `26 circles`."""
    return f"{instance['n']} circles"


def draw(instance: Mapping[str, Any], answer: object) -> str:
    """The packing as the judge counts it (radii after the repair), as SVG. Raises as `judge` does."""
    value = judge(instance, answer)
    circles, unit = read(instance["n"], answer)
    factor = repair_factor(circles, unit)
    side = 400

    def pixels(length: Fraction) -> str:
        return f"{float(length * side):.3f}"

    drawn = [
        f'<circle cx="{pixels(Fraction(x, unit))}" cy="{pixels(1 - Fraction(y, unit))}" '
        f'r="{pixels(factor * Fraction(r, unit))}" fill="#9ecae1" stroke="#08519c" stroke-width="0.5"/>'
        for x, y, r in circles
    ]
    title = f"<title>{len(circles)} circles, sum of radii {float(value):.10f}</title>"
    square = f'<rect width="{side}" height="{side}" fill="white" stroke="black"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 {side + 4} {side + 4}" width="{side}">'
    return "\n".join([head, title, square, *drawn, "</svg>"])


def _rounded_down(square: int, of: int) -> int:
    """The square root of square / of, in units of 2^-FACTOR_BITS, rounded down."""
    return math.isqrt((square << 2 * FACTOR_BITS) // of)


def _number(value: object, index: int, name: str) -> Fraction:
    if type(value) is float and math.isfinite(value):
        return Fraction(value)
    if type(value) is int and abs(value) < _LARGEST:
        return Fraction(value)
    raise InvalidAnswer(f"{name} of circle {index} is {_shown(value)}, not a finite number")


def _unrepairable(circles: Sequence[Circle], unit: int) -> str:
    for index, (x, y, r) in enumerate(circles):
        if r and not min(x, unit - x, y, unit - y):
            return f"the centre of circle {index} is on the side of the square, and its radius is not 0"
        for earlier, other in enumerate(circles[:index]):
            if (x, y) == (other.x, other.y) and r + other.r:
                return f"circles {earlier} and {index} have the same centre, and not both have radius 0"
    return "the radii are so large that only shrinking them to nothing makes the packing valid"


def _shown(value: object) -> str:
    """A short name for an untrusted value. Strings and containers are named by their type only."""
    if type(value) is int:
        return str(value) if abs(value) < 10**12 else "a number far out of range"
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    names = {"list": "a list", "dict": "an object", "str": "a string"}
    return names.get(type(value).__name__, "no JSON value")

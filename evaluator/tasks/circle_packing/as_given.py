"""A packing before the repair: the sum of its radii, and the tolerance that it needs to be valid."""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from evaluator.task import AsGiven
from evaluator.tasks.circle_packing.judge import FACTOR_BITS, Circle, read


def as_given(instance: Mapping[str, Any], answer: object) -> AsGiven:
    """The packing's worth and tolerance, in lengths. Raises InvalidAnswer for what is no packing."""
    circles, unit = read(instance["n"], answer)
    excess, why = max(_excesses(circles, unit), default=(Fraction(0), ""), key=lambda found: found[0])
    value = Fraction(sum(circle.r for circle in circles), unit)
    return AsGiven(value=value, tolerance=excess, why=why)


def _excesses(circles: Sequence[Circle], unit: int) -> Iterator[tuple[Fraction, str]]:
    """By how much each broken rule is broken, rounded up, in words too."""
    for index, (x, y, r) in enumerate(circles):
        wall = min(x, unit - x, y, unit - y)
        if r > wall:
            excess = Fraction(r - wall, unit)
            yield excess, f"circle {index} leaves the square by {float(excess):.2g}"
        for earlier, other in enumerate(circles[:index]):
            distance, reach = (x - other.x) ** 2 + (y - other.y) ** 2, (r + other.r) ** 2
            if reach > distance:
                apart = Fraction(math.isqrt(distance << 2 * FACTOR_BITS), 1 << FACTOR_BITS)
                excess, square = (r + other.r - apart) / unit, Fraction(reach - distance, unit**2)
                squared = f"{float(square):.2g} in squared distance"
                yield excess, f"circles {earlier} and {index} overlap by {float(excess):.2g} ({squared})"

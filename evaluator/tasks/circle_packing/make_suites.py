"""Makes the suites and their bounds: `python -m evaluator.tasks.circle_packing.make_suites`.

An instance is nothing but a number of circles. The bound is the area's: the circles are disjoint in a square of area
1, so sum(pi r^2) <= 1, and by Cauchy and Schwarz sum(r) <= sqrt(n sum(r^2)) <= sqrt(n / pi). It is weak (9 % above the
best known packings), and serves to find a bug in the judge.
"""

import math
from fractions import Fraction
from pathlib import Path

from evaluator.tasks.suite_files import as_text

FOLDER = Path(__file__).resolve().parent
PI_FROM_BELOW = Fraction(333, 106)
"""A convergent of pi's continued fraction, and smaller than pi."""
_STEPS = 10**6

SUITES: dict[str, list[int]] = {"n26": [26], "n32": [32], "holdout": [20, 24, 28, 30]}
"""The numbers of circles of every suite."""


def area_bound(n: int) -> Fraction:
    """No packing of n circles has a larger sum of radii: sqrt(n / pi), rounded up to 6 decimals."""
    square = n / PI_FROM_BELOW * _STEPS**2
    return Fraction(math.isqrt(math.ceil(square)) + 1, _STEPS)


def suite_text(suite: str) -> str:
    """The file of a suite: JSON, one instance a line."""
    return as_text(suite, "instances", [{"n": n} for n in SUITES[suite]])


def bounds_text(suite: str) -> str:
    """The file of a suite's bounds: JSON, one instance a line. None of them is attained."""
    return as_text(suite, "bounds", [{"upper_bound": str(area_bound(n))} for n in SUITES[suite]])


def main() -> None:
    """Writes every suite and its bounds into this folder."""
    for kind, text in (("suites", suite_text), ("bounds", bounds_text)):
        (FOLDER / kind).mkdir(exist_ok=True)
        for suite in SUITES:
            (FOLDER / kind / f"{suite}.json").write_text(text(suite), encoding="utf-8")


if __name__ == "__main__":
    main()

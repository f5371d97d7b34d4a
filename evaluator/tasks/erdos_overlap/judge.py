"""Judging step functions: the exact overlap of the heights, whatever the program says of them.

An instance is `{"max_n": N}`; an answer is a list of 1 to N numbers, the heights of a step function h on [0, 2] with n
pieces of equal width. The judge scales them so that the integral of h is 1: the heights then sum to n/2, and none may
be above 1. The cost is the largest integral of h(x) (1 - h(x + t)) over all shifts t, with both factors 0 outside
[0, 2] (Haugland 2016, arXiv 1609.08000). It is linear between shifts by whole pieces, so that no maximum is missed.

Heights are cut down to multiples of max / 2^60 first, as in the task `autocorrelation`. With those as integers H_i and
their sum S, the complement is G_i = 2S - n H_i, and the cost is max_k (sum_i H_i G_(i+k)) / 2S^2, an exact fraction.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from evaluator import Infeasible, InvalidAnswer
from evaluator.tasks.autocorrelation.judge import cut_down
from evaluator.tasks.convolution import convolution
from evaluator.tasks.two_curves import two_curves

_LARGEST = 2**1024
"""As far as a float goes; an int may be larger."""


def judge(instance: Mapping[str, Any], answer: object) -> Fraction:
    """The exact overlap of one answer. Raises InvalidAnswer or Infeasible for any JSON value that is no such list."""
    steps = cut_down(_heights(answer, instance["max_n"]))
    return Fraction(max(_overlaps(steps)), 2 * sum(steps) ** 2)


def describe(instance: Mapping[str, Any]) -> str:
    """What the instance asks for: `a step function of at most 4096 pieces`."""
    return f"a step function of at most {instance['max_n']} pieces"


def draw(instance: Mapping[str, Any], answer: object) -> str:
    """The step function and its overlap over all shifts, as SVG. Raises as `judge` does."""
    steps = cut_down(_heights(answer, instance["max_n"]))
    overlaps, pieces = _overlaps(steps), 2 * len(steps)
    highest = max(overlaps)
    # Shifts of -n and n pieces, with nothing in common, are the ends of the curve.
    curve = [((k + 1) / pieces, overlap / (highest or 1)) for k, overlap in enumerate(overlaps)]
    value = highest / (2 * sum(steps) ** 2)
    title = f"overlap by shift, from -2 to 2: at most {value:.9f}"
    return two_curves(steps, f"h: {len(steps)} heights", [(0.0, 0.0), *curve, (1.0, 0.0)], title)


def _overlaps(steps: Sequence[int]) -> list[int]:
    """The overlap for each shift by whole pieces, times 2 (sum of the steps)^2. Raises Infeasible."""
    count, double = len(steps), 2 * sum(steps)
    complement = [double - count * step for step in steps]
    if min(complement) < 0:
        index = complement.index(min(complement))
        scaled = count * steps[index] / double
        raise Infeasible(
            f"height {index} is {scaled:.17g} when the integral over [0, 2] is scaled to 1; at most 1 is allowed"
        )
    return convolution(steps, complement[::-1])


def _heights(answer: object, max_n: int) -> list[int | float]:
    """The answer as heights that are finite, not negative and not all zero. Raises InvalidAnswer."""
    if type(answer) is not list:
        raise InvalidAnswer(f"the answer is a {type(answer).__name__}, not a list of heights")
    if not 1 <= len(answer) <= max_n:
        raise InvalidAnswer(f"there are {len(answer)} heights; there must be 1 to {max_n}")
    for index, height in enumerate(answer):
        if type(height) is not int and type(height) is not float:
            raise InvalidAnswer(f"height {index} is a {type(height).__name__}, not a number")
        if not 0 <= height < _LARGEST:  # nor NaN
            shown = height if type(height) is float else "too large" if height > 0 else "negative"
            raise InvalidAnswer(f"height {index} is {shown}; heights must be finite and not negative")
    if not any(answer):
        raise InvalidAnswer("all heights are zero; at least one must be positive")
    return answer

"""Judging step functions: the exact constant of the heights, whatever the program says of them.

An instance is `{"max_n": N}`; an answer is a list of 1 to N numbers, the heights f_0 .. f_{n-1} of a step function on n
pieces of equal width. The cost is C = 2n * max_k (f*f)_k / (sum f)^2 as an exact fraction: the maximum of the
autoconvolution of that function on an interval of length 1/2, over the square of its integral (Matolcsi and Vinuesa
2010, arXiv 0907.1379). An autoconvolution of steps is linear between those points, so that no maximum is missed.

Heights are cut down to multiples of max / 2^60 first, so that a height of 1e-300 makes no integer of a thousand bits;
the cost is that of the heights that remain, which are a step function like any other.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from evaluator import InvalidAnswer
from evaluator.tasks.autocorrelation.convolution import autoconvolution
from evaluator.tasks.autocorrelation.picture import picture

RESOLUTION_BITS = 60
LARGEST_BITS = 1024  # as far as a float goes; an int may be longer


def judge(instance: Mapping[str, Any], answer: object) -> Fraction:
    """The exact constant of one answer. Raises InvalidAnswer for any JSON value that is no list of heights."""
    steps = cut_down(_heights(answer, instance["max_n"]))
    return Fraction(2 * len(steps) * max(autoconvolution(steps)), sum(steps) ** 2)


def cut_down(heights: Sequence[int | float]) -> list[int]:
    """Heights as multiples of max / 2^60, rounded down: the largest becomes 2^60. At least one must be positive."""
    top, under_top = max(heights).as_integer_ratio()
    steps = []
    for height in heights:
        over, under = height.as_integer_ratio()
        steps.append((over * under_top << RESOLUTION_BITS) // (under * top))
    return steps


def _heights(answer: object, max_n: int) -> list[int | float]:
    """The answer as heights that are finite, not negative and not all zero. Raises InvalidAnswer."""
    if type(answer) is not list:
        raise InvalidAnswer(f"the answer is a {type(answer).__name__}, not a list of heights")
    if not answer:
        raise InvalidAnswer("the list of heights is empty; it must hold at least one")
    if len(answer) > max_n:
        raise InvalidAnswer(f"there are {len(answer)} heights, and at most {max_n} are allowed")
    for index, height in enumerate(answer):
        if type(height) is not int and type(height) is not float:
            raise InvalidAnswer(f"height {index} is a {type(height).__name__}, not a number")
        if type(height) is float and not math.isfinite(height):
            raise InvalidAnswer(f"height {index} is {height}; heights must be finite")
        if type(height) is int and height.bit_length() > LARGEST_BITS:
            raise InvalidAnswer(f"height {index} is a number beyond 2^{LARGEST_BITS}")
        if height < 0:
            raise InvalidAnswer(f"height {index} is negative")
    if not any(answer):
        raise InvalidAnswer("all heights are zero; at least one must be positive")
    return answer


def describe(instance: Mapping[str, Any]) -> str:
    """What the instance asks for: `a step function of at most 2000 pieces`."""
    return f"a step function of at most {instance['max_n']} pieces"


def draw(instance: Mapping[str, Any], answer: object) -> str:
    """The step function and its autoconvolution, as SVG. Raises InvalidAnswer as `judge` does."""
    return picture(cut_down(_heights(answer, instance["max_n"])))

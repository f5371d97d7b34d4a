"""Exact autoconvolution of integers."""

from collections.abc import Sequence

from evaluator.tasks.convolution import convolution


def autoconvolution(numbers: Sequence[int]) -> list[int]:
    """`(f*f)_k = sum_i f_i f_(k-i)` for k = 0 .. 2n - 2, of integers that are not negative, at least one of them."""
    return convolution(numbers, numbers)

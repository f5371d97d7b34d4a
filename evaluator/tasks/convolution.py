"""Exact convolution of integers, by one multiplication of long integers (Kronecker substitution)."""

from collections.abc import Sequence


def convolution(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """`sum_i left_i right_(k-i)` for each k, of integers that are not negative, at least one on each side.

    The numbers become the digits of two integers in a base that no sum reaches; the digits of the product are the sums.
    Python multiplies an integer with itself faster than with another one.
    """
    shorter, count = min(len(left), len(right)), len(left) + len(right) - 1
    largest = shorter * max(1, *left) * max(1, *right)
    width = largest.bit_length() // 8 + 1  # bytes a digit: the largest sum fits, and every number
    first = _packed(left, width)
    second = first if right is left else _packed(right, width)
    digits = (first * second).to_bytes(width * count, "little")
    return [int.from_bytes(digits[at : at + width], "little") for at in range(0, width * count, width)]


def _packed(numbers: Sequence[int], width: int) -> int:
    """One integer with the numbers as digits of `width` bytes, the first one lowest."""
    return int.from_bytes(b"".join(number.to_bytes(width, "little") for number in numbers), "little")

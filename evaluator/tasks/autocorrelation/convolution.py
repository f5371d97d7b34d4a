"""Exact autoconvolution of integers, by one multiplication of long integers (Kronecker substitution)."""

from collections.abc import Sequence


def autoconvolution(numbers: Sequence[int]) -> list[int]:
    """`(f*f)_k = sum_i f_i f_(k-i)` for k = 0 .. 2n - 2, of integers that are not negative, at least one of them.

    The numbers become the digits of one integer in a base that no sum reaches; the digits of its square are the sums.
    """
    largest = max(numbers)
    width = (len(numbers) * largest * largest).bit_length() // 8 + 1  # bytes a digit: the largest sum fits
    packed = int.from_bytes(b"".join(number.to_bytes(width, "little") for number in numbers), "little")
    count = 2 * len(numbers) - 1
    digits = (packed * packed).to_bytes(width * count, "little")
    return [int.from_bytes(digits[at : at + width], "little") for at in range(0, width * count, width)]

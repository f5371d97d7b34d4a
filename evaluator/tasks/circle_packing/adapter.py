"""The circle packing task inside the candidate's process: n as the argument, circles -> JSON.

This source runs beside the candidate, which may have changed anything; nothing here is trusted. It turns what an
honest program returns (tuples, rows of an array, numpy's numbers) into lists of plain floats without changing a value.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any


def prepare(instance: Mapping[str, Any]) -> tuple[tuple[int], Callable[[object], list[list[float]]]]:
    """The argument `n` of `pack`, and the encoder of what it returns."""
    n = instance["n"]
    return (n,), lambda result: _encode(result, n)


def _encode(result: object, n: int) -> list[list[float]]:
    """`[(x, y, r), ...]` as lists of floats. Raises ValueError."""
    if result is None:
        raise ValueError("the packing is a NoneType, not a list of (x, y, r) (is a return missing?)")
    circles: list[list[float]] = []
    for circle in _items(result, "the packing", "a list of (x, y, r)"):
        if len(circles) >= n:
            raise ValueError(f"the packing holds more than {n} circles")
        numbers: list[float] = []
        for value in _items(circle, f"circle {len(circles)}", "(x, y, r)"):
            if len(numbers) == 3:
                raise ValueError(f"circle {len(circles)} has more than three numbers; it must be (x, y, r)")
            numbers.append(_plain(value, len(circles)))
        circles.append(numbers)
    return circles


def _items(value: object, what: str, expected: str) -> Iterable[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise ValueError(f"{what} is a {type(value).__name__}, not {expected}")  # noqa: TRY004 - contract of `encode`
    return value


def _plain(value: Any, circle: int) -> float:
    # numpy.bool_ and bool are numbers to `float`, and a string may read as one: none of them is a length.
    if isinstance(value, (str, bytes)) or type(value).__name__ in {"bool", "bool_"} or not hasattr(value, "__float__"):
        raise ValueError(f"circle {circle} holds a {type(value).__name__} where a number is expected")
    try:
        return float(value)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"circle {circle} holds what is no number: {error}") from None

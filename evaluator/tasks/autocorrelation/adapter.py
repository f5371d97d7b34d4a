"""The autocorrelation task inside the candidate's process: the instance -> `max_n`, what is returned -> plain numbers.

This source runs beside the candidate, which may have changed anything; nothing here is trusted. It only turns what an
honest program returns (a list, a tuple, a NumPy array) into JSON and says what is wrong with what it cannot read. What
the heights are worth is decided by the judge.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def prepare(instance: Mapping[str, Any]) -> tuple[tuple[int], Callable[[object], list[int | float]]]:
    """The argument `max_n` of `heights`, and the encoder of what it returns."""
    max_n = instance["max_n"]
    return (max_n,), lambda result: _encode(result, max_n)


def _encode(result: object, max_n: int) -> list[int | float]:
    """Heights as a list of ints and floats. Raises ValueError."""
    if isinstance(result, (str, bytes, Mapping)) or not isinstance(result, Iterable):
        raise ValueError(  # noqa: TRY004 - the contract of `encode`
            f"heights returned a {type(result).__name__}, not a list of numbers"
            + (" (is a return missing?)" if result is None else "")
        )
    plain: list[int | float] = []
    for index, item in enumerate(result):
        if index >= max_n:  # it may be endless
            raise ValueError(f"there are more heights than the {max_n} that are allowed")
        plain.append(_number(item, index))
    return plain


def _number(item: Any, index: int) -> int | float:
    """A Python or NumPy number as a plain one. Raises ValueError for anything else, and for NaN and infinities."""
    value = item
    if type(value) not in (int, float) and getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()  # a NumPy scalar
    if type(value) not in (int, float):
        raise ValueError(f"height {index} is a {type(value).__name__}, not a number")
    if type(value) is float and not math.isfinite(value):
        raise ValueError(f"height {index} is {value}; heights must be finite")
    return int(value) if type(value) is int else float(value)

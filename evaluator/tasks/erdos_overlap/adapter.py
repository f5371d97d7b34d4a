"""The task in the candidate's process: the instance -> `max_n`, what is returned -> plain numbers.

Nothing here is trusted: the candidate may have changed anything. It turns what an honest program returns (a list, a
tuple, a NumPy array) into JSON and says what it cannot read. The judge decides what the heights are worth.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any


def prepare(instance: Mapping[str, Any]) -> tuple[tuple[int], Callable[[object], list[int | float]]]:
    """The argument `max_n` of `heights`, and the encoder of what it returns."""
    max_n = instance["max_n"]
    return (max_n,), lambda result: _encode(result, max_n)


def _encode(result: object, max_n: int) -> list[int | float]:
    """Heights as a list of ints and floats. Raises ValueError."""
    if isinstance(result, (str, bytes, Mapping)) or not isinstance(result, Iterable):
        hint = " (is a return missing?)" if result is None else ""
        raise ValueError(f"heights returned a {type(result).__name__}, not a list of numbers{hint}")  # noqa: TRY004
    plain: list[int | float] = []
    for index, item in enumerate(result):
        if index >= max_n:  # it may be endless
            raise ValueError(f"there are more heights than the {max_n} that are allowed")
        plain.append(_number(item, index))
    return plain


def _number(item: Any, index: int) -> int | float:
    """A Python or NumPy number as a plain one. Raises ValueError for anything else, and for NaN and infinities."""
    value = item.item() if getattr(item, "shape", None) == () and hasattr(item, "item") else item
    if type(value) not in (int, float):
        raise ValueError(f"height {index} is a {type(value).__name__}, not a number")
    if not -float("inf") < value < float("inf"):
        raise ValueError(f"height {index} is {value}; heights must be finite")
    return int(value) if type(value) is int else float(value)

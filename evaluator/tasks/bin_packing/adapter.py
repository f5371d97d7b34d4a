"""Keeps the room in each bin beside the program, so that the judge need send nothing but the next item's size.

Nothing in here is believed: the judge has bins of its own, and knows the items to come, which are nowhere else.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

Prepared = tuple[tuple[int, int, list[int]], Callable[[object], int]]


def begin(first: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Prepared]:
    """A new instance, with no bin open."""
    capacity: int = first["capacity"]
    free: list[int] = []

    def prepare(asked: Mapping[str, Any]) -> Prepared:
        """The arguments `(item, capacity, free)` of `place`, with a copy of `free`, and the encoder of its result."""
        item: int = asked["item"]

        def encode(result: object) -> int:
            chosen = _index(result)
            if chosen == -1:
                free.append(capacity)
            if not -1 <= chosen < len(free):
                raise ValueError(
                    f"{_shown(chosen)} is no open bin: there are {len(free)}, counted from 0; -1 opens one"
                )
            free[chosen] -= item
            return chosen

        return (item, capacity, list(free)), encode

    return prepare


def _index(result: object) -> int:
    """`result` as a plain int. Raises ValueError for a bool, a float, None, a list."""
    if isinstance(result, bool):
        raise ValueError(f"the answer is {result}, a bool; it must be an int")  # noqa: TRY004 - the contract of `encode`
    try:
        return int.__index__(operator.index(result))  # type: ignore[arg-type]
    except TypeError:
        kind = type(result).__name__
        missing = " (is a return missing?)" if result is None else ""
        raise ValueError(f"the answer is a {kind}; it must be an int, the index of a bin or -1{missing}") from None


def _shown(number: int) -> str:
    return str(number) if abs(number) < 10**12 else "a number far out of range"

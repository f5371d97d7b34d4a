"""The scheduling task inside the candidate's process: workload -> arguments, schedule -> JSON.

This source runs beside the candidate, which may have changed anything; nothing here is trusted. Whether the schedule
is right is decided by the judge, from the pristine workload.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def prepare(instance: Mapping[str, Any]) -> tuple[tuple[list[Any]], Callable[[object], list[int]]]:
    """The argument of `schedule`: `[(length, [(kind, key, position), ...]), ...]`, and the encoder of its result."""
    transactions = [
        (length, [(kind, key, position) for kind, key, position in operations])
        for length, operations in instance["transactions"]
    ]
    count = len(transactions)
    return (transactions,), lambda result: _encode(result, count)


def _encode(result: object, count: int) -> list[int]:
    """A schedule as a list of plain ints. Raises ValueError for what is none."""
    if isinstance(result, (str, bytes, Mapping, set, frozenset)) or not isinstance(result, Iterable):
        raise ValueError(  # noqa: TRY004 - the contract of `encode`
            f"the schedule is a {type(result).__name__}, not a list of the indices of all {count} transactions"
            + (" (is a return missing?)" if result is None else "")
        )
    order: list[int] = []
    for item in result:
        if len(order) > count:
            raise ValueError(f"the schedule is longer than the {count} transactions that there are")
        if isinstance(item, bool):
            raise ValueError(f"the schedule holds the bool {item}; indices are ints")  # noqa: TRY004
        try:
            index = int.__index__(operator.index(item))
        except TypeError:
            raise ValueError(f"the schedule holds a {type(item).__name__}; indices are ints") from None
        if abs(index) > 10**9:
            raise ValueError("the schedule holds a number far out of range")
        order.append(index)
    return order

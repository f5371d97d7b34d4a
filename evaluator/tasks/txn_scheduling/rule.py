"""The rule that transactions are placed by, exact in integers: what the judge and the bounds have in common.

A workload is `{"transactions": [[length, [[kind, key, position], ...]], ...]}`; kind is "r" or "w", position counts
from 1 to length. Slots count from 1.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def starts(transactions: Sequence[Any], order: Sequence[int]) -> list[int]:
    """The first slot of every transaction, in the order in which they are placed.

    Each starts at the smallest slot at which every write comes later than the last access to its key by a
    transaction placed before, and every read later than the last such write.
    """
    last_access: dict[int, int] = {}
    last_write: dict[int, int] = {}
    found = []
    for index in order:
        operations = transactions[index][1]
        start = 1
        for kind, key, position in operations:
            earlier = last_access if kind == "w" else last_write
            start = max(start, earlier.get(key, 0) - position + 2)
        for kind, key, position in operations:
            slot = start + position - 1
            last_access[key] = max(slot, last_access.get(key, 0))
            if kind == "w":
                last_write[key] = max(slot, last_write.get(key, 0))
        found.append(start)
    return found


def makespan(workload: Mapping[str, Any], order: Sequence[int]) -> int:
    """The last slot that any transaction of a schedule occupies."""
    transactions = workload["transactions"]
    found = starts(transactions, order)
    last: int = max(start + transactions[index][0] - 1 for index, start in zip(order, found, strict=True))
    return last

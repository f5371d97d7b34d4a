"""An independent judge of schedules: the rule as it is described, slot by slot."""

import itertools
from typing import Any


def slow_makespan(transactions: Any, order: list[int]) -> int:
    """Every slot tried, every operation placed so far looked at."""
    placed: list[tuple[str, int, int]] = []
    end = 0
    for index in order:
        length, operations = transactions[index]
        start = next(
            slot
            for slot in itertools.count(1)
            if all(
                slot + position - 1 > other_slot
                for kind, key, position in operations
                for other_kind, other_key, other_slot in placed
                if key == other_key and "w" in (kind, other_kind)
            )
        )
        placed += [(kind, key, start + position - 1) for kind, key, position in operations]
        end = max(end, start + length - 1)
    return end


def slow_judge(transactions: Any, answer: Any) -> int | None:
    """The makespan of any JSON value; None for what is no list with every index once, as an int."""
    if not isinstance(answer, list) or {type(item) for item in answer} - {int}:
        return None
    if sorted(answer) != list(range(len(transactions))):
        return None
    return slow_makespan(transactions, answer)

"""Bin packing scored slowly, from its definition: every bin is filled again for every item."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.evaluation import Outcome


def slow_bins(data: Mapping[str, Any], answers: Sequence[Any]) -> int | Outcome:
    """How many bins the answers open, or what is wrong with the first wrong one (or with their number).

    An answer is the number of an earlier bin, or -1; what lies in a bin is added up from all answers so far.
    """
    items = data["items"]
    owner: list[int] = []
    for answer, _ in zip(answers, items, strict=False):
        opened = len(set(owner))
        if str(type(answer)) != "<class 'int'>" or answer not in range(-1, opened):
            return Outcome.INVALID_OUTPUT
        owner.append(opened if answer == -1 else answer)
        inside = math.fsum(size for size, number in zip(items, owner, strict=False) if number == owner[-1])
        if inside > data["capacity"]:
            return Outcome.INFEASIBLE
    return len(set(owner)) if len(answers) == len(items) else Outcome.INVALID_OUTPUT

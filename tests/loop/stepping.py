"""Good answers without end, each another step towards the optimum."""

import itertools
from collections.abc import Callable
from typing import Any

from tests.loop.climbing import patch
from tests.openai_server import Behaviour, Step, answer


def step(number: int, **fields: Any) -> Behaviour:
    """A good answer, another one for each number."""
    return answer(patch(0.5 + number / 1000, name=f"step_{number}"), **fields)


def steps(first: int = 1, **fields: Any) -> Callable[[], Behaviour]:
    """Good answers without end, from any thread."""
    numbers = itertools.count(first)
    return lambda: step(next(numbers), **fields)


def endless(**fields: Any) -> Step:
    """Every request gets a good answer of its own."""
    more = steps(500, **fields)
    return lambda _: more()

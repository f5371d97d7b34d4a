"""Keeps for the program what it has seen of the trace, so that the judge need send nothing but the tick's state.

Nothing in here is believed: the judge has the trace, the job and the cost, which are nowhere else.
"""

from collections.abc import Callable, Mapping
from typing import Any

Prepared = tuple[tuple[dict[str, Any]], Callable[[object], str]]

WORDS = ("spot", "on_demand", "wait")


def begin(first: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Prepared]:
    """A new trace, of which nothing has been seen."""
    seen: list[bool] = []

    def prepare(asked: Mapping[str, Any]) -> Prepared:
        """The argument `now` of `decide`, with a copy of what was seen, and the encoder of its result."""
        seen.append(asked["spot"])
        return ({**asked, "seen": list(seen)},), _word

    return prepare


def _word(result: object) -> str:
    """`result` as one of the words. Raises ValueError for anything else."""
    if isinstance(result, str) and str.__str__(result) in WORDS:
        return str.__str__(result)
    kind = type(result).__name__
    given = f"{str.__str__(result)[:20]!r}" if isinstance(result, str) else f"a {kind}"
    missing = " (is a return missing?)" if result is None else ""
    raise ValueError(f'the answer is {given}; it must be "spot", "on_demand" or "wait"{missing}')

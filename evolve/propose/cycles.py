"""Lines that come and go along a line of descent: what one change removed and a later one brought back. Pure."""

from collections.abc import Iterator, Sequence

from evolve.proposal import Returned

_LEAST = 12
"""Shorter lines (`else:`, `return None`) come and go for no reason of their own."""
_TOLD = 3
"""How many returns are told, the latest ones."""


def returned(line: Sequence[tuple[int, str]]) -> tuple[Returned, ...]:
    """What came back along a line of programs (generation and source), the oldest one first: the latest few.

    A line of code counts as removed when it stands nowhere in the next program, so that moving one is no return.
    """
    removed: dict[str, int] = {}
    found: dict[tuple[int, int], list[str]] = {}
    before: dict[str, None] = dict.fromkeys(_telling(line[0][1])) if line else {}
    for generation, source in line[1:]:
        now = dict.fromkeys(_telling(source))
        for text in now:
            if text not in before and text in removed:
                found.setdefault((removed.pop(text), generation), []).append(text)
        removed |= dict.fromkeys((text for text in before if text not in now), generation)
        before = now
    told = [Returned(removed=gone, brought_back=back, lines=tuple(texts)) for (gone, back), texts in found.items()]
    return tuple(told[-_TOLD:])


def _telling(source: str) -> Iterator[str]:
    stripped = (text.strip() for text in source.splitlines())
    return (text for text in stripped if len(text) >= _LEAST)

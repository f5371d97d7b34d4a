"""Texts of a run as a report holds them: what is too long for a page is left out, and says so in its place.

An archive of some hundred KB can name one text of 16 MB in thousands of questions: each text is read and split once.
"""

from collections.abc import Callable
from typing import Final

MOST_CHARACTERS: Final = 1_000_000
MOST_LINES: Final = 20_000
"""A longer text is left out."""
MOST_OF_ALL: Final = 256_000_000
MOST_LINES_OF_ALL: Final = 5_000_000
"""So many characters and lines all texts of a report have that are not the same."""


def shown(text: str) -> str:
    """A text, or that it is left out."""
    lines = text.count("\n") + 1
    if len(text) <= MOST_CHARACTERS and lines <= MOST_LINES:
        return text
    size, most = f"{len(text):,} characters, {lines:,} lines", f"{MOST_CHARACTERS:,} and {MOST_LINES:,}"
    return f"(left out: longer than a report takes: {size}; at most {most})"


class TextBudget:
    """How much a report may hold yet."""

    def __init__(self) -> None:
        self._characters, self._lines = MOST_OF_ALL, MOST_LINES_OF_ALL

    def take(self, text: str) -> bool:
        """Whether there is room for a text more; if so, it is used."""
        lines = text.count("\n") + 1
        if len(text) > self._characters or lines > self._lines:
            return False
        self._characters -= len(text)
        self._lines -= lines
        return True


LEFT_OUT: Final = f"(left out: this report holds {MOST_OF_ALL:,} characters or {MOST_LINES_OF_ALL:,} lines already)"


def reading_once(read: Callable[[str], str]) -> Callable[[str], str]:
    """What reads a text by its object id as it is shown: each id once, as long as there is room for them."""
    known: dict[str, str] = {}
    room = TextBudget()

    def text(object_id: str) -> str:
        found = known.get(object_id)
        if found is None:
            found = shown(read(object_id))
            if room.take(found):
                known[object_id] = found
        return found

    return text

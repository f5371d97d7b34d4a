"""Searching a list of words."""

from collections.abc import Sequence

from nearby.distance import distance


def nearest(word: str, words: Sequence[str], count: int = 3) -> list[str]:
    """The `count` words with the least distance from `word`; among equals the earlier ones in the list."""
    ranked = sorted(range(len(words)), key=lambda place: (distance(word, words[place]), place))
    return [words[place] for place in ranked[:count]]

"""Whether a sentence speaks well of something that failed. English words, chosen to be conservative."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

_PRAISE = re.compile(
    r"\b(?:success(?:ful|fully|es)?(?!\s+rate)|succeed\w*|effective(?:ly|ness)?|achiev\w+|outperform\w*|superior|excel\w*|"
    r"outstanding|impressive\w*|remarkabl\w+|breakthrough|promising|winning|winner|perfect\w*|strong(?:est|ly)?|great\w*|"
    r"best(?![- ]?(?:fit|first|improvement|of))|top[- ](?:scor|perform|program)\w*|robust(?:ly|ness)?|"
    r"high(?:est|ly)?[- ](?:combined|quality|scor\w+|effective|performing)|improv(?:es|ed|ing|ement)\b|"
    r"optimal (?:results?|solutions?|scores?|performance)|solve[sd]|key (?:to|differentiator)|works? well|worked|"
    r"beats?|wins?)\b",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    r"(?<!no )(?<!not )(?<!without )(?<!never )(?<!zero )(?<!un)\b"
    r"(?:fail\w*|crash\w*|errors?|exceptions?|time[ds]?[- ]?out\w*|invalid|infeasible|"
    r"incorrect|broken|buggy|bugs?|quarantin\w*|refus\w*|reject\w*|forbidden|duplicates?|unsuccessful\w*|wrong|"
    r"out of memory|oom|killed|undefined|cpu_limit|load_error|invalid_output)\b(?![- ]free)"
    r"|\bnot (?:a )?(?:correct|valid|success\w*|effective|improve\w*|work\w*)\b|(?<![\d.])0(?:\.0+)?\s?%|\w+Error\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:()\u2014]|\s-\s")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n{2,}")
_NAMES = re.compile(r"\b[Gg]en(?:eration)?s?\.?\s*#?\d")
_TURNS = re.compile(r"\s*\b(?:unlike|than|whereas|while)\b", re.IGNORECASE)


def is_praised(unit: str, mentions: Sequence[int], *, named_is_enough: bool = False) -> bool:
    """Whether `unit` (a paragraph or bullet) praises what it mentions at the positions `mentions`.

    A stretch is what a sentence says of one generation: from the clause that names it up to the next that names
    another. It is praised when no stretch with a mention says that it failed, and there is a word of praise in one of
    them, or outside all stretches (or `named_is_enough`). Without mentions the whole unit is about it.
    """
    if not mentions:
        return bool(_PRAISE.search(unit)) and not _FAILURE.search(unit)
    about: list[str] = []
    free: list[str] = []
    for start, end, named in _stretches(unit):
        if any(start <= position < end for position in mentions):
            about.append(unit[start:end])
        elif not named:
            free.append(unit[start:end])
    if any(map(_FAILURE.search, about)):
        return False
    return named_is_enough or any(map(_PRAISE.search, about + free))


def _stretches(unit: str) -> Iterator[tuple[int, int, bool]]:
    """(start, end, names a generation) of the stretches of a unit, which together are all of it."""
    sentence = 0
    for stop in [*(mark.end() for mark in _SENTENCE_END.finditer(unit)), len(unit)]:
        start, named = sentence, False
        clauses = [sentence, *(mark.end() for mark in _CLAUSE.finditer(unit, sentence, stop)), stop]
        for opens, closes in pairwise(clauses):
            names = _NAMES.search(unit, opens, closes) is not None
            if names and not named and not _PRAISE.search(unit, start, opens):
                named = True  # what leads up to the name belongs to it
            elif (names or (named and _TURNS.match(unit, opens))) and opens > start:
                yield start, opens, named
                start, named = opens, names
            named = named or names
        if stop > start:
            yield start, stop, named
        sentence = stop

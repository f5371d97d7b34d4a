"""Whether a sentence speaks well of something that failed. English words, chosen to be conservative."""

import re
from collections.abc import Sequence

_PRAISE = re.compile(
    r"\b(?:success(?:ful|fully|es)?(?!\s+rate)|succeed\w*|effective(?:ly|ness)?|achiev\w+|outperform\w*|superior|excel\w*|"
    r"outstanding|impressive\w*|remarkabl\w+|breakthrough|promising|winning|winner|perfect\w*|strong(?:est|ly)?|great\w*|"
    r"best(?![- ]?(?:fit|first|improvement|of))|top[- ](?:scor|perform|program)\w*|robust(?:ly|ness)?|"
    r"high(?:est|ly)?[- ](?:combined|quality|scor\w+|effective|performing)|improv(?:es|ed|ing|ement)\b|"
    r"optimal (?:results?|solutions?|scores?|performance)|solve[sd]|key (?:to|differentiator)|works? well|worked|beats?|wins?)\b",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    r"(?<!no )(?<!not )(?<!without )(?<!never )(?<!zero )(?<!un)\b(?:fail\w*|crash\w*|errors?|exceptions?|time[ds]?[- ]?out\w*|invalid|"
    r"infeasible|incorrect|broken|buggy|bugs?|quarantin\w*|refus\w*|reject\w*|forbidden|duplicates?|unsuccessful\w*|wrong|"
    r"out of memory|oom|killed|undefined|cpu_limit|load_error|invalid_output)\b(?![- ]free)"
    r"|\bnot (?:a )?(?:correct|valid|success\w*|effective|improve\w*|work\w*)\b|(?<![\d.])0(?:\.0+)?\s?%|\w+Error\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:()\u2014]|\s-\s")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n{2,}")
_NAMES_ONE = re.compile(r"\b[Gg]en(?:eration)?s?\.?\s*#?\d")


def is_praised(unit: str, mentions: Sequence[int], *, named_is_enough: bool = False) -> bool:
    """Whether `unit` (a paragraph or bullet) praises what it mentions at the positions `mentions`.

    It does when it holds a word of praise (or `named_is_enough`) and at no mention says that it failed: in the
    mention's own clause, or in the next one if that names nothing else. Without mentions (the unit is about one
    program as a whole) a failure told anywhere in it is enough.
    """
    if not named_is_enough and not _PRAISE.search(unit):
        return False
    if not mentions:
        return not _FAILURE.search(unit)
    return not any(_FAILURE.search(_said_of(unit, position)) for position in mentions)


def _said_of(unit: str, position: int) -> str:
    """The clause at `position`, and those after it in its sentence until one names another generation."""
    opens = max((end.end() for end in _SENTENCE_END.finditer(unit, 0, position)), default=0)
    closing = _SENTENCE_END.search(unit, position)
    sentence = unit[opens : len(unit) if closing is None else closing.start()]
    ends = [(mark.start(), mark.end()) for mark in _CLAUSE.finditer(sentence)] + [
        (len(sentence), len(sentence))
    ]
    starts = [0, *(end for _, end in ends[:-1])]
    clauses = [sentence[start:end] for start, (end, _) in zip(starts, ends, strict=True)]
    own = max(index for index, start in enumerate(starts) if opens + start <= position)
    clause, rest = clauses[own], clauses[own + 1 :]
    said = [clause]
    for follower in rest:
        if _NAMES_ONE.search(follower) or re.search(r"\b(?:unlike|than|whereas)\b", follower):
            break
        said.append(follower)
    return ", ".join(said)

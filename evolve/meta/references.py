"""Where a text names generations, and how it falls into paragraphs, bullets, sentences and what is no prose."""

import re
from collections.abc import Callable, Iterator

from evolve.meta.facts import Fact

REFERENCE = re.compile(
    r"\b[Gg]en(?:eration)?(?P<plural>s?)\.?\s*#?(?P<list>\d{1,9}(?!\.\d|\d|%)"
    r"(?:\s*(?:,\s*and|,|and|&|or|to|through|/|-|\u2013)\s*(?:[Gg]en(?:eration)?s?\.?\s*)?\d{1,9}(?!\.\d|\d|%))*)"
)
"""A generation or a list of them: "generation 4", "Gen 11/16", "Generations 10-19 and 21"."""

_STEP = re.compile(r"(?P<range>to|through|-|\u2013)?\s*(?:[Gg]en(?:eration)?s?\.?\s*)?(?P<number>\d+)")
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,})[^`\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SPANS = re.compile(r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>[^`\n]+)(?<!`)(?P=ticks)(?!`)|\$(?P<math>[^$\n]+)\$")
_STRUCK = re.compile(r"~~[^~\s][^~\n]{0,40}~~(?= \[)")
_BARE_NUMBER = re.compile(r"\s*[+\-\u2212]?\d+\.\d+\s*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=;)\s+|\n+")
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])(?:\s|$)")
_LONGEST_RANGE = 200


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """`text` in order as (piece, is prose): fenced code, and each paragraph or bullet with its line breaks."""
    position = 0
    for fence in _FENCED.finditer(text):
        yield from ((unit, True) for unit in _units(text[position : fence.start()]))
        yield fence[0], False
        position = fence.end()
    yield from ((unit, True) for unit in _units(text[position:]))


def _units(text: str) -> list[str]:
    units: list[str] = []
    for line in text.splitlines(keepends=True):
        if not units or not line.strip() or not units[-1].strip() or _BULLET.match(line):
            units.append(line)
        else:
            units[-1] += line
    return units


def hidden(unit: str) -> Callable[[int], bool]:
    """Whether a position lies in code, mathematics or struck text. A span that is a number only hides nothing."""
    spans = [struck.span() for struck in _STRUCK.finditer(unit)]
    spans += [s.span() for s in _SPANS.finditer(unit) if not _BARE_NUMBER.fullmatch(s["code"] or s["math"] or "")]
    return lambda position: any(low <= position < high for low, high in spans)


def sentence_around(unit: str, start: int, end: int) -> tuple[str, str]:
    """The parts of the sentence before and after start..end."""
    return _SENTENCE.split(unit[:start])[-1], _SENTENCE.split(unit[end:])[0]


def steps(reference: re.Match[str]) -> Iterator[tuple[int, int, int]]:
    """(first generation, last generation, position) of each number of a reference; they differ for a range's end."""
    previous: int | None = None
    for step in _STEP.finditer(reference["list"]):
        number = int(step["number"])
        ranged = step["range"] and previous is not None and previous < number <= previous + _LONGEST_RANGE
        yield (
            (previous + 1 if ranged and previous is not None else number),
            number,
            reference.start("list") + step.start("number"),
        )
        previous = number


def generations_in(text: str) -> list[int]:
    """The generations that a text names, ranges filled in, in order and without doubles."""
    found: dict[int, None] = {}
    for reference in REFERENCE.finditer(text):
        for first, last, _ in steps(reference):
            found |= dict.fromkeys(range(first, last + 1))
    return list(found)


def mentions(unit: str, fact: Fact) -> list[int]:
    """Where a unit names a generation, by number or patch name."""
    found = [
        position
        for reference in REFERENCE.finditer(unit)
        for first, last, position in steps(reference)
        if first <= fact.generation <= last
    ]
    if fact.patch_name:
        found += [m.start() for m in re.finditer(rf"(?<!\w){re.escape(fact.patch_name)}(?!\w)", unit)]
    return found

"""Texts of models before they go into a report: citations become true figures, and a model's own figures are replaced.

A figure is a numeral that stands alone, or with %, `x`, `times` or a unit, and a number word above twelve. Each is
replaced by `[unverified]` and noted, whatever it says: only code puts figures about programs into a report. None are:
numerals joined to letters or hyphens (`2-opt`, `O(n^2)`, `gpt-4`, but `87-percent` is one), the numbers of list items
and of generations that exist, code spans and fenced code. A sentence that names a generation which does not exist is
removed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evolve.evidence.facts import Fact
from evolve.meta.answers import clean_body, clean_line
from evolve.meta.citations import (
    ATTRIBUTES,
    CITATION,
    FENCE,
    SPAN,
    canonical,
    cite_figure,
    is_missing,
    with_citations,
)

UNVERIFIED = "[unverified]"

_MARK = r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+"  # what a bullet or an item begins with
_END = rf"(?<=[.!?\u3002])(?:\s*\n|[^\S\n]++)|\n(?=[^\S\n]*\n|{_MARK}|[ \t]*[#|])"  # between two sentences
_LISTED = r"^[ \t]*(?:\#{1,6}[ \t]+|[-*+>][ \t]+)?\*{0,3}\d{1,3}[.)](?=\s|\*|$)"  # `1.` where a line begins
_COMPLEXITY = r"(?<!\w)[O\u0398\u03a9]\((?=1\)|[^\n]{0,20}[a-z])(?:[^()\n]|\([^()\n]{0,40}\)){1,60}\)"
_MORE = r"(?:(?:,[ \t]?(?:and[ \t])?|[ \t]and[ \t])\d{1,9}(?:-\d{1,9})?){1,40}"
_NAMED = (
    r"(?<!\w)gen(?:eration)?(?P<plural>s)?\.?[ \t]?\d{1,9}(?:-\d{1,9})?"
    rf"(?:{_MORE}(?(plural)|(?=[ \t]?[\]).;:]|$)))?(?![\w%-]|\.\d)"
)
_FRACTION = r"[\u00bc-\u00be\u2150-\u215f\u2189]"  # 1/4 and the like, each one character
_RAISED = r"(?:[\u207a\u207b]?[\u00b2\u00b3\u00b9\u2070\u2074-\u2079]++)"  # digits above the line
_POWER = rf"(?:e[+-]?\d{{1,9}}+|\^(?:[+-]?\d{{1,9}}+|\{{[+-]?\d{{1,9}}+\}})|{_RAISED})"
_NUMERAL = rf"(?:(?:(?:\d{{1,3}}(?:[,_]\d{{3}}){{1,8}}+|\d++)(?:\.\d++)?|\.\d++)(?:{_POWER}|{_FRACTION})?|{_FRACTION})"
_UNITS = r"-fold|pct|pp|bps|[\u00b5mun]?s|min|h|k|[kmgt]i?b"
_BEFORE = r"(?<![^\W_])(?<![^\W_]_)(?<![^\W_]__)(?<![^\W_]\.)(?<!\^)(?<!\^\{)(?<![\w)]-)"
_WORD_ENDS = r"(?!_{0,2}[^\W_])"
_AFTER = rf"{_WORD_ENDS}(?!\^|-\w|\.\d)"
_WORDS = (
    rf"{_BEFORE}(?:(?:thir|four|fif|six|seven|eigh|nine)teen|hundred|thousand|(?:[mb]|tr)illion"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-(?:one|two|three|four|five|six|seven|eight|nine))?)"
    rf"{_WORD_ENDS}(?!-(?!per[ \t]?cent|times|fold)\w)"
)
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL
_BETWEEN = re.compile(rf"(?P<code>{FENCE})|{SPAN}|{CITATION}|(?P<end>{_END})", _FLAGS)
_EMPTY_ITEM = re.compile(rf"^{_MARK}$\n?", re.MULTILINE)
_POINT = re.compile(r"\.\d")


def _figures(unit: str, cited: Iterable[str]) -> re.Pattern[str]:
    """What the check looks at in a sentence: `unit` is the metric's, `cited` names what may be cited of a program."""
    attribute = rf"\.(?P<attribute>{'|'.join(map(re.escape, sorted(cited)))}){_WORD_ENDS}"
    spaced = "|".join(["x", "times", r"per[ \t]?cent", *([re.escape(unit)] if unit else [])])
    suffix = rf"[ \t-]?(?:[%\u2030\u00d7]|(?:{spaced}){_WORD_ENDS})|(?:{_UNITS}){_WORD_ENDS}"
    figure = rf"{_BEFORE}(?P<first>[+-]?{_NUMERAL})(?P<second>(?:-{_NUMERAL}){{1,4}})?(?:(?P<suffix>{suffix})|{_AFTER})"
    return re.compile(
        rf"{SPAN}|(?P<citation>{CITATION})(?:{attribute})?(?P<glued>(?=[.,]?[\w%]))?|{_LISTED}|{_COMPLEXITY}"
        rf"|(?P<named>{_NAMED})|{figure}|(?P<word>{_WORDS})",
        _FLAGS,
    )


@dataclass(slots=True, kw_only=True)
class Editor:
    """Holds texts against the record. `unit` is the metric's; `notes` are what was taken out so far, one line each."""

    facts: Mapping[int, Fact]
    unit: str = ""
    notes: list[str] = field(default_factory=list)
    _pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        metrics = (name for fact in self.facts.values() for name in (fact.metric, *fact.metrics))
        self._pattern = _figures(self.unit, {*ATTRIBUTES, *metrics})

    def line(self, text: str, place: str) -> str:
        """A text as one true line, with citations. `place` says where it stands, for the notes."""
        return clean_line(self._edited(clean_line(text), place))

    def body(self, text: str, place: str) -> str:
        """A text as a true body of a section, with citations."""
        return clean_body(_EMPTY_ITEM.sub("", self._edited(clean_body(text), place)))

    def _edited(self, text: str, place: str) -> str:
        kept, text = "", with_citations(text)
        for start, end, between in _sentences(text):
            sentence, found = text[start:end], list(self._pattern.finditer(text, start, end))
            if self._names_what_is_missing(found):
                self.notes.append(f"{place}: no such generation: {' '.join(sentence.split())[:200]}")
                mark = re.match(_MARK, sentence)  # the bullet stays for the sentences behind it
                kept += "" if mark is None else mark[0]
                kept += between if between.strip() or (mark and "\n" in between) else ""
            else:
                position = start
                for each in found:
                    kept += text[position : each.start()] + self._checked(each, place)
                    position = each.end()
                kept += text[position:end] + between
        return kept

    def _names_what_is_missing(self, found: Sequence[re.Match[str]]) -> bool:
        named = (each["citation"] or each["named"] for each in found)
        return any(text is not None and is_missing(text, self.facts) for text in named)

    def _checked(self, found: re.Match[str], place: str) -> str:
        if found["citation"] is not None:
            return self._cited(found)
        joined = found["second"] is not None and found["suffix"] is None and not _POINT.search(found[0])
        if joined or (found["first"] is None and found["word"] is None):
            return found[0]
        self.notes.append(f"{place}: unverified figure: {found[0]}")
        return UNVERIFIED

    def _cited(self, found: re.Match[str]) -> str:
        named = found["attribute"]
        figure = None if named is None else cite_figure(found["citation"], named, self.facts)
        cited = canonical(found["citation"]) if figure is None else figure.cited
        before = " " * found.string.endswith("<", 0, found.start())  # else the statement could read as HTML
        return before + cited + " " * (found["glued"] is not None)  # else what follows could read as more digits of it


def _sentences(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each sentence begins and ends, with what stands behind it: blanks, a line break, or fenced code."""
    position = 0
    for found in _BETWEEN.finditer(text):
        if found["code"] is not None or found["end"] is not None:
            yield position, found.start(), found[0]
            position = found.end()
    yield position, len(text), ""

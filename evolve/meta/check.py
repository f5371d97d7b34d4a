"""Texts of others held against the record: citations become true figures, and figures of anybody's own are struck.

A sentence that cites a generation which does not exist is removed. A decimal number that equals nothing on record at
the digits quoted is struck: `~~26.9~~ [not on record]`. On record are scores, metrics, ceilings, gaps, changes, means
of changes, the decimal constants in the sources at hand, and what the evaluator told of correct programs.
Fenced code, code spans and whole numbers are left alone.

Nothing here knows a task, or a word of any language.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from evolve.evidence.counted import Evidence
from evolve.evidence.facts import Fact
from evolve.language import PYTHON, Language
from evolve.literals import decimals
from evolve.meta.citations import CITATION, FENCE, SPAN, is_missing, told_citation, with_citations
from evolve.meta.document import clean_body, clean_line

NOT_ON_RECORD = "[not on record]"

_MARK = r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+"  # what a bullet or an item begins with
_END = rf"(?<=[.!?\u3002])\s+|\n(?=\s*\n|{_MARK}|[ \t]*[#|])"  # between two sentences
_STRUCK = rf"~{{2,}}[^~\n]+~~ {re.escape(NOT_ON_RECORD)}"
_DECIMAL = (
    r"(?<![\w.])(?P<tilde>~{1,3})?(?P<number>(?:\d{1,3}(?:,\d{3})+|\d*)\.\d+(?:e[+-]?\d{1,2})?|\d+e-\d{1,2})(?!\.?\d)"
    r"(?P<percent>\s?%)?(?(tilde)(?P=tilde)?)"
)
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL
_BETWEEN = re.compile(rf"(?P<code>{FENCE})|{SPAN}|{CITATION}|(?P<end>{_END})", _FLAGS)
_FIGURE = re.compile(rf"{SPAN}|{_STRUCK}|(?P<citation>{CITATION})(?P<glued>(?=[.,]?[\w%]))?|{_DECIMAL}", _FLAGS)
_EMPTY_ITEM = re.compile(rf"^{_MARK}$\n?", re.MULTILINE)


class Figures:
    """The numbers that a text may state: those of the evidence, and what stands in the sources and feedback of `new`.

    The feedback on a program that failed may carry the program's own words, and is none of it.
    """

    def __init__(
        self, evidence: Evidence, new: Iterable[Fact] = (), best_source: str = "", *, language: Language = PYTHON
    ) -> None:
        extra, sources = set[float](), {best_source}
        for fact in new:
            sources |= {fact.source, fact.parent_source}
            if fact.correct:
                extra.update(_read(found["number"])[0] for found in _FIGURE.finditer(fact.feedback) if found["number"])
        for source in sources:
            extra.update(decimals(source, language))
        for groups in (evidence.by_kind, evidence.by_feature):
            extra.update(abs(group.mean) for group in groups.values() if group.mean is not None)
        self._sorted = evidence.numbers, sorted(extra)

    def hold(self, value: float, digits: int) -> bool:
        """Whether a number on record, rounded to so many digits after the point, reads as `value`."""
        half = 0.5 * 10.0**-digits + 1e-9
        nearest = ((numbers, bisect_left(numbers, value - half)) for numbers in self._sorted)
        return any(at < len(numbers) and numbers[at] <= value + half for numbers, at in nearest)


def _read(number: str) -> tuple[float, int]:
    mantissa, _, exponent = number.lower().replace(",", "").partition("e")
    return float(number.replace(",", "")), len(mantissa.partition(".")[2]) - int(exponent or 0)


@dataclass(slots=True, kw_only=True)
class Editor:
    """Holds texts against the record. `notes` are what it struck so far, one line each."""

    evidence: Evidence
    figures: Figures
    notes: list[str] = field(default_factory=list)

    def line(self, text: str, place: str) -> str:
        """A text as one true line. `place` says where it stands, for the notes."""
        return clean_line(self._edited(clean_line(text), place))

    def body(self, text: str, place: str) -> str:
        """A text as a true body of a section."""
        return clean_body(_EMPTY_ITEM.sub("", self._edited(clean_body(text), place)))

    def _edited(self, text: str, place: str) -> str:
        kept = ""
        for sentence, between in _sentences(with_citations(text)):
            if self._cites_what_is_missing(sentence):
                self.notes.append(f"{place}: no such generation: {' '.join(sentence.split())[:200]}")
                mark = re.match(_MARK, sentence)  # the bullet stays for the sentences behind it
                kept += "" if mark is None else mark[0]
                kept += between if between.strip() or (mark and "\n" in between) else ""
            else:
                kept += _FIGURE.sub(lambda found: self._figure(found, place), sentence) + between
        return kept

    def _cites_what_is_missing(self, sentence: str) -> bool:
        cited = (found["citation"] for found in _FIGURE.finditer(sentence))
        return any(citation is not None and is_missing(citation, self.evidence.facts) for citation in cited)

    def _figure(self, found: re.Match[str], place: str) -> str:
        if found["citation"] is not None:
            # What follows at once could read as more digits of it.
            return told_citation(found["citation"], self.evidence.facts) + ("" if found["glued"] is None else " ")
        if found["number"] is None or self._on_record(found):
            return found[0]
        number = found[0].strip("~")
        self.notes.append(f"{place}: not on record: {number}")
        return f"~~{number}~~ {NOT_ON_RECORD}"

    def _on_record(self, found: re.Match[str]) -> bool:
        value, digits = _read(found["number"])
        return self.figures.hold(value, digits) or (
            found["percent"] is not None and self.figures.hold(value / 100, digits + 2)
        )


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """Each sentence with what stands behind it: blanks, a line break, or fenced code."""
    position = 0
    for found in _BETWEEN.finditer(text):
        if found["code"] is not None or found["end"] is not None:
            yield text[position : found.start()], found[0]
            position = found.end()
    yield text[position:], ""

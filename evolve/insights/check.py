"""Texts of models before they go into a report: citations become true figures, and a model's own figures are replaced.

A figure is a numeral that stands alone, or with %, `x`, `times` or a unit, and a number word above twelve. Each is
replaced by `[unverified]` and noted, whatever it says: only code puts figures about programs into a report. None are:
numerals joined to letters or hyphens (`2-opt`, `O(n^2)`, `gpt-4`, but `87-percent` is one), the numbers of list items,
of generations and of instances that exist, code spans and fenced code.

A sentence is removed that names a generation which does not exist, that says of one without a correct program that it
gained or leads, or that calls a generation better or worse on an instance where the record says otherwise. A code span
is replaced if it holds a number that is neither in the program which the sentence cites nor in its parent; but not in
advice, which proposes values.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evolve.insights.answers import clean_body, clean_line
from evolve.insights.citations import (
    ATTRIBUTES,
    CITATION,
    FENCE,
    INSTANCE,
    SPAN,
    canonical,
    cite_figure,
    is_missing,
    links_of,
    with_citations,
)
from evolve.insights.credit import steps
from evolve.insights.evidence import Leader
from evolve.insights.facts import Details, Fact

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
_NUMBERS = r"\d{1,9}(?:(?:,[ \t]?(?:and[ \t])?|[ \t]and[ \t])\d{1,9}){0,40}"
_INSTANCES = rf"\[?(?<!\w)instances?[ \t]{_NUMBERS}(?!\w|[.-]\w|[ \t]?%)\]?"
_HOW = r"(?P<{}>better|worse)"
_IS = r"(?:[ \t]*,|[ \t]+(?:is|are|was|were|got|gets|became|turned|much|slightly|clearly|also|even|all)){0,4}"
_CLAIM = re.compile(
    rf"(?<!\bnot )(?<!\bno )(?<!\bnever )\b{_HOW.format('before')}[ \t]+(?:on|in|for|at)[ \t]+(?P<these>{_INSTANCES})"
    rf"|(?P<those>{_INSTANCES}){_IS}[ \t]+{_HOW.format('after')}\b",
    re.IGNORECASE,
)
_ADVERBS = r"(?:[ \t]+(?:has|have|had|is|are|was|were|also|now|again|still|even|clearly|currently)){0,3}"
_RISES = r"improve[sd]?(?=[ \t]*[.,;:!?\n]|[ \t]+(?:on|over|by|(?:the|its)[ \t]+score)\b|\s*$)"
_AHEAD = re.compile(
    rf"(?P<who>{CITATION}|{_NAMED}),?{_ADVERBS}[ \t]+"
    r"(?:gain(?:s|ed)?(?![ \t]+(?:no|little))|(?:leads?|led)(?![ \t]+to\b)"
    rf"|wins?|won|beats?|outperform(?:s|ed)?|ahead|(?:the[ \t]+)?best|better|{_RISES})(?!\w)",
    re.IGNORECASE | re.MULTILINE,
)
"""That a generation is above others."""
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
_CONSTANT = re.compile(r"(?<![\w.])(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?(?!\w|-[a-z])", re.IGNORECASE)


def _figures(unit: str, cited: Iterable[str]) -> re.Pattern[str]:
    """What the check looks at in a sentence: `unit` is the metric's, `cited` names what may be cited of a program."""
    attribute = rf"\.(?P<attribute>{'|'.join(map(re.escape, sorted(cited)))}){_WORD_ENDS}"
    spaced = "|".join(["x", "times", r"per[ \t]?cent", *([re.escape(unit)] if unit else [])])
    suffix = rf"[ \t-]?(?:[%\u2030\u00d7]|(?:{spaced}){_WORD_ENDS})|(?:{_UNITS}){_WORD_ENDS}"
    figure = rf"{_BEFORE}(?P<first>[+-]?{_NUMERAL})(?P<second>(?:-{_NUMERAL}){{1,4}})?(?:(?P<suffix>{suffix})|{_AFTER})"
    return re.compile(
        rf"{SPAN}|(?P<citation>{CITATION})(?:{attribute})?(?P<glued>(?=[.,]?[\w%]))?|{_LISTED}|{_COMPLEXITY}"
        rf"|(?P<named>{_NAMED})|(?P<instances>{_INSTANCES})|{figure}|(?P<word>{_WORDS})",
        _FLAGS,
    )


def _constants(code: str) -> set[float]:
    """The numbers that stand alone in a piece of code, by their values."""
    return set(map(float, _CONSTANT.findall(code.replace("_", ""))))


@dataclass(slots=True, kw_only=True)
class Editor:
    """Holds texts against the record. `leaders` are the best on each instance; `unit` is the metric's; `details` looks
    up a program, for what facts do not hold; `notes` are what was taken out so far, one line each."""

    facts: Mapping[int, Fact]
    leaders: Sequence[Leader] = ()
    unit: str = ""
    details: Callable[[int], Details] | None = None
    notes: list[str] = field(default_factory=list)
    _pattern: re.Pattern[str] = field(init=False)
    _instances: int = field(init=False)
    _known: dict[int, Details] = field(default_factory=dict)

    def __post_init__(self) -> None:
        metrics = (name for fact in self.facts.values() for name in (fact.metric, *fact.metrics))
        self._pattern = _figures(self.unit, {*ATTRIBUTES, *metrics})
        self._instances = max((sum(fact.wins) for fact in self.facts.values() if fact.wins is not None), default=0)

    def line(self, text: str, place: str, *, of: int | None = None, advice: bool = False) -> str:
        """A text as one true line, with citations. `place` says where it stands, for the notes; `of` is the generation
        that a sentence is about which cites none; `advice` may propose values."""
        return clean_line(self._edited(clean_line(text), place, of, advice))

    def body(self, text: str, place: str) -> str:
        """A text as a true body of a section, with citations."""
        return clean_body(_EMPTY_ITEM.sub("", self._edited(clean_body(text), place, None)))

    def _edited(self, text: str, place: str, of: int | None, advice: bool = False) -> str:
        kept, text = "", with_citations(text)
        for start, end, between in _sentences(text):
            sentence, figures = text[start:end], list(self._pattern.finditer(text, start, end))
            cited = self._cited_in(figures) or ([[of]] if of is not None else [])
            named = filter(None, (each["citation"] or each["named"] for each in figures))
            missing = any(is_missing(each, self.facts) for each in named)
            wrong = "no such generation" if missing else self._denied(sentence, cited)
            if wrong:
                self.notes.append(f"{place}: {wrong}: {' '.join(sentence.split())[:200]}")
                mark = re.match(_MARK, sentence)  # the bullet stays for the sentences behind it
                kept += "" if mark is None else mark[0]
                kept += between if between.strip() or (mark and "\n" in between) else ""
            else:
                position = start
                for each in figures:
                    kept += text[position : each.start()] + self._checked(each, place, [] if advice else cited)
                    position = each.end()
                kept += text[position:end] + between
        return kept

    def _cited_in(self, figures: Sequence[re.Match[str]]) -> list[list[int]]:
        """What a sentence is about: the generations that it cites or names, and steps from one to another."""
        links = [link for each in figures if each["citation"] for link in links_of(each["citation"])]
        return links or [[int(n)] for each in figures if each["named"] for n in re.findall(r"\d+", each["named"])]

    def _denied(self, sentence: str, cited: Sequence[Sequence[int]]) -> str:
        """What the record denies: that a generation without a correct program gained or leads; or that one is better or
        worse on an instance than what it was made from (than the best, where the sentence speaks of that), or the end
        of a step than its beginning. "" if it denies nothing, or knows nothing of it."""
        named = (_last_of(claim["who"]) for claim in _AHEAD.finditer(sentence))
        failed = next((n for each in named for n in each if n in self.facts and not self.facts[n].correct), None)
        if failed is not None:
            return f"generation {failed} has no correct program"
        claims = list(_CLAIM.finditer(sentence))
        if not claims:
            return ""
        facts = [(self.facts[link[-1]], link[0]) for link in cited if link[-1] in self.facts]
        pairs = [(before if before != fact.generation else fact.base_generation, fact) for fact, before in facts]
        pairs += [(fact.best_generation, fact) for fact, _ in facts if "best" in sentence.lower()]
        stands = [self._standing(fact.generation, before) for before, fact in pairs if before is not None]
        for claim in claims:
            want = 1 if (claim["before"] or claim["after"]).lower() == "better" else -1
            for number in map(int, re.findall(r"\d+", claim["these"] or claim["those"])):
                claimed = [stand[number] for stand in stands if number < len(stand)]
                if claimed and want not in claimed:
                    return f"not {claim['before'] or claim['after']} on instance {number}"
        return ""

    def _standing(self, first: int, other: int) -> list[int]:
        ours, theirs = self._details(first), self._details(other)
        return steps(ours.costs, theirs.costs, ours.direction)

    def _details(self, generation: int) -> Details:
        if generation not in self._known:
            self._known[generation] = Details() if self.details is None else self.details(generation)
        return self._known[generation]

    def _made_up(self, code: str, cited: Sequence[Sequence[int]]) -> bool:
        """Whether a code span holds a number that is in none of the programs that are cited or that they were made
        from, as far as these are known."""
        numbers = _constants(code)
        if not numbers:
            return False
        parents = [self.facts[n].parent_generation for link in cited for n in link if n in self.facts]
        sources = [self._details(n).source for n in (*(n for link in cited for n in link), *parents) if n is not None]
        return any(sources) and not numbers <= set[float]().union(*map(_constants, sources))

    def _checked(self, figure: re.Match[str], place: str, cited: Sequence[Sequence[int]]) -> str:
        if figure["citation"] is not None:
            return self._cited(figure)
        if figure["ticks"] is not None and self._made_up(figure[0], cited):
            self.notes.append(f"{place}: not in the program that is cited: {figure[0]}")
            return UNVERIFIED
        if figure["instances"] is not None:
            if (number := max(map(int, re.findall(r"\d+", figure[0])))) >= max(self._instances, len(self.leaders)):
                self.notes.append(f"{place}: no such instance: {figure[0]}")
                return f"instance {UNVERIFIED}"
            led = number < len(self.leaders) and re.fullmatch(INSTANCE, figure[0], re.IGNORECASE)
            return f"[instance {number}]" if led else figure[0].strip("[]")
        joined = figure["second"] is not None and figure["suffix"] is None and not _POINT.search(figure[0])
        if joined or (figure["first"] is None and figure["word"] is None):
            return figure[0]
        self.notes.append(f"{place}: unverified figure: {figure[0]}")
        return UNVERIFIED

    def _cited(self, match: re.Match[str]) -> str:
        named = match["attribute"]
        figure = None if named is None else cite_figure(match["citation"], named, self.facts)
        cited = canonical(match["citation"]) if figure is None else figure.cited
        before = " " * match.string.endswith("<", 0, match.start())  # else the statement could read as HTML
        return before + cited + " " * (match["glued"] is not None)  # else what follows could read as more digits of it


def _last_of(named: str) -> list[int]:
    """The generations that a citation or a name is about; of a step, the last."""
    if named.startswith("["):
        return [link[-1] for link in links_of(named)]
    return list(map(int, re.findall(r"\d+", named)))


def _sentences(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each sentence begins and ends, with what stands behind it: blanks, a line break, or fenced code."""
    position = 0
    for boundary in _BETWEEN.finditer(text):
        if boundary["code"] is not None or boundary["end"] is not None:
            yield position, boundary.start(), boundary[0]
            position = boundary.end()
    yield position, len(text), ""

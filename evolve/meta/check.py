"""Nothing in a document contradicts the record: invented numbers are struck, praise of failures is corrected.

The text of a model is held against the evidence by these rules. Fenced code, code spans, mathematics and what is
struck already are left alone, except that a code span which is nothing but a number is read as that number.

1.  A *score* is a number with digits after the point and no unit, that is at least half the lowest
    correct score (where that is 4 or more); or any number tied to a score word by link words only ("score of 26",
    "success rate: 0.96", "a gain of 0.03", "0.96 success rate"). It must equal a measured value rounded to the digits
    quoted: a score, metric, ceiling, gap, score change, group mean or median, a decimal in the evaluator's feedback
    on a correct program; for numbers that are tied to a word, also a difference of two recorded scores. A constant
    in the source of a program at hand is no score unless it is tied to a score word.
2.  In the summary of a program it must be that program's own value, unless the sentence compares or names another.
3.  Tied to a generation ("generation 15 (score 38.38)", "26.26 (Gen 25, Gen 27)") it must be that generation's.
4.  A percentage of success must be a measured share. Other percentages are not looked at.
5.  A duration in a sentence about execution is struck: no clock is part of the record.
6.  A generation that is named must exist.
7.  Praise of a generation that failed (a program that is not correct or is quarantined, or no program at all), in a
    paragraph or bullet that names it (by number or patch name) and does not say there that it failed, gets a correction
    behind it; under "Successful Algorithmic Patterns" naming it is praise enough.
8.  The Performance line of a program that is not correct is code's own statement, whatever the model wrote.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from evolve.meta.document import Document, ProgramSummary, Scratchpad, clean_body, clean_line
from evolve.meta.evidence import cite, score_text
from evolve.meta.facts import Fact
from evolve.meta.praise import is_praised
from evolve.meta.record import Record, numbers_of, says
from evolve.meta.references import REFERENCE, generations_in, hidden, mentions, pieces, sentence_around

_NUMBER = re.compile(
    r"(?<![\w.])[+\-\u2212\u2013]?(?P<digits>\d{1,9}(?:\.(?P<decimals>\d{1,17}))?)(?!\.?\d)"
    r"(?P<unit>\s?(?:%|percent\b)|\s?(?:ms|s|sec|seconds?|milliseconds?)\b|\s?(?:[GMK]i?B|x|times|GPUs?)\b|\w+)?"
)

_LINK = (
    r"(?:\W*\b(?:a|an|the|of|at|to|by|is|was|as|only|just|about|around|roughly|approximately|nearly|from|equals|"
    r"rate|value)\b)"
)
_TIED = re.compile(
    rf"\b(?:scor(?:e|es|ed|ing)|success rate|fitness|max_kvpr\w*|metric|optimality|gap|gain|improvement|ceiling)\b"
    rf"{_LINK}{{0,4}}"
    r"[\s:=~(*`+\-\u2212\u2013]*$",
    re.IGNORECASE,
)
_TIED_AFTER = re.compile(r"[`*\s]*(?:combined score|score\b|success rate|optimality)", re.IGNORECASE)
_OF_GENERATION = re.compile(
    r"(?:[\s,(:*]|\b(?:with|at|has|had|a|an|the|its|of|to|achiev(?:es|ed|ing)|reach(?:es|ed|ing)|scor(?:e|es|ed|ing)|combined|"
    r"high|top|best|strong|new|max|max_kvpr_inverse|metric)\b|[=~`])*$",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    r"\b(?:best|than|from|parent|previous|prior|compar\w+|versus|vs|baseline|plateau|ceiling|over|below|above|beat\w*|against|"
    r"initial|optimum)\b",
    re.IGNORECASE,
)
_SUCCESS = re.compile(r"\b(?:success|succe\w+|pass\w*|of (?:the |all )?instances|correct)\b", re.IGNORECASE)
_RUNS = re.compile(r"\b(?:execut\w*|run-?\s?times?|ran|runs|took|takes|speed|fast\w*)\b", re.IGNORECASE)
_LIMITS = re.compile(
    r"\b(?:limit\w*|budget\w*|cap\w*|deadline\w*|time-?\s?outs?|up to|at most|allow\w*|until)\b",
    re.IGNORECASE,
)

_OURS = re.compile(  # an objection of an earlier check, behind what it struck
    r"~~([^~\n]*)~~ \[(?:not in the record|no clock is part of the record|no such generation|"
    r"this program scored [\d.-]+|"
    r"generation \d+ (?:scored [\d.-]+|is quarantined|failed: \w+|became no program: \w+))\]"
)

NOT_IN_RECORD = "not in the record"


@dataclass(slots=True)
class _Checker:
    """The state of checking one document: the record to hold it against, and what was corrected so far."""

    record: Record
    notes: list[str] = field(default_factory=list)

    def text(self, text: str, place: str, *, own: Fact | None = None, success: bool = False) -> str:
        """`text` with its numbers checked and its praise corrected; fenced code stays as it is."""
        return "".join(self._prose(piece, place, own, success) if prose else piece for piece, prose in pieces(text))

    def _prose(self, unit: str, place: str, own: Fact | None, success: bool) -> str:
        # Praise is looked for in what the author wrote, in which our own objections do not yet speak of failures.
        correction = self._correction(unit, place, own, success)
        checked = self._numbers(unit, place, own)
        body = checked.rstrip()
        return f"{body} [correction: {correction}]{checked[len(body) :]}" if correction else checked

    def _numbers(self, unit: str, place: str, own: Fact | None) -> str:
        is_hidden = hidden(unit)
        edits: list[tuple[int, int, str]] = []
        references = list(REFERENCE.finditer(unit))
        for reference in references:
            if not is_hidden(reference.start()):
                edits += self._unknown_generations(reference, unit)
        inside = [reference.span("list") for reference in references]
        for number in _NUMBER.finditer(unit):
            if is_hidden(number.start()) or any(low <= number.start() < high for low, high in inside):
                continue
            objection = self._objection(number, unit, own)
            if objection is not None:
                start = number.start() + (number[0][0] == "\u2013")
                end = number.end() if number["unit"] and objection.startswith("no clock") else number.end("digits")
                if number["unit"] and number["unit"].strip() in ("%", "percent"):
                    end = number.end()
                edits.append((start, end, objection))
        for start, end, objection in sorted(edits, reverse=True):
            before, after = _around_marks(unit, start, end)
            self.notes.append(f"{place}: {unit[start:end].strip()}: {objection}")
            unit = f"{unit[:before]}~~{unit[before:after].strip('~ ')}~~ [{objection}]{unit[after:]}"
        return unit

    def _unknown_generations(self, reference: re.Match[str], unit: str) -> Iterator[tuple[int, int, str]]:
        """The numbers of a reference that are no generations of the run."""
        known = self.record.evidence.facts
        for position, number in enumerate(re.finditer(r"\d+", reference["list"])):
            start = reference.start("list") + number.start()
            end = reference.start("list") + number.end()
            # "Generation 4, 60 bisections": what follows a single generation counts only if it reads as a list.
            loose = position and not reference["plural"] and re.match(r"\s*[^\W\d]", unit[end:])
            if int(number[0]) not in known and not (loose and not re.match(r"\s*(?:and|or|to)\b", unit[end:])):
                yield start, end, "no such generation"

    def _objection(self, number: re.Match[str], unit: str, own: Fact | None) -> str | None:
        """Why a number may not stand there; None when it may."""
        value, decimals = float(number["digits"]), len(number["decimals"] or "")
        unit_word = (number["unit"] or "").strip()
        before, after = sentence_around(unit, number.start(), number.end())
        if unit_word in ("%", "percent"):
            return self._percentage(value, decimals, before, after, own)
        if re.fullmatch(r"ms|s|sec|seconds?|milliseconds?", unit_word):
            sentence = before + after
            timed = decimals > 0 and _RUNS.search(sentence) and not _LIMITS.search(sentence)
            return "no clock is part of the record" if timed else None
        if unit_word:
            return None
        tied = _TIED.search(before) is not None or (decimals > 0 and _TIED_AFTER.match(after) is not None)
        scale = self.record.scale
        if not tied and (decimals < 1 or scale is None or value < scale):
            return None
        if tied and decimals == 0 and not re.search(r"(?:of|:|=|is|was|to|at)[\s*~`(]*$", before, re.IGNORECASE):
            return None
        if value in self.record.literals and not (tied and (scale is None or value >= scale)):
            return None
        return self._claim(number, value, decimals, before, unit, own, tied)

    def _claim(
        self,
        number: re.Match[str],
        value: float,
        decimals: int,
        before: str,
        unit: str,
        own: Fact | None,
        tied: bool,
    ) -> str | None:
        facts = self.record.evidence.facts
        named = [facts[g] for g in _tied_generations(unit, number.start(), number.end()) if g in facts]
        if named:
            if any(says(numbers_of(fact), value, decimals) for fact in named):
                return None
            return (
                f"generation {named[0].generation} scored {_scored(named[0])}"
                if named[0].correct
                else _failures(named[:1])[0]
            )
        # Below every score it may well be a difference of two of them.
        apart = tied or value < min(self.record.evidence.scores, default=0.0)
        known = self.record.holds(value, decimals) or (apart and self.record.holds_difference(value, decimals))
        if not known:
            return self._quarantined(value, decimals) or NOT_IN_RECORD
        if own is None or says(numbers_of(own), value, decimals) or _COMPARES.search(before):
            return None
        others = [facts[g] for g in generations_in(unit) if g in facts]
        if any(says(numbers_of(fact), value, decimals) for fact in others):
            return None
        if own.parent_score is not None and says([abs(own.parent_score)], value, decimals):
            return None
        return f"this program scored {_scored(own)}"

    def _percentage(self, value: float, decimals: int, before: str, after: str, own: Fact | None) -> str | None:
        if not (_SUCCESS.search(before[-60:]) or _SUCCESS.search(after[:40])):
            return None
        if own is not None and not _COMPARES.search(before):
            known = says([100 * number for number in numbers_of(own)], value, decimals)
        else:
            known = self.record.holds_percentage(value, decimals)
        return None if known else NOT_IN_RECORD

    def _quarantined(self, value: float, decimals: int) -> str | None:
        for found in self.record.evidence.outcomes.get("quarantined", ()):
            fact = self.record.evidence.facts[found]
            if fact.combined_score is not None and says([abs(fact.combined_score)], value, decimals):
                return _failures([fact])[0]
        return None

    def _correction(self, unit: str, place: str, own: Fact | None, success: bool) -> str:
        """What a correction behind the unit says; empty when it praises nothing that failed."""
        unit = _OURS.sub(r"\1", unit)
        facts = self.record.evidence.facts
        failed = {g: facts[g] for g in generations_in(unit) if g in facts and not facts[g].correct}
        names = self.record.failed_names
        failed |= {names[word]: facts[names[word]] for word in re.findall(r"\w+", unit) if word in names}
        if own is not None and not own.correct:
            failed[own.generation] = own
        wrong = [
            fact
            for _, fact in sorted(failed.items())
            if is_praised(unit, mentions(unit, fact), named_is_enough=success)
        ]
        if wrong:
            self.notes.append(f"{place}: praise, but {'; '.join(_failures(wrong))}")
        return "; ".join(_failures(wrong))


def check_document(document: Document, record: Record) -> tuple[Document, tuple[str, ...]]:
    """The document with every contradiction of the record corrected, and a note on each correction."""
    checker = _Checker(record)
    checked = Document(
        summaries=tuple(_summary(checker, summary) for summary in document.summaries),
        scratchpad=_scratchpad(checker, document.scratchpad),
        recommendations=_recommendations(checker, document.recommendations),
        recommendations_preface=checker.text(clean_body(document.recommendations_preface), "Meta Recommendations"),
        warning=document.warning,
    )
    return checked, tuple(checker.notes)


def check_summary(summary: ProgramSummary, record: Record) -> tuple[ProgramSummary, tuple[str, ...]]:
    """One program's summary, corrected, and the notes. Raises KeyError for a generation that is not in the record."""
    checker = _Checker(record)
    return _summary(checker, summary), tuple(checker.notes)


def check_scratchpad(scratchpad: Scratchpad, record: Record) -> tuple[Scratchpad, tuple[str, ...]]:
    """The scratchpad, corrected, and the notes."""
    checker = _Checker(record)
    return _scratchpad(checker, scratchpad), tuple(checker.notes)


def check_recommendations(items: tuple[str, ...], record: Record) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The recommendations, corrected, and the notes."""
    checker = _Checker(record)
    return _recommendations(checker, items), tuple(checker.notes)


def _summary(checker: _Checker, summary: ProgramSummary) -> ProgramSummary:
    fact = checker.record.evidence.facts[summary.generation]
    place = f"Generation {fact.generation}"
    said = clean_line(summary.performance)
    if fact.correct:
        performance = checker.text(said, f"{place}, Performance", own=fact)
        if fact.combined_score is not None and not _quotes(said, fact.combined_score):
            performance = f"Combined score {score_text(fact.combined_score)}. {performance}".rstrip()
    else:
        performance = failure_line(fact)
        wrong = _Checker(checker.record)
        if said != performance and wrong.text(said, "", own=fact) != said:
            checker.notes.append(f"{place}, Performance: the record's own statement stands instead of {said!r}")
    return replace(
        summary,
        patch_name=fact.patch_name,
        correct=fact.correct,
        implementation=checker.text(clean_line(summary.implementation), f"{place}, Implementation", own=fact),
        performance=performance,
        feedback=checker.text(clean_line(summary.feedback), f"{place}, Feedback", own=fact),
    )


def _scratchpad(checker: _Checker, pad: Scratchpad) -> Scratchpad:
    return Scratchpad(
        patterns=checker.text(clean_body(pad.patterns), "Successful Algorithmic Patterns", success=True),
        ineffective=checker.text(clean_body(pad.ineffective), "Ineffective Approaches"),
        insights=checker.text(clean_body(pad.insights), "Implementation Insights"),
        performance=checker.text(clean_body(pad.performance), "Performance Analysis"),
        preface=checker.text(clean_body(pad.preface), "Global Insights Scratchpad"),
    )


def _recommendations(checker: _Checker, items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(checker.text(clean_line(item), f"Recommendation {number}") for number, item in enumerate(items, 1))


def failure_line(fact: Fact) -> str:
    """The Performance line of a program that is not correct: what failed, and that its score says nothing."""
    if fact.quarantine is not None:
        return f"Not a result: {fact.failure}."
    share = fact.metrics.get("success_rate")
    part = "" if share is None else f" Success rate {share:.2f}."
    return f"Failed ({fact.failure}).{part} It is not correct, so its score ranks below every correct program."


def _tied_generations(unit: str, start: int, end: int) -> list[int]:
    """The generations whose value the number at start..end is said to be."""
    for reference in reversed(list(REFERENCE.finditer(unit, 0, start))):
        if _OF_GENERATION.match(unit[reference.end() : start]):
            return generations_in(reference[0])
        break
    behind = re.match(r"[*`]*\s*\(([^()]{1,80})\)", unit[end:])
    if behind is not None and (found := REFERENCE.match(behind[1])) is not None:
        return generations_in(behind[1][found.start() :])
    return []


def _around_marks(unit: str, start: int, end: int) -> tuple[int, int]:
    """start..end, widened over the marks of a code span around it and a tilde before it, which striking would split."""
    while start > 0 and end < len(unit) and unit[start - 1] == unit[end] and unit[end] in "`$":
        start, end = start - 1, end + 1
    while start > 0 and unit[start - 1] == "~":
        start -= 1
    return start, end


def _quotes(text: str, score: float) -> bool:
    return any(
        says([abs(score)], float(n["digits"]), len(n["decimals"] or ""))
        for n in _NUMBER.finditer(text)
        if n["decimals"]
    )


def _scored(fact: Fact) -> str:
    return "nothing" if fact.combined_score is None else score_text(fact.combined_score)


def _failures(facts: Sequence[Fact]) -> list[str]:
    """How generations failed, those that failed alike together, without any text of a candidate."""
    alike: dict[str, list[int]] = {}
    for fact in facts:
        if fact.quarantine is not None:
            how = "{} quarantined"
        elif fact.is_program:
            how = f"{{}} failed: {'not correct' if fact.outcome is None else fact.outcome.value}"
        else:
            how = f"{{}} became no program: {fact.status.value}"
        alike.setdefault(how, []).append(fact.generation)
    return [
        how.format(cite(found) + (" is" if len(found) == 1 else " are") * ("quarantined" in how))
        for how, found in alike.items()
    ]

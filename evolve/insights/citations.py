"""Citations: how a text names generations, and what code puts in their place for a reader.

    [gen 12]           generation 12 (2.0831, 0.0110 better than its parent; instances: 8 better, 2 worse)
    [gen 11]           generation 11 (failed: NameError)
    [gen 8]            generation 8 (no program: refused no_match)
    [gen 7 > gen 12]   generation 7 to 12 (2.0721 -> 2.0831, 0.0110 better); [gen 12 vs 7] is the same
    [instance 3]       instance 3 (0.4801 at best, by generation 12)
    [gen 12].score     2.0831 (score of generation 12); likewise `.change`, `.gap`, and each metric by its name

`resolved` makes the left into data that holds both (`evolve.archive.reports`). A model may copy the right, or make
something up in its form: `with_citations` turns that into the left before its answer is looked at.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

from evolve.archive.ranking import compared
from evolve.archive.reports import Citation, Insight, Insights, Recommendation, Text, citation_text
from evolve.core.completion import LINE_LIMIT, PROSE_LIMIT
from evolve.insights.credit import SAME
from evolve.insights.evidence import Leader
from evolve.insights.facts import BY_MEDIANS, Fact

DIGITS = 4
"""Digits after the point, unless more are needed to tell two scores apart."""
_GEN = r"gen(?:eration)?s?\.?\s*"
CITATION = rf"\[\s*{_GEN}\d+(?:\s*(?:,|;|&|-?>|vs\.?)\s*(?:{_GEN})?\d+)*\s*\]"
INSTANCE = r"\[\s*instance\s+(?P<instance>\d{1,9})\s*\]"
ATTRIBUTES = ("score", "change", "gap")  # and the names of metrics
FENCE = r"^ {0,3}(?P<fence>`{3,}+(?=[^`\n]*+\n)|~{3,}+)[^\n]*+\n.*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
SPAN = r"(?<!`)(?P<ticks>`++)[^`\n]++(?P=ticks)(?!`)"

_SIZE = r"\d+(?:\.\d+)?(?:e[+-]\d+)?"
_VALUE = rf"(?:-?{_SIZE}|quarantined|failed: \w+|no program)"
_BASE = r"(?:its parent|generation [0-9]+)"
_WORDED = rf"{_SIZE}(?: [^\n(),;:]{{1,40}}?)? (?:better|worse)(?:{BY_MEDIANS})?"  # with the metric's unit
_ONE = (
    rf"generation (?P<one>[0-9]+) \((?:quarantined|failed: \w+|no program: \w+(?: \w+)?"
    rf"|-?{_SIZE}(?:, (?:{_WORDED} than {_BASE}(?:; instances: [0-9]+ better, [0-9]+ worse)?"
    rf"|same as {_BASE}(?: within the spread)?|its parent failed))?(?:, self-judged)?)\)"
)
_STEP = r"generation (?P<step>[0-9]+(?: to \.\.\.)?(?: to [0-9]+)+) \("
_STEP += rf"{_VALUE}(?: -> \.\.\.)?(?: -> {_VALUE})+(?:, self-judged)?"
_STEP += rf"(?:, (?:{_WORDED}(?: within the spread)?|no change))?\)"
_STATED = rf"(?:{_WORDED}|the same|(?:(?<!\w)-)?{_SIZE})"
_ATTRIBUTE = rf"(?<![\w.]){_STATED} \((?P<name>[a-z_]\w{{0,59}}) of generation (?P<of>[0-9]+)\)"

_LED = rf"instance (?P<led>[0-9]+) \(-?{_SIZE} at best, by generation [0-9]+\)"

_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL
_FIGURE = r"\.(?P<figure>\w{1,60}?)(?!_{0,2}[^\W_])"
CITED = re.compile(rf"(?P<code>{FENCE})|{SPAN}|(?P<citation>{CITATION})(?:{_FIGURE})?|{INSTANCE}", _FLAGS)
_RENDERED = re.compile(
    rf"(?P<code>{FENCE})|`(?P<spanned>{CITATION})`|{SPAN}|{_ONE}|{_STEP}|{_ATTRIBUTE}|{_LED}", _FLAGS
)
_ITEMS = re.compile(rf"(?P<code>{FENCE})|^[^\S\n]*+(?:[-*]|\d++[.)])\s++", _FLAGS)
_PARAGRAPHS = re.compile(rf"(?P<code>{FENCE})|\n(?:[^\S\n]*+\n)++", _FLAGS)
_BOLD = re.compile(r"\s*\*\*(.+?)\*\*")


def score_text(score: float, digits: int = DIGITS) -> str:
    """A score as documents state it."""
    text = f"{score + 0.0:.{0 if float(score).is_integer() else digits}f}"
    return f"{score:.3g}" if score and float(text) == 0 else text


def gap_text(fact: Fact) -> str:
    """How a program stands to its ceiling; "" without one."""
    if fact.gap is None or fact.ceiling is None:
        return ""
    word, side = ("ceiling", "below") if fact.sign > 0 else ("bound", "above")
    where = f"the {word} of {score_text(fact.ceiling * fact.sign)}"
    return f"at {where}" if fact.at_ceiling else f"{fact.scale.amount(fact.gap)} {side} {where}"


def describe(fact: Fact) -> str:
    """A generation with its outcome: what replaces `[gen 12]`."""
    how = fact.ending
    if fact.correct:
        how = "correct" if fact.combined_score is None else score_text(fact.combined_score * fact.sign)
        if fact.change is not None:
            wins = "" if fact.wins is None else f"; instances: {fact.wins.better} better, {fact.wins.worse} worse"
            on = f", {fact.worded_change} than {fact.base_name}{wins}"
            within = " within the spread" * (abs(fact.change) > SAME)
            how += on if fact.apart else f", same as {fact.base_name}{within}"
        elif fact.parent_generation is not None:
            how += ", its parent failed"
    return f"generation {fact.generation} ({how}{', self-judged' * (fact.correct and fact.self_judged)})"


def cite_leader(instance: int, leader: Leader) -> Citation:
    """An instance, with the best cost of a correct program there: what `[instance 3]` is."""
    cost = score_text(float(Fraction(leader.cost)))
    shown = f"instance {instance} ({cost} at best, by generation {leader.generation})"
    return Citation(generations=(leader.generation,), figure=f"instance {instance}", shown=shown)


def _read_differently(scores: Sequence[float], digits: int) -> bool:
    """Whether neighbours that differ read differently with this many digits."""
    return all(abs(a - b) <= SAME or score_text(a, digits) != score_text(b, digits) for a, b in pairwise(scores))


def links_of(citation: str) -> Iterator[list[int]]:
    """What a citation names: a list of one generation, or the generations of a step. A missing one has no number."""
    for link in re.split(r"[,;&]", citation):
        # Longer than any run: int() would refuse thousands of digits.
        numbers = [int(digits) if len(digits) < 10 else -1 for digits in re.findall(r"\d+", link)]
        yield numbers[::-1] if "vs" in link.lower() else numbers


def is_missing(citation: str, facts: Mapping[int, Fact]) -> bool:
    """Whether a citation names a generation that does not exist."""
    return any(generation not in facts for link in links_of(citation) for generation in link)


def canonical(citation: str) -> str:
    """A citation as `Citation.cited` writes it, each generation or step in brackets of its own."""
    return ", ".join(map(citation_text, links_of(citation)))


def cite(fact: Fact) -> Citation:
    """A generation, with its outcome."""
    return Citation(generations=(fact.generation,), shown=describe(fact))


def cite_step(facts: Sequence[Fact], *, cut: bool = False) -> Citation:
    """The way from one generation to another, perhaps over others: what `[gen 7 > gen 12]` is. If it is `cut`,
    generations between the first and the second are not given, and it says so."""
    scores = [fact.combined_score * fact.sign for fact in facts if fact.correct and fact.combined_score is not None]
    digits = next((d for d in range(DIGITS, 17) if _read_differently(scores, d)), 17)
    values = [
        (fact.ending if fact.is_program else "no program")
        or score_text((fact.combined_score or 0.0) * fact.sign, digits)
        for fact in facts
    ]
    numbers = tuple(fact.generation for fact in facts)
    gap = ["..."] * cut
    names = " to ".join([str(numbers[0]), *gap, *map(str, numbers[1:])])
    stated = f"{' -> '.join([values[0], *gap, *values[1:]])}" + ", self-judged" * facts[0].self_judged
    if facts[0].correct and facts[-1].correct:
        change = scores[-1] - scores[0]
        within = not compared(scores[-1], facts[-1].spread, scores[0], facts[0].spread)
        differs = f"{facts[-1].scale.worded(change, scores[-1])}{' within the spread' * within}"
        stated += f", {'no change' if abs(change) <= SAME else differs}"
    return Citation(generations=numbers, shown=f"generation {names} ({stated})")


def cite_figure(citation: str, name: str, facts: Mapping[int, Fact]) -> Citation | None:
    """What `[gen 12].score` is; None where the citation is not of one generation, or the record has no such figure of
    it."""
    (first, *others), *more = links_of(citation)
    fact = facts.get(first)
    if fact is None or others or more or not fact.correct:
        return None
    score = None if fact.combined_score is None else score_text(fact.combined_score * fact.sign)
    change, gap = fact.worded_change or None, None if fact.gap is None else score_text(fact.gap)
    metrics = {key: score_text(value) for key, value in fact.metrics.items()}
    figure = (metrics | {fact.metric: score, "score": score, "change": change, "gap": gap}).get(name)
    if figure is None:
        return None
    return Citation(generations=(first,), figure=name, shown=f"{figure} ({name} of generation {first})")


def _cited_by(mark: re.Match[str], facts: Mapping[int, Fact], leaders: Sequence[Leader]) -> tuple[list[Citation], int]:
    """What stands in the place of a match of `CITED`, and where that ends; nothing for code and what does not exist."""
    if mark["instance"] is not None:
        number = int(mark["instance"])
        return [cite_leader(number, leaders[number])] if number < len(leaders) else [], mark.end()
    if mark["citation"] is None or is_missing(mark["citation"], facts):
        return [], mark.end()
    figure = None if mark["figure"] is None else cite_figure(mark["citation"], mark["figure"], facts)
    if figure is not None:
        return [figure], mark.end()
    links = [[facts[generation] for generation in link] for link in links_of(mark["citation"])]
    return [cite(link[0]) if len(link) == 1 else cite_step(link) for link in links], mark.end("citation")


_RUNS_ON: Final = re.compile(r"[\w.+-]\Z")
"""A text whose end would run into the number that follows."""


def resolved(text: str, facts: Mapping[int, Fact], leaders: Sequence[Leader] = (), *, room: int = LINE_LIMIT) -> Text:
    """A text with its citations as data. Code is left alone, and so is a citation of what does not exist.

    When what is stated comes to more than `room` characters, the citations that follow are shown by their numbers.
    """
    pieces: list[str | Citation] = []
    position = 0
    for mark in CITED.finditer(text):
        whole, end = _cited_by(mark, facts, leaders)
        if not whole:
            continue
        before = text[position : mark.start()]
        pieces += [before, " " * bool(_RUNS_ON.search(before))]
        for number, citation in enumerate(whole):
            room -= len(citation.shown)
            pieces += [", "] * (number > 0) + [citation if room >= 0 else _brief(citation)]
        position = end
    pieces.append(text[position:])
    return tuple(filter(None, pieces))


def _brief(citation: Citation) -> Citation:
    if citation.figure.startswith("instance "):
        return citation.model_copy(update={"shown": citation.figure})
    numbers = " to ".join(map(str, citation.generations))
    return citation.model_copy(update={"figure": "", "shown": f"generation {numbers}"})


def insights(text: str, facts: Mapping[int, Fact], leaders: Sequence[Leader] = ()) -> Insights:
    """The points of a section: its list items, or its paragraphs where it has no list."""
    marks = _marks(_ITEMS, text) or _marks(_PARAGRAPHS, text)
    room = PROSE_LIMIT // (len(marks) + 1)
    points: list[Insight] = []
    mark, position = "", 0
    for start, end in [*(each.span() for each in marks), (len(text), len(text))]:
        point = text[position:start].strip()
        begins = text.index(point, position)
        points.append(Insight(mark=mark + text[position:begins], text=resolved(point, facts, leaders, room=room)))
        mark, position = text[begins + len(point) : end], end
    return tuple(point for point in points if point.mark or point.text)


def _marks(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    return [mark for mark in pattern.finditer(text) if mark["code"] is None]


def recommendation(text: str, facts: Mapping[int, Fact], leaders: Sequence[Leader] = ()) -> Recommendation:
    """A recommendation with its title, if it begins with one."""
    title = _BOLD.match(text)
    if title is None:
        return Recommendation(text=resolved(text, facts, leaders))
    named, rest = (resolved(part, facts, leaders) for part in (title[1], text[title.end() :]))
    return Recommendation(title=named, text=rest)


def with_citations(text: str) -> str:
    """A text with its citations as a model writes them. Code is left alone, but for a citation in backticks."""

    def written(mark: re.Match[str]) -> str:
        if mark["one"] is not None:
            return f"[gen {mark['one']}]"
        if mark["step"] is not None:
            return f"[{' > '.join(f'gen {generation}' for generation in re.findall('[0-9]+', mark['step']))}]"
        if mark["of"] is not None:
            return f"[gen {mark['of']}].{mark['name']}"
        return f"[instance {mark['led']}]" if mark["led"] is not None else mark["spanned"] or mark[0]

    return _RENDERED.sub(written, text)

"""To which generations each recommendation was handed, and what their answers said: read on from the record.

A program *follows* a recommendation if it, or an ancestor of it on the line of first parents, was made from it and the
answer said yes or partly; or if an answer said "already there": then the program that was asked about follows it, and
so do all its descendants. The line is that of first parents alone: a patch changes its first parent, and which part of
an inspiration a crossover took over is not known.

The same advice in a later report (its title is the same, or its text where it has none) is the same recommendation,
and has one history.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evolve.archive.events import Status
from evolve.archive.ranking import rank_key, step
from evolve.archive.reader import RunReader
from evolve.archive.records import OPEN, AttemptRecord, ProgramRecord
from evolve.archive.reports import InsightsReport, Recommendation, cited, shown
from evolve.core.completion import Followed
from evolve.insights.answers import clean_line
from evolve.insights.citations import describe
from evolve.insights.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One generation that a recommendation (`number` of the report after `document` programs) was handed to, for a
    change of the program of generation `parent`. `followed` is what its last answer said of it that said anything."""

    generation: int
    document: int
    number: int
    parent: int
    followed: Followed | None
    status: Status
    worse: bool = False  # its outcome is not correct, or scores below its parent

    @property
    def failing(self) -> bool:
        """Whether it was followed, and to no good."""
        return self.worse and self.followed in (Followed.YES, Followed.PARTLY)

    @property
    def following(self) -> int | None:
        """The program that follows the recommendation since this trial, by its generation; None without one."""
        if self.followed is Followed.ALREADY_THERE:
            return self.parent
        made = self.status is Status.EVALUATED and self.followed in (Followed.YES, Followed.PARTLY)
        return self.generation if made else None


def same_advice(recommendation: Recommendation) -> str:
    """What two recommendations have in common that are the same: the words of the title, or of the text without one,
    with the generations that they name and without figures, case and signs."""
    return " ".join(re.findall(r"\w+", cited(recommendation.title or recommendation.text).lower()))


def followed_by(line: Collection[int], trials: Iterable[Trial]) -> bool:
    """Whether a program follows the recommendation of `trials`; `line`: its generation and those of its ancestors."""
    return any(trial.following in line for trial in trials)


def failed_on(line: Collection[int], trials: Iterable[Trial]) -> bool:
    """Whether one of `trials` changed a program of that line, and failed."""
    return any(trial.failing and trial.parent in line for trial in trials)


class History:
    """The trials of one archive's recommendations. What has ended is read once; what is open, each time."""

    def __init__(self, archive: RunReader) -> None:
        self._archive = archive
        self._ended: dict[str, list[Trial]] = {}
        self._open: list[int] = []
        self._next = 0

    def trials(self, recommendations: Sequence[Recommendation]) -> list[list[Trial]]:
        """The trials of each recommendation so far, by generation, those in earlier reports too."""
        archive = self._archive
        self._open += range(self._next, archive.next_generation)
        self._next = archive.next_generation
        under_way: dict[str, list[Trial]] = {}
        for generation in self._open:
            if (trial := self._trial(generation)) is not None:
                known = under_way if trial.status in OPEN else self._ended
                known.setdefault(self._advice(trial), []).append(trial)
        self._open = [number for number in self._open if archive.statuses.get(number, Status.ASKED) in OPEN]
        keys = map(same_advice, recommendations)
        by_key = ([*self._ended.get(key, ()), *under_way.get(key, ())] for key in keys)
        return [sorted(trials, key=lambda trial: trial.generation) for trials in by_key]

    def line(self, generation: int) -> frozenset[int]:
        """A program's generation and those of its ancestors, first parents all the way."""
        line, program = set[int](), self._archive.program(generation)
        while program is not None and program.generation not in line:
            line.add(program.generation)
            program = self._archive.find(program.parents[0]) if program.parents else None
        return frozenset(line)

    def _trial(self, generation: int) -> Trial | None:
        """What became of the recommendation that a generation was given; None if it was given none."""
        attempts = self._archive.attempts(generation)
        given = recommendation_of(attempts)
        if given is None:
            return None
        parent, program = self._archive.find(attempts[-1].parent), self._archive.program(generation)
        return Trial(
            generation=generation,
            document=given[0],
            number=given[1],
            parent=parent.generation,
            worse=program is not None and _is_worse(program, parent),
            followed=followed_by_answers(attempts),
            status=self._archive.statuses[generation],
        )

    def _advice(self, trial: Trial) -> str:
        given = self._archive.meta.reports[trial.document].recommendations
        is_listed = 0 < trial.number <= len(given)
        return same_advice(given[trial.number - 1]) if is_listed else f"{trial.document} {trial.number}"


def recommendation_of(attempts: Sequence[AttemptRecord]) -> tuple[int, int] | None:
    """The report and the number of the recommendation that a generation's prompts held; None without one."""
    for attempt in reversed(attempts):
        if attempt.guidance is not None and "recommendation" in attempt.guidance:
            return attempt.guidance["document"], attempt.guidance["recommendation"]
    return None


def followed_by_answers(attempts: Sequence[AttemptRecord]) -> Followed | None:
    """What the last answer of a generation that said anything of its recommendation said."""
    return next((attempt.followed for attempt in reversed(attempts) if attempt.followed is not None), None)


def followed_in(answer: str, attempts: Sequence[AttemptRecord]) -> Followed | None:
    """What an answer says of the recommendation that its generation was given; None if it was given none."""
    return None if recommendation_of(attempts) is None else parse_followed(answer)


def guidance_of(attempts: Sequence[AttemptRecord]) -> Mapping[str, int] | None:
    """What a generation was given when it was first asked: whatever is asked again is asked with the same."""
    return attempts[0].guidance if attempts else None


_QUOTED = re.compile(
    r"^(?:[ \t]*<DIFF>[ \t]*)?<{7}[ \t]*SEARCH\b.*?(?:^>{7}[ \t]*REPLACE\b|\Z)|<CODE>.*?(?:</CODE>|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_TAG = re.compile(r"<FOLLOWED>(?P<said>[^<\n]*(?:\n[^<\n]*)?)(?:</FOLLOWED>|$)", re.IGNORECASE | re.MULTILINE)


def parse_followed(answer: str) -> Followed | None:
    """What an answer says in `<FOLLOWED>...</FOLLOWED>`; None where it says nothing that is known, or two things:
    saying it is optional, and never a reason to refuse an answer. Code is not read."""
    prose = _QUOTED.sub("", answer.replace("\r\n", "\n"))
    answers = {" ".join(re.sub(r"[^a-z]+", " ", tag["said"].lower()).split()) for tag in _TAG.finditer(prose)}
    choices = {choice.value: choice for choice in Followed}
    return choices.get(answers.pop()) if len(answers) == 1 else None


_LONGEST = 100  # characters of a title
_SAID = {
    Followed.YES: "tried in",
    Followed.PARTLY: "partly tried in",
    Followed.NO: "not followed by",
    None: "given (not said whether followed) to",
}


def outcomes(archive: RunReader, history: History, facts: Mapping[int, Fact]) -> tuple[str, ...]:
    """The outcome of each recommendation of the report in force, a line each; and of those of the report before it that
    were handed out, for some may have been under way when that was written. `facts` are of what has ended."""
    meta = archive.meta
    if meta.state.report is None:
        return ()
    now = _lines(history, meta.state.report, facts)
    before = max((after for after in meta.reports if after < meta.shown and after not in meta.closings), default=None)
    if before is None:
        return tuple(now.values())
    earlier = _lines(history, meta.reports[before], facts, which=" of the document before", untried=False)
    return (*now.values(), *(line for advice, line in earlier.items() if advice not in now))


def _lines(
    history: History, report: InsightsReport, facts: Mapping[int, Fact], *, which: str = "", untried: bool = True
) -> dict[Recommendation, str]:
    given = report.recommendations
    return {
        each: f"Recommendation {number}{which} ({title_of(each)}): {describe_trials(trials, facts)}."
        for number, (each, trials) in enumerate(zip(given, history.trials(given), strict=True), 1)
        if trials or untried
    }


def describe_trials(trials: Sequence[Trial], facts: Mapping[int, Fact]) -> str:
    """The outcomes of a recommendation. One without a fact has not ended."""
    outcomes: dict[str, list[str]] = {}
    for trial in trials:
        fact, how = facts.get(trial.generation), f"already in generation {trial.parent}, say the answers of"
        if trial.followed is not Followed.ALREADY_THERE:
            how = _SAID[trial.followed]
        ended = f"generation {trial.generation}, which has not ended" if fact is None else describe(fact)
        outcomes.setdefault(how, []).append(ended)
    return "; ".join(f"{how} {', '.join(which)}" for how, which in outcomes.items()) or "never handed out"


def title_of(recommendation: Recommendation) -> str:
    """The title of a recommendation, or its beginning where it has none."""
    return clean_line(shown(recommendation.title or recommendation.text), _LONGEST)


def _is_worse(program: ProgramRecord, parent: ProgramRecord) -> bool:
    if program.correct and parent.correct:
        return step(program, parent) < 0
    return rank_key(program)[:2] > rank_key(parent)[:2]

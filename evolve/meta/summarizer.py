"""One round of the meta-summarizer: what a run has learnt since the last report, put into the next one.

A model writes prose with citations; every answer is read whole or not at all, and held against the record. Of a program
whose summary cannot be had, code's own stands in. A later step that fails ends the round without a report: the round
keeps what was paid for, the last report stays in force, and the next round goes on with more programs.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from evaluator.untrusted import block
from evolve.archive.reports import (
    SECTIONS,
    InsightsReport,
    MetaState,
    Problem,
    ProgramSummary,
    Recommendation,
    Round,
    Scratchpad,
    cited,
    joined,
    numbered,
    shown,
)
from evolve.completion import CallFailed, Completion, MetaKey, MetaQuestion, MetaStep, UnusableAnswer, text_of
from evolve.evidence.counted import Evidence
from evolve.evidence.facts import Fact
from evolve.meta.answers import (
    MAX_RECOMMENDATIONS,
    NotesAnswer,
    SummaryAnswer,
    clean_line,
    read_recommendations,
    read_scratchpad,
    read_summary,
)
from evolve.meta.check import Editor
from evolve.meta.citations import insights, recommendation, resolved
from evolve.meta.offline import NAME_LIMIT, code_summary, offline_report
from evolve.meta.overview import overview, warning
from evolve.patch.lines import unified

MOST_CORRECTIONS = 1000
"""Lines about what was taken out of the texts of one round; more are not recorded."""
MOST_BYTES = 4 * 1024 * 1024
"""Bytes of what is recorded of one round: a line of the journal has to hold it, whatever is escaped there."""

Ask = Callable[[MetaKey, str], Completion]
"""Key and prompt to a completion, recorded by its provider; from threads; raises CallFailed."""

Render = Callable[..., str]
"""The name of a template and its variables to the text, as `Prompts.fill` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest:
    """What a report is to be made of. `new` are the facts since the last one, with their sources and feedback, all
    of them in `evidence` too; `best_source` is the source of the best program, "" while there is none; `ask` puts a
    prompt to the model that writes reports; `outcomes` say what came of the earlier recommendations, a line each;
    `closing`: after so many programs the report closes a session, and takes no round's place."""

    state: MetaState
    evidence: Evidence
    new: Sequence[Fact]
    best_source: str
    ask: Ask
    outcomes: tuple[str, ...] = ()
    closing: int | None = None

    def key(self, question: MetaQuestion) -> MetaKey:
        """The key of one of the questions of its round."""
        return MetaKey(round=self.state.rounds + 1, closing=self.closing, question=question)


class OfflineSummarizer:
    """Writes reports without a model. `unit` is the metric's."""

    def __init__(self, unit: str = "") -> None:
        self._unit = unit

    def summarise(self, request: SummaryRequest) -> Round:
        """The next report."""
        return _done(request, Round(report=offline_report(request.evidence, request.new, self._unit)))


class ModelSummarizer:
    """Writes reports with a model, in three steps: a summary of each new program, the scratchpad, recommendations.

    `render` fills the templates of the prompts; at most `parallel` summaries are asked for at a time; `unit` is the
    metric's.
    """

    def __init__(self, render: Render, parallel: int = 1, unit: str = "") -> None:
        self._render, self._unit = render, unit
        self._parallel = max(1, parallel)

    def summarise(self, request: SummaryRequest) -> Round:
        """The next report, or why there is none. Raises InputError when a template is wrong."""
        editor = Editor(facts=request.evidence.facts, unit=self._unit)
        summaries, problems = self._summaries(request, editor)
        evidence, earlier = request.evidence, request.state.report or InsightsReport()
        step = MetaQuestion(step=MetaStep.SCRATCHPAD)
        ground = {"table": overview(evidence), "best": evidence.best, "best_source": request.best_source}
        try:
            answer = self._answer(
                request,
                step,
                **ground,
                sections=SECTIONS,
                scratchpad="" if request.state.report is None else cited(earlier.scratchpad.whole),
                summaries=shown(joined((summary.whole for summary in summaries), "\n\n")),
            )
            pad = _checked_scratchpad(read_scratchpad(answer), editor)
            step = MetaQuestion(step=MetaStep.RECOMMENDATIONS)
            answer = self._answer(
                request,
                step,
                **ground,
                most=MAX_RECOMMENDATIONS,
                outcomes="\n".join(request.outcomes),
                scratchpad=cited(pad.whole),
                recommendations=cited(numbered(earlier.recommendations)),
            )
            advice = [_checked_recommendation(text, editor) for text in read_recommendations(answer)]
        except (CallFailed, UnusableAnswer) as failure:
            without = {problem.generation for problem in problems}
            paid = tuple(summary for summary in summaries if summary.generation not in without)
            problems.append(_problem(step, failure))
            return _done(request, Round(pending=paid, problems=tuple(problems), corrections=_kept(editor)))
        report = InsightsReport(summaries=tuple(summaries), scratchpad=pad, recommendations=tuple(filter(None, advice)))
        return _done(request, Round(report=report, problems=tuple(problems), corrections=_kept(editor)))

    def _answer(self, request: SummaryRequest, question: MetaQuestion, **variables: object) -> str:
        """What the model answers to a question. Raises CallFailed, or UnusableAnswer if it is cut short."""
        prompt = self._render(f"meta_{question.step}.j2", **variables)
        return text_of(request.ask(request.key(question), prompt))

    def _summaries(self, request: SummaryRequest, editor: Editor) -> tuple[list[ProgramSummary], list[Problem]]:
        """The summaries of the new programs, and of which of them code's stands in for want of an answer."""
        found = {summary.generation: summary for summary in request.state.pending}
        missing = [fact for fact in request.new if fact.is_program and fact.generation not in found]
        with ThreadPoolExecutor(max_workers=self._parallel) as pool:
            answers = list(pool.map(partial(self._summary, request), missing))
        problems = [answer for answer in answers if isinstance(answer, Problem)]
        for fact, answer in zip(missing, answers, strict=True):
            said = SummaryAnswer() if isinstance(answer, Problem) else answer
            found[fact.generation] = _checked_summary(said, fact, request.evidence, editor)
        return [found[fact.generation] for fact in request.new if fact.is_program], problems

    def _summary(self, request: SummaryRequest, fact: Fact) -> SummaryAnswer | Problem:
        """What the model says of one program; or why that cannot be had."""
        reason = fact.origin.description
        if not fact.origin.by_code:
            facts = request.evidence.facts
            reason = shown(resolved(Editor(facts=facts, unit=self._unit).line(reason, ""), facts))
        question = MetaQuestion(step=MetaStep.SUMMARY, generation=fact.generation)
        try:
            answer = self._answer(request, question, fact=fact, reason=reason, diff=diff_to_parent(fact))
            return read_summary(answer)
        except (CallFailed, UnusableAnswer) as failure:
            return _problem(question, failure)


def diff_to_parent(fact: Fact) -> str:
    """What a program changed in its parent, as a unified diff; "" without a parent, or if the program is shorter."""
    if not fact.parent_source:
        return ""
    text = "\n".join(unified(fact.parent_source.split("\n"), fact.source.split("\n")))
    return text if len(text) < len(fact.source) else ""


def _checked_summary(said: SummaryAnswer, fact: Fact, evidence: Evidence, editor: Editor) -> ProgramSummary:
    """A model's summary held against the record; where nothing is left of it, and for the performance, code's own."""
    own = code_summary(fact, evidence, Editor(facts=evidence.facts, unit=editor.unit))  # with notes of its own
    place = f"Generation {fact.generation}, "
    name, implementation, feedback = (
        resolved(editor.line(text, place + part), evidence.facts)
        for part, text in zip(("Name", "Implementation", "Feedback"), said, strict=True)
    )
    return own.model_copy(
        update={
            "name": clean_line(shown(name), NAME_LIMIT) or own.name,
            "implementation": implementation or own.implementation,
            "feedback": feedback or own.feedback,
        }
    )


def _checked_scratchpad(said: NotesAnswer, editor: Editor) -> Scratchpad:
    first, second, third, fourth = (
        insights(editor.body(text, title), editor.facts) for title, text in zip(SECTIONS, said.sections, strict=True)
    )
    preface = resolved(editor.body(said.preface, "Scratchpad"), editor.facts)
    return Scratchpad(preface=preface, sections=(first, second, third, fourth))


def _checked_recommendation(text: str, editor: Editor) -> Recommendation | None:
    """A recommendation held against the record; None where nothing is left of it."""
    line = editor.line(text, "Meta Recommendations")
    return recommendation(line, editor.facts) if line else None


def _problem(question: MetaQuestion, failure: Exception) -> Problem:
    return Problem(step=question.step, generation=question.generation, why=block(str(failure)))


def _kept(editor: Editor) -> tuple[str, ...]:
    return tuple(editor.notes[:MOST_CORRECTIONS])


def _done(request: SummaryRequest, ended: Round) -> Round:
    """The round as it is recorded, with what code says in its report."""
    if ended.report is not None:
        code = {"warning": clean_line(warning(request.evidence)), "outcomes": tuple(map(clean_line, request.outcomes))}
        ended = ended.model_copy(update={"report": ended.report.model_copy(update=code)})
    size = len(ended.model_dump_json())
    if size <= MOST_BYTES:
        return ended
    return Round(problems=(Problem(step="report", why=f"it is {size} bytes long, and at most {MOST_BYTES} are kept"),))

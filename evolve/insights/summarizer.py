"""One round of the meta-summarizer: what a run has learnt since the last report, put into the next one.

A model is asked twice: for summaries of the new programs, then for scratchpad and recommendations. Its answers are
prose with citations, used as far as they can be separated, and held against the record. Of a program whose summary
cannot be had, code's own stands in. Without an answer to the second question the round ends without a report: it keeps
what was paid for, the last report stays in force, and the next round goes on with more programs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from evaluator.untrusted import block
from evolve.archive.reports import (
    SECTIONS,
    InsightsReport,
    MetaState,
    Problem,
    ProgramSummary,
    Round,
    Scratchpad,
    joined,
    numbered,
    shown,
)
from evolve.core.completion import (
    CallFailed,
    Completion,
    MetaKey,
    MetaQuestion,
    MetaStep,
    UnusableAnswer,
    estimate_tokens,
    text_of,
)
from evolve.insights.answers import (
    MAX_RECOMMENDATIONS,
    SummaryAnswer,
    clean_line,
    read_insights,
    read_summaries,
)
from evolve.insights.check import Editor
from evolve.insights.citations import insights, recommendation, resolved
from evolve.insights.evidence import Evidence
from evolve.insights.facts import Details, Fact
from evolve.insights.overview import overview, warning
from evolve.insights.without_model import NAME_LIMIT, code_summary, offline_report
from evolve.patch.text import unified

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
    prompt to the model that writes reports; `outcomes` are the outcomes of the earlier recommendations, a line each;
    `closing`: after this many programs the report closes a session, and takes no round's place. `at_next_call` gives
    the same with what is on record by then: to be asked for once before each further question."""

    state: MetaState
    evidence: Evidence
    new: Sequence[Fact]
    best_source: str
    ask: Ask
    outcomes: tuple[str, ...] = ()
    closing: int | None = None
    at_next_call: Callable[[], "SummaryRequest"] | None = None
    details: Callable[[int], Details] | None = None

    def key(self, question: MetaQuestion) -> MetaKey:
        """The key of one of the questions of its round."""
        return MetaKey(round=self.state.rounds + 1, closing=self.closing, question=question)

    def renewed(self) -> "SummaryRequest":
        """The request for the next question."""
        return self if self.at_next_call is None else self.at_next_call()


class OfflineSummarizer:
    """Writes reports without a model. `unit` is the metric's."""

    def __init__(self, unit: str = "") -> None:
        self._unit = unit

    def summarise(self, request: SummaryRequest) -> Round:
        """The next report."""
        return _done(request, Round(report=offline_report(request.evidence, request.new, self._unit)))


class ModelSummarizer:
    """Writes reports with a model, in two calls: the summaries of the new programs, then scratchpad and
    recommendations. A call whose answer is of no use is repeated once.

    `render` fills the templates of the prompts; `prompt_tokens` is the longest prompt, estimated, beyond which the
    summaries are asked for in parts; `unit` is the metric's.
    """

    def __init__(self, render: Render, prompt_tokens: int, unit: str = "") -> None:
        self._render, self._unit = render, unit
        self._prompt_tokens = prompt_tokens

    def summarise(self, request: SummaryRequest) -> Round:
        """The next report, or why there is none. Raises InputError when a template is wrong."""
        evidence = request.evidence
        editor = Editor(facts=evidence.facts, leaders=evidence.leaders, unit=self._unit, details=request.details)
        summaries, problems, asked = self._summaries(request, editor)
        request = request.renewed() if asked else request
        evidence, earlier = request.evidence, request.state.report
        editor = replace(editor, facts=evidence.facts, leaders=evidence.leaders)
        prompt = self._render(
            "meta_insights.j2",
            table=overview(evidence),
            best=evidence.best,
            best_source=request.best_source,
            sections=SECTIONS,
            most=MAX_RECOMMENDATIONS,
            summaries=shown(joined((summary.whole for summary in summaries), "\n\n")),
            scratchpad="" if earlier is None else shown(earlier.scratchpad.whole),
            recommendations="" if earlier is None else shown(numbered(earlier.recommendations)),
            outcomes="\n".join(request.outcomes),
        )
        question, answer = self._answer(request, MetaQuestion(step=MetaStep.INSIGHTS), prompt)
        report, paid = None, list[ProgramSummary]()
        if isinstance(answer, str):
            pad, advice = read_insights(answer)
            scratchpad = _checked_scratchpad(pad, editor)
            lines = [editor.line(text, "Meta Recommendations", advice=True) for text in advice]
            report = InsightsReport(
                summaries=tuple(summaries),
                scratchpad=scratchpad,
                recommendations=tuple(recommendation(line, editor.facts, editor.leaders) for line in lines if line),
            )
        else:
            without = {problem.generation for problem in problems}
            paid = [summary for summary in summaries if summary.generation not in without]
            problems.append(_problem(question, answer))
        kept = tuple(editor.notes[:MOST_CORRECTIONS])
        return _done(request, Round(report=report, pending=tuple(paid), problems=tuple(problems), corrections=kept))

    def _answer(
        self, request: SummaryRequest, question: MetaQuestion, prompt: str
    ) -> tuple[MetaQuestion, str | CallFailed | UnusableAnswer]:
        """What the model answers to a question, asked a second time where the first answer is of no use; or why that
        cannot be had. With the question as it was put last."""
        while True:
            try:
                return question, text_of(request.ask(request.key(question), prompt))
            except CallFailed as failed:
                return question, failed
            except UnusableAnswer as unusable:
                if question.attempt:
                    return question, unusable
                question = replace(question, attempt=1)

    def _summaries(self, request: SummaryRequest, editor: Editor) -> tuple[list[ProgramSummary], list[Problem], bool]:
        """The summaries of the new programs, the problems of those that code wrote since a model gave no usable answer,
        and whether a model was asked."""
        summaries = {summary.generation: summary for summary in request.state.pending}
        missing = [fact for fact in request.new if fact.is_program and fact.generation not in summaries]
        asked = [fact for fact in missing if fact.parent_generation is not None and fact.same_as is None]
        parsed, problems = dict[int, SummaryAnswer](), list[Problem]()
        parts = self._parts(request, asked)
        for number, (facts, prompt) in enumerate(parts, 1):
            request = request.renewed() if number > 1 else request
            question = MetaQuestion(step=MetaStep.SUMMARIES, part=number)
            question, answer = self._answer(request, question, prompt)
            if isinstance(answer, str):
                parsed |= read_summaries(answer, [fact.generation for fact in facts])
                answer = UnusableAnswer("the answer says nothing of it")
            problems += [_problem(question, answer, fact.generation) for fact in facts if fact.generation not in parsed]
        for fact in missing:
            answer_of = parsed.get(fact.generation, SummaryAnswer())
            summaries[fact.generation] = _checked_summary(answer_of, fact, request.evidence, editor)
        return [summaries[fact.generation] for fact in request.new if fact.is_program], problems, bool(parts)

    def _parts(self, request: SummaryRequest, facts: Sequence[Fact]) -> list[tuple[Sequence[Fact], str]]:
        """The programs in as few parts as their prompts allow, each with its prompt."""
        if not facts:
            return []
        programs = [
            {"fact": fact, "reason": self._reason(request, fact), "diff": diff_to_parent(fact)} for fact in facts
        ]
        prompt = self._render("meta_summaries.j2", programs=programs)
        if len(facts) == 1 or estimate_tokens(prompt) <= self._prompt_tokens:
            return [(facts, prompt)]
        half = len(facts) // 2
        return [*self._parts(request, facts[:half]), *self._parts(request, facts[half:])]

    def _reason(self, request: SummaryRequest, fact: Fact) -> str:
        """What a patch says of itself, without figures that a model made up."""
        if fact.origin.by_code:
            return fact.origin.description
        facts = request.evidence.facts
        return shown(resolved(Editor(facts=facts, unit=self._unit).line(fact.origin.description, ""), facts))


def diff_to_parent(fact: Fact) -> str:
    """What a program changed in its parent, as a unified diff; "" without a parent, or if the program is shorter."""
    if not fact.parent_source:
        return ""
    text = "\n".join(unified(fact.parent_source.split("\n"), fact.source.split("\n")))
    return text if len(text) < len(fact.source) else ""


def _checked_summary(answer: SummaryAnswer, fact: Fact, evidence: Evidence, editor: Editor) -> ProgramSummary:
    """A model's summary held against the record; where nothing is left of it, and for the performance, code's own."""
    own = code_summary(fact, evidence, Editor(facts=evidence.facts, unit=editor.unit))  # with notes of its own
    place = f"Generation {fact.generation}, "
    name, implementation, feedback = (
        resolved(
            editor.line(text, place + part, of=fact.generation, advice=part == "Feedback"), editor.facts, editor.leaders
        )
        for part, text in zip(("Name", "Implementation", "Feedback"), answer, strict=True)
    )
    return own.model_copy(
        update={
            "name": clean_line(shown(name), NAME_LIMIT) or own.name,
            "implementation": implementation or own.implementation,
            "feedback": feedback or own.feedback,
        }
    )


def _checked_scratchpad(answer: Sequence[str], editor: Editor) -> Scratchpad:
    preface, *sections = answer
    first, second, third, fourth = (
        insights(editor.body(text, title), editor.facts, editor.leaders)
        for title, text in zip(SECTIONS, sections, strict=True)
    )
    begins = resolved(editor.body(preface, "Scratchpad"), editor.facts, editor.leaders)
    return Scratchpad(preface=begins, sections=(first, second, third, fourth))


def _problem(question: MetaQuestion, failure: Exception, generation: int | None = None) -> Problem:
    return Problem(
        step=question.step,
        part=question.part,
        attempt=question.attempt,
        generation=generation,
        why=block(str(failure)),
    )


def _done(request: SummaryRequest, ended: Round) -> Round:
    """The round as it is recorded, with what code says in its report."""
    if ended.report is not None:
        code = {"warning": clean_line(warning(request.evidence)), "outcomes": tuple(map(clean_line, request.outcomes))}
        ended = ended.model_copy(update={"report": ended.report.model_copy(update=code)})
    size = len(ended.model_dump_json())
    if size <= MOST_BYTES:
        return ended
    return Round(problems=(Problem(step="report", why=f"it is {size} bytes long, and at most {MOST_BYTES} are kept"),))

"""One round of the meta-summarizer: what a run has learnt since the last document, put into the next one.

A model writes prose with citations; every answer is read whole or not at all, and held against the record. Of a program
whose summary cannot be had, code's own stands in. A later step that fails ends the round without a document: the state
keeps what was paid for, the last document stays in force, and the next round goes on with more programs.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Self

from evolve.completion import CallFailed, Completion, MetaKey, MetaQuestion, MetaStep, UnusableAnswer, text_of
from evolve.evidence.counted import Evidence
from evolve.evidence.facts import Fact
from evolve.meta.check import Editor
from evolve.meta.citations import with_citations
from evolve.meta.document import (
    MAX_RECOMMENDATIONS,
    SECTIONS,
    Document,
    ProgramSummary,
    Scratchpad,
    clean,
    parse,
    read_recommendations,
    read_scratchpad,
    read_summary,
    render_recommendations,
    render_scratchpad,
    render_summary,
)
from evolve.meta.offline import code_summary, offline_document
from evolve.meta.overview import overview, warning
from evolve.patch.lines import unified

Ask = Callable[[MetaKey, str], Completion]
"""Key and prompt to a completion, recorded by whoever provides it; from threads; raises CallFailed."""

Render = Callable[..., str]
"""The name of a template and its variables to the text, as `Prompts.fill` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaState:
    """What one round leaves to the next. `rounds` counts those that ended, with a document or not; `summaries` are of
    programs that no document has shown."""

    rounds: int = 0
    document: Document | None = None
    summaries: tuple[ProgramSummary, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All but the document, whose Markdown stands in a file of its own."""
        return {"rounds": self.rounds, "summaries": list(map(asdict, self.summaries))}

    @classmethod
    def from_json(cls, record: Mapping[str, Any], markdown: str | None) -> Self:
        """The inverse: `markdown` is the text of the last document, None before the first. Raises KeyError, TypeError
        or ValueError on a record or a document of another shape."""
        return cls(
            rounds=int(record["rounds"]),
            document=None if markdown is None else parse(markdown),
            summaries=tuple(ProgramSummary(**summary) for summary in record["summaries"]),
        )


START = MetaState()
"""The state of a run that has had no round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest:
    """What a document is to be made of. `new` are the facts since the last one, with their sources and feedback, all
    of them in `evidence` too; `best_source` is the source of the best program, "" while there is none; `ask` puts a
    prompt to the model that writes documents; `outcomes` say what came of the earlier recommendations, a line each;
    `closing`: after so many programs the document closes a session, and takes no round's place."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaResult:
    """How a round ended. `document` is None when a step failed; `problems` then say which and why. `corrections` are
    what was taken out of the texts of this round, one line each."""

    state: MetaState
    document: Document | None
    corrections: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class OfflineSummarizer:
    """Writes documents without a model. `unit` is the metric's."""

    def __init__(self, unit: str = "") -> None:
        self._unit = unit

    def summarise(self, request: SummaryRequest) -> MetaResult:
        """The next document; there always is one."""
        return _done(request, offline_document(request.evidence, request.new, self._unit), ())


class ModelSummarizer:
    """Writes documents with a model, in three steps: a summary of each new program, the scratchpad, recommendations.

    `render` fills the templates of the prompts; at most `parallel` summaries are asked for at a time; `unit` is the
    metric's.
    """

    def __init__(self, render: Render, parallel: int = 1, unit: str = "") -> None:
        self._render, self._unit = render, unit
        self._parallel = max(1, parallel)

    def summarise(self, request: SummaryRequest) -> MetaResult:
        """The next document, or why there is none. Raises InputError when a template is wrong."""
        editor = Editor(facts=request.evidence.facts, unit=self._unit)
        summaries, failed = self._summaries(request, editor)
        evidence, earlier, step = request.evidence, request.state.document, MetaQuestion(step=MetaStep.SCRATCHPAD)
        ground = {"table": overview(evidence), "best": evidence.best, "best_source": request.best_source}
        try:
            answer = self._answer(
                request,
                step,
                **ground,
                sections=SECTIONS,
                scratchpad="" if earlier is None else with_citations(render_scratchpad(earlier.scratchpad)),
                summaries="\n\n".join(map(render_summary, summaries)),
            )
            pad = _held_scratchpad(read_scratchpad(answer), editor)
            step = MetaQuestion(step=MetaStep.RECOMMENDATIONS)
            answer = self._answer(
                request,
                step,
                **ground,
                most=MAX_RECOMMENDATIONS,
                outcomes="\n".join(request.outcomes),
                scratchpad=with_citations(render_scratchpad(pad)),
                recommendations=""
                if earlier is None
                else with_citations(render_recommendations(earlier.recommendations)),
            )
            items = [editor.line(item, "Meta Recommendations") for item in read_recommendations(answer)]
        except (CallFailed, UnusableAnswer) as failure:
            paid = tuple(summary for summary in summaries if summary.generation not in failed)
            kept = replace(request.state, rounds=request.state.rounds + 1, summaries=paid)
            problem = f"{step}: {failure}"
            return MetaResult(state=kept, document=None, corrections=tuple(editor.notes), problems=(problem,))
        document = Document(summaries=tuple(summaries), scratchpad=pad, recommendations=tuple(items))
        return _done(request, document, tuple(editor.notes))

    def _answer(self, request: SummaryRequest, question: MetaQuestion, **variables: object) -> str:
        """What the model answers to a question. Raises CallFailed, or UnusableAnswer if it is cut short."""
        prompt = self._render(f"meta_{question.step}.j2", **variables)
        return text_of(request.ask(request.key(question), prompt))

    def _summaries(self, request: SummaryRequest, editor: Editor) -> tuple[list[ProgramSummary], set[int]]:
        """The summaries of the new programs, and the generations whose summary is code's for want of an answer."""
        found = {summary.generation: summary for summary in request.state.summaries}
        missing = [fact for fact in request.new if fact.is_program and fact.generation not in found]
        with ThreadPoolExecutor(max_workers=self._parallel) as pool:
            answers = list(pool.map(partial(self._summary, request), missing))
        failed: set[int] = set()
        for fact, answer in zip(missing, answers, strict=True):
            if isinstance(answer, str):
                failed.add(fact.generation)
                editor.notes.append(f"Generation {fact.generation}: summarised by code, for {answer}")
                answer = {}
            found[fact.generation] = _held(answer, fact, request.evidence, editor)
        return [found[fact.generation] for fact in request.new if fact.is_program], failed

    def _summary(self, request: SummaryRequest, fact: Fact) -> dict[str, str] | str:
        """What the model says of one program; or why that cannot be had."""
        reason = fact.origin.description
        if not fact.origin.by_code:
            reason = Editor(facts=request.evidence.facts, unit=self._unit).line(reason, "")
        try:
            question = MetaQuestion(step=MetaStep.SUMMARY, generation=fact.generation)
            answer = self._answer(request, question, fact=fact, reason=reason, diff=diff_to_parent(fact))
            return read_summary(answer)
        except (CallFailed, UnusableAnswer) as failure:
            return str(failure)


def diff_to_parent(fact: Fact) -> str:
    """What a program changed in its parent, as a unified diff; "" without a parent, or if the program is shorter."""
    if not fact.parent_source:
        return ""
    text = "\n".join(unified(fact.parent_source.split("\n"), fact.source.split("\n")))
    return text if len(text) < len(fact.source) else ""


def _held(said: Mapping[str, str], fact: Fact, evidence: Evidence, editor: Editor) -> ProgramSummary:
    """A model's summary held against the record; where nothing is left of it, and for the performance, code's own."""
    own = code_summary(fact, evidence, Editor(facts=evidence.facts, unit=editor.unit))  # with notes of its own

    def held(part: str) -> str:
        return editor.line(said.get(part, ""), f"Generation {fact.generation}, {part.title()}")

    return replace(
        own,
        name=held("name") or own.name,
        implementation=held("implementation") or own.implementation,
        feedback=held("feedback") or own.feedback,
    )


def _held_scratchpad(pad: Scratchpad, editor: Editor) -> Scratchpad:
    sections = tuple(editor.body(text, title) for title, text in zip(SECTIONS, pad.sections, strict=True))
    return Scratchpad(preface=editor.body(pad.preface, "Scratchpad"), sections=sections)


def _done(request: SummaryRequest, document: Document, notes: tuple[str, ...]) -> MetaResult:
    document = clean(replace(document, warning=warning(request.evidence), outcomes=request.outcomes))
    after = MetaState(rounds=request.state.rounds + 1, document=document)
    return MetaResult(state=after, document=document, corrections=notes)

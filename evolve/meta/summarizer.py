"""One round of the meta-summarizer: what a run has learnt since the last document, put into the next one.

With a model, three steps: a summary of each new program, the scratchpad, the recommendations. Every answer is read
whole or not at all, and checked against the record. A step that fails ends the round without a document: the state
keeps what was paid for, the last document stays in force, and the next round goes on with more programs.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

from evolve.completion import CallFailed, Completion, meta_key
from evolve.meta.answers import UnusableAnswer, read_recommendations, read_scratchpad, read_summary, text_of
from evolve.meta.check import check_recommendations, check_scratchpad, check_summary
from evolve.meta.document import (
    MAX_RECOMMENDATIONS,
    SECTIONS,
    Document,
    ProgramSummary,
    Scratchpad,
    clean,
    parse,
    render_recommendations,
    render_scratchpad,
    render_summary,
)
from evolve.meta.evidence import Evidence, warning
from evolve.meta.facts import Fact
from evolve.meta.offline import code_summary, offline_document
from evolve.meta.record import Record
from evolve.meta.wording import title

TRIES = 2
"""After so many rounds without a usable summary of a program, code's own summary stands in for it, so that one answer
that never comes does not hold up every later document."""

Ask = Callable[[str, str], Completion]
"""Key (`meta_key`) and prompt to a completion, recorded by whoever provides it; from threads; raises CallFailed."""


class Render(Protocol):
    """Renders the template `name` of the prompts with variables, as `Prompts.fill` does."""

    def __call__(self, name: str, /, **variables: object) -> str:
        """The text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaState:
    """What one round leaves to the next.

    `rounds` counts the rounds that ended, with a document or not; `number` is the round of `document`, 0 before the
    first. `summaries` are of programs that no document has shown yet. `failures` counts, per generation, the rounds in
    which its summary could not be had.
    """

    rounds: int = 0
    number: int = 0
    document: Document | None = None
    summaries: tuple[ProgramSummary, ...] = ()
    failures: Mapping[int, int]

    def to_json(self) -> dict[str, Any]:
        """All but the document, whose Markdown stands in a file of its own."""
        fields = ("generation", "patch_name", "correct", "name", "implementation", "performance", "feedback")
        return {
            "rounds": self.rounds,
            "number": self.number,
            "summaries": [{name: getattr(summary, name) for name in fields} for summary in self.summaries],
            "failures": {str(generation): count for generation, count in sorted(self.failures.items())},
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any], markdown: str | None) -> "MetaState":
        """The inverse: `markdown` is the text of the last document, None before the first.

        Raises KeyError, TypeError or ValueError on a record or a document of another shape.
        """
        return cls(
            rounds=int(record["rounds"]),
            number=int(record["number"]),
            document=None if markdown is None else parse(markdown),
            summaries=tuple(ProgramSummary(**summary) for summary in record["summaries"]),
            failures={int(generation): int(count) for generation, count in record["failures"].items()},
        )


START = MetaState(failures={})
"""The state of a run that has had no round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest:
    """What a document is to be made of. `new` are the facts since the last one, with their sources; `best_source` is
    the source of the best program, "" while there is none; `ask` puts a prompt to the model that writes documents."""

    state: "MetaState"
    evidence: Evidence
    new: Sequence[Fact]
    best_source: str
    ask: Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaResult:
    """How a round ended. `document` is None when a step failed; `problems` then say which and why.

    `corrections` are what the check changed in the texts of this round, one line each.
    """

    state: MetaState
    document: Document | None
    corrections: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def summarise_offline(
    state: MetaState,
    evidence: Evidence,
    new: Sequence[Fact],
    *,
    best_source: str = "",
    vocabulary: Sequence[str] = (),
) -> MetaResult:
    """A round without a model. `new` are the facts since the last document, with their sources."""
    document = offline_document(evidence, new, best_source=best_source, vocabulary=vocabulary)
    return _done(state, evidence, document, ())


def summarise(
    state: MetaState,
    evidence: Evidence,
    new: Sequence[Fact],
    *,
    ask: Ask,
    render: Render,
    best_source: str = "",
    parallel: int = 1,
) -> MetaResult:
    """A round with a model.

    `new` are the facts since the last document, with sources and feedback; all of them are in `evidence` too.
    At most `parallel` summaries are asked for at a time.
    Raises InputError when a template is wrong; a failure of the model is in the result.
    """
    number = state.rounds + 1
    record = Record(evidence, [*new, *_best_with_source(evidence, best_source)])
    programs = [fact for fact in new if fact.is_program]
    summaries, notes, problems, failures = _summaries(
        state, programs, record, number, ask=ask, render=render, parallel=parallel
    )
    failed = replace(state, rounds=number, summaries=summaries, failures=failures)
    if problems:
        return MetaResult(state=failed, document=None, corrections=notes, problems=problems)
    earlier = state.document or Document()
    common = {"table": evidence.table(), "best": evidence.best, "best_source": best_source}
    step = "scratchpad"
    try:
        prompt = render(
            "meta_scratchpad.j2",
            **common,
            sections=SECTIONS,
            scratchpad=render_scratchpad(earlier.scratchpad) if state.document else "",
            summaries="\n\n".join(map(render_summary, summaries)),
        )
        pad: Scratchpad = read_scratchpad(text_of(ask(meta_key(number, step), prompt)))
        pad, more = check_scratchpad(pad, record)
        notes += more
        step = "recommendations"
        prompt = render(
            "meta_recommendations.j2",
            **common,
            most=MAX_RECOMMENDATIONS,
            scratchpad=render_scratchpad(pad),
            recommendations=render_recommendations(earlier.recommendations),
        )
        items = read_recommendations(text_of(ask(meta_key(number, step), prompt)))
        items, more = check_recommendations(items, record)
        notes += more
    except (CallFailed, UnusableAnswer) as failure:
        return MetaResult(state=failed, document=None, corrections=notes, problems=(f"{step}: {failure}",))
    return _done(state, evidence, clean(Document(summaries=summaries, scratchpad=pad, recommendations=items)), notes)


def _done(state: MetaState, evidence: Evidence, document: Document, notes: tuple[str, ...]) -> MetaResult:
    number = state.rounds + 1
    document = clean(replace(document, warning=warning(evidence)))
    after = MetaState(rounds=number, number=number, document=document, failures={})
    return MetaResult(state=after, document=document, corrections=notes)


def _best_with_source(evidence: Evidence, source: str) -> tuple[Fact, ...]:
    return () if evidence.best is None else (replace(evidence.best, source=source),)


def _summaries(
    state: MetaState,
    programs: Sequence[Fact],
    record: Record,
    number: int,
    *,
    ask: Ask,
    render: Render,
    parallel: int,
) -> tuple[tuple[ProgramSummary, ...], tuple[str, ...], tuple[str, ...], dict[int, int]]:
    """The summaries of `programs` as far as they could be had, notes, problems, and the failures so far."""
    kept = {summary.generation: summary for summary in state.summaries}

    def summarised(fact: Fact) -> tuple[ProgramSummary, tuple[str, ...]] | str:
        if fact.generation in kept:
            return kept[fact.generation], ()
        prompt = render("meta_summary.j2", fact=fact)
        try:
            fields = read_summary(text_of(ask(meta_key(number, f"summary/{fact.generation}"), prompt)))
        except (CallFailed, UnusableAnswer) as failure:
            return str(failure)
        summary = ProgramSummary(
            generation=fact.generation,
            patch_name=fact.patch_name,
            correct=fact.correct,
            name=fields.get("name") or title(fact),
            implementation=fields["implementation"],
            performance=fields.get("performance", ""),
            feedback=fields["feedback"],
        )
        return check_summary(summary, record)

    with ThreadPoolExecutor(max_workers=max(1, parallel)) as pool:
        answers = list(pool.map(summarised, programs))
    found: list[ProgramSummary] = []
    notes: tuple[str, ...] = ()
    problems: list[str] = []
    failures = dict(state.failures)
    for fact, answer in zip(programs, answers, strict=True):
        if not isinstance(answer, str):
            found.append(answer[0])
            notes += answer[1]
            continue
        failures[fact.generation] = failures.get(fact.generation, 0) + 1
        problem = f"summary of generation {fact.generation}: {answer}"
        if failures[fact.generation] >= TRIES:
            summary, more = check_summary(code_summary(fact, record.evidence), record)
            found.append(summary)
            notes += (f"Generation {fact.generation}: summarised by code ({problem})", *more)
        else:
            problems.append(problem)
    return tuple(found), notes, tuple(problems), failures


class OfflineSummarizer:
    """Code alone."""

    def summarise(self, request: SummaryRequest) -> MetaResult:
        """See Summarizer."""
        return summarise_offline(request.state, request.evidence, request.new, best_source=request.best_source)


class ModelSummarizer:
    """A model."""

    def __init__(self, *, render: Render, parallel: int) -> None:
        self._render = render
        self._parallel = parallel

    def summarise(self, request: SummaryRequest) -> MetaResult:
        """See Summarizer."""
        return summarise(
            request.state,
            request.evidence,
            request.new,
            ask=request.ask,
            render=self._render,
            best_source=request.best_source,
            parallel=self._parallel,
        )


def choose_recommendation(document: Document, generation: int, seed: int) -> tuple[int, str] | None:
    """The recommendation for the prompt of a generation, with its number (from 1); None when there is none."""
    if not document.recommendations:
        return None
    index = random.Random(f"{seed}:{generation}:recommendation").randrange(len(document.recommendations))
    return index + 1, document.recommendations[index]

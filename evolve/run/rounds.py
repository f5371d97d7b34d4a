"""The rounds of the meta-summarizer within a run: when one is due, what goes in, and what is recorded of it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord
from evolve.completion import Completion, Message
from evolve.meta.document import render, render_scratchpad
from evolve.meta.evidence import Evidence
from evolve.meta.facts import Fact
from evolve.meta.summarizer import START, MetaResult, MetaState, SummaryRequest, choose_recommendation
from evolve.proposal import Guidance
from evolve.run.calls import Calls
from evolve.run.desk import Desk
from evolve.seams import LLM, Summarizer
from evolve.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Who writes the meta documents, and the model that is asked for them (None: no model is)."""

    summarizer: Summarizer
    llm: LLM | None = None


class Rounds:
    """`add` each generation that ends; when `due`, `prepare` a round, run it (in any thread), and `finish` it."""

    def __init__(
        self,
        archive: Archive,
        writing: Writing,
        *,
        every: int,
        seed: int,
        desk: Desk,
        calls: Calls,
    ) -> None:
        self._archive = archive
        self._writing = writing
        self._every = every
        self._seed = seed
        self._desk = desk
        self._calls = calls
        self._evidence = Evidence()
        self._waiting: list[Fact] = []  # ended while a round was on, which reads the evidence
        self._begun: int | None = None  # programs when the round that is on began
        self._state = self._restored()

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong in the last round; empty if it gave a document."""
        return self._archive.meta.problems

    def restore(self) -> None:
        """Take up every generation that ended in earlier sessions."""
        facts = [(record.generation, self._of_program(record)) for record in self._archive.programs]
        facts += [
            (ended.generation, self._without(ended.generation)) for ended in self._archive.ended_without_program()
        ]
        for _, fact in sorted(facts, key=lambda pair: pair[0]):
            self._evidence.add(fact)

    def add(self, generation: int) -> None:
        """A generation ended, with a program or without."""
        archive = self._archive
        record = archive.programs[-1] if archive.programs[-1].generation == generation else None
        fact = self._without(generation) if record is None else self._of_program(record)
        if self._begun is None:
            self._evidence.add(fact)
        else:
            self._waiting.append(fact)

    def due(self) -> bool:
        """Whether a round should begin: enough programs since the last one, and none is on."""
        return self._begun is None and len(self._archive.programs) - self._archive.meta.begun >= self._every

    def prepare(self) -> Callable[[], MetaResult]:
        """The round that is due, ready to run in any thread. The evidence stands still until `finish`."""
        archive = self._archive
        self._begun = len(archive.programs)
        new = [self._of_program(record, whole=True) for record in archive.programs[archive.meta.shown :]]
        best = self._evidence.best
        best_source = "" if best is None else archive.source(archive.find(str(best.generation)))
        stored = {key: _stored(archive, event) for key, event in archive.meta.answers.items()}
        request = SummaryRequest(
            state=self._state,
            evidence=self._evidence,
            new=new,
            best_source=best_source,
            ask=partial(self._ask, self._writing.llm, stored),
        )
        return partial(self._writing.summarizer.summarise, request)

    def finish(self, result: MetaResult) -> None:
        """Record how the round ended, and take up what ended meanwhile."""
        assert self._begun is not None
        self._archive.summarised(
            programs=self._begun,
            state=result.state.to_json(),
            document=None if result.document is None else render(result.document),
            corrections=result.corrections,
            problems=result.problems,
        )
        self._state = result.state
        self._end()

    def abandon(self) -> None:
        """Leave the round that is on, unrecorded: the next session begins it again, with the answers it has."""
        self._end()

    def _end(self) -> None:
        self._begun = None
        for fact in self._waiting:
            self._evidence.add(fact)
        self._waiting.clear()

    def guidance(self, generation: int) -> Guidance | None:
        """What the prompt of a generation is given of the last document; None before the first."""
        document = self._state.document
        if document is None:
            return None
        chosen = choose_recommendation(document, generation, self._seed)
        if chosen is None:
            return None
        number, recommendation = chosen
        return Guidance(
            document=self._archive.meta.shown,
            scratchpad=render_scratchpad(document.scratchpad),
            number=number,
            recommendation=recommendation,
        )

    def _restored(self) -> MetaState:
        meta = self._archive.meta
        if meta.state is None:
            return START
        document = self._archive.text(meta.documents[meta.shown]) if meta.documents else None
        return MetaState.from_json(meta.state, document)

    def _of_program(self, record: ProgramRecord, *, whole: bool = False) -> Fact:
        """The fact of a program; `whole`: with the texts that only a document on it needs."""
        archive = self._archive
        parent = archive.find(record.parents[0]) if record.parents else None
        if not whole and record.correct:
            return Fact.of_program(record, parent)
        evaluation = archive.evaluation(record)
        if not whole:
            return Fact.of_program(record, parent, detail=evaluation.detail)
        return Fact.of_program(
            record,
            parent,
            detail=evaluation.detail,
            source=archive.source(record),
            parent_source="" if parent is None else archive.source(parent),
            feedback=evaluation.feedback,
        )

    def _without(self, generation: int) -> Fact:
        attempts = self._archive.attempts(generation)
        return Fact.without_program(self._archive.generation(generation), attempts[-1] if attempts else None)

    def _ask(self, llm: LLM | None, stored: dict[str, Completion], key: str, prompt: str) -> Completion:
        """The answer to one request of a round: the recorded one if it was paid for before, else the model's."""
        if key in stored:
            return stored[key]
        assert llm is not None, "documents without a model ask nobody"
        question = [Message(role="user", content=prompt)]
        completion = llm.complete(question, key=key, observe=self._calls.observer(key))
        self._desk.have(
            lambda: self._archive.meta_answered(
                key,
                prompt=prompt,
                text=completion.text,
                finish_reason=completion.finish_reason,
                usage=completion.usage,
            )
        )
        return completion


def _stored(archive: Archive, event: Any) -> Completion:
    return Completion(
        text=archive.text(event["answer"]),
        finish_reason=event["finish_reason"],
        usage=Usage.from_json(event),
    )

"""The meta documents of a run: when one is due, what goes in, and what is recorded of it."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from evolve.archive.archive import Archive
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.completion import Completion, Message
from evolve.config import Config
from evolve.meta.document import render, render_scratchpad
from evolve.meta.evidence import Evidence
from evolve.meta.facts import Fact
from evolve.meta.summarizer import START, MetaResult, MetaState, SummaryRequest, choose_recommendation
from evolve.opening import SummaryWriter
from evolve.progress import Event, Summarised
from evolve.proposal import Guidance
from evolve.run.calls import Calls
from evolve.run.mailbox import Mailbox
from evolve.run.steps import Steps, Wait
from evolve.usage import Usage


class Summaries:
    """Told of each generation that ends (`ended`); when one is `due`, a round is begun, run in any thread, and recorded
    (`finish`). What ends meanwhile is kept back, so that the evidence stands still."""

    def __init__(
        self, archive: Archive, writer: SummaryWriter, *, config: Config, mailbox: Mailbox, calls: Calls
    ) -> None:
        self.writer = writer
        self._archive = archive
        self._every = config.meta_every
        self._seed = config.seed
        self._mailbox = mailbox
        self._calls = calls
        self._evidence = Evidence()
        self._kept_back: list[int] = []
        self._under_way = False
        self._state = self._restored()

    @property
    def programs(self) -> int:
        """How many programs there were when the last round began."""
        return self._archive.meta.begun

    def restore(self) -> None:
        """Take up every generation that ended in earlier sessions; those after a round that was cut off wait for it."""
        history = list(self._archive.history())
        position = self._archive.meta.position
        self._take_up(history[:position])
        self._kept_back = [] if position is None else [ended.generation for ended in history[position:]]

    def ended(self, generation: int) -> None:
        """A generation ended, with a program or without."""
        if self._under_way or self._archive.meta.position is not None:
            self._kept_back.append(generation)
        else:
            self._take_up([self._archive.ended_generation(generation)])

    def due(self) -> bool:
        """Whether a round should begin: one was cut off, or there are enough programs since the last one."""
        meta = self._archive.meta
        enough = len(self._archive.programs) - meta.begun >= self._every
        return not self._under_way and (meta.position is not None or enough)

    def begin(self) -> SummaryRequest:
        """The round that is due, ready for any thread. A round that was cut off is begun again as it was."""
        archive = self._archive
        if archive.meta.position is None:
            archive.summarising()
        self._under_way = True
        new = archive.programs[archive.meta.shown : archive.meta.begun]
        best = self._evidence.best
        return SummaryRequest(
            state=self._state,
            evidence=self._evidence,
            new=[self._of_program(record, whole=True) for record in new],
            best_source="" if best is None else archive.source(archive.find(str(best.generation))),
            ask=self._asker(),
        )

    def finish(self, result: MetaResult) -> None:
        """Record how the round ended, and take up what ended meanwhile."""
        self._archive.summarised(
            programs=self._archive.meta.begun,
            state=result.state.to_json(),
            document=None if result.document is None else render(result.document),
            corrections=result.corrections,
            problems=result.problems,
        )
        self._state = result.state
        self._under_way = False
        kept_back, self._kept_back = self._kept_back, []
        self._take_up(map(self._archive.ended_generation, kept_back))

    def guidance(self, generation: int) -> Guidance | None:
        """What the prompt of a generation is given of the last document; None before the first."""
        document = self._state.document
        chosen = None if document is None else choose_recommendation(document, generation, self._seed)
        if document is None or chosen is None:
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

    def _take_up(self, history: Iterable[EndedGeneration]) -> None:
        for ended in history:
            self._evidence.add(self._fact(ended))

    def _fact(self, ended: EndedGeneration) -> Fact:
        if ended.program is not None:
            return self._of_program(ended.program)
        attempts = self._archive.attempts(ended.generation)
        return Fact.without_program(self._archive.generation(ended.generation), attempts[-1] if attempts else None)

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

    def _asker(self) -> Any:
        """How a round asks: an answer on record is not paid for again, any other is recorded before it is used."""
        archive, llm = self._archive, self.writer.llm
        stored = {key: _stored(archive, event) for key, event in archive.meta.answers.items()}

        def ask(key: str, prompt: str) -> Completion:
            if key in stored:
                return stored[key]
            if llm is None:
                raise ValueError(f"{key}: there is no model to ask")
            with self._calls.permit():
                question = [Message(role="user", content=prompt)]
                answer = llm.complete(question, key=key, observe=self._calls.observer(key))
            self._mailbox.post(lambda: archive.meta_answered(key, prompt, answer))
            return answer

        return ask


def summarising(summaries: Summaries, *, tell: Callable[[Event], None], hurried: Callable[[], bool]) -> Steps:
    """Write the document that is due. A round that the run's end cut short stays open for the next session."""
    request = summaries.begin()
    result = yield Wait(phase="summarising", job=partial(summaries.writer.summarizer.summarise, request))
    if result.document is None and hurried():
        return
    summaries.finish(result)
    tell(Summarised(programs=summaries.programs, problems=result.problems))


def _stored(archive: Archive, event: Any) -> Completion:
    return Completion(
        text=archive.text(event["answer"]), finish_reason=event["finish_reason"], usage=Usage.from_json(event)
    )

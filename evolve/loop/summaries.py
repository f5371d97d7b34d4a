"""The insights reports of a run: how their writer asks, and what the loop waits for."""

from functools import partial

from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord
from evolve.archive.reports import Round
from evolve.core.completion import Completion, Message, MetaKey
from evolve.core.config import Config
from evolve.insights.advisor import Advisor
from evolve.insights.evidence import Evidence
from evolve.insights.facts import FactReader
from evolve.insights.outcomes import History, outcomes
from evolve.insights.summarizer import Ask, SummaryRequest
from evolve.loop.calls import Calls
from evolve.loop.executor import Executor
from evolve.opening import SummaryWriter
from evolve.proposal import Guidance
from evolve.propose.showing import shown_files

MOST_CALLS = 2.5
"""Calls of a round for each `meta_every` proposals; after one that took more, more proposals come before the next. With
the default of 10 proposals at most one call in five is for a report. A usual round has two calls: the summaries, and
the insights."""

_OF_THE_BEST = 0.3
"""The part of a prompt that the best program may take where it has several files."""


class Summaries:
    """The rounds of the meta-summarizer of one run: when one is due, what it is made of, and what is recorded of it.

    It hears of each generation that ends (`ended`); when a round is `due`, it is begun, run in any thread, and recorded
    (`finish`). Each of its calls is made of what is on record at that moment, which the record names (`summarising`). A
    round that was cut off goes on: what was answered for it is paid for. Where a model writes the reports, proposals
    are given recommendations, and reports tell their outcome.
    """

    def __init__(
        self, archive: Archive, writer: SummaryWriter, *, config: Config, executor: Executor, calls: Calls
    ) -> None:
        self.writer = writer
        self._archive = archive
        self._every = config.meta_every
        self._room = int(config.prompt_tokens * _OF_THE_BEST)
        self._advised = writer.llm is not None
        self._executor = executor
        self._calls = calls
        self._under_way = False
        self._reset()

    @property
    def programs(self) -> int:
        """How many programs there were when the last round began."""
        return max(self._archive.reader.meta.begun, self._archive.reader.meta.closed)

    def _reset(self) -> None:
        reader = self._archive.reader
        self._facts, self._history, self._evidence = FactReader(reader), History(reader), Evidence()
        self._advisor, self._outdated = Advisor(reader, self._history), False

    def restore(self) -> None:
        """Take up every generation that has ended, as it is on record now."""
        self._reset()
        for ended in self._archive.reader.endings():
            self._evidence.add(self._facts.ended(ended))

    def ended(self, generation: int) -> None:
        """A generation ended, with a program or without."""
        if not self._outdated:
            self._evidence.add(self._facts.ended(self._archive.reader.ended_generation(generation)))

    def confirmed(self, before: ProgramRecord, record: ProgramRecord) -> None:
        """A program was confirmed or withdrawn; its record was another one before."""
        if record != before:
            self._outdated = True  # the evidence is counted again when a call needs it
            self._history = History(self._archive.reader)
            self._advisor = Advisor(self._archive.reader, self._history)

    def due(self) -> bool:
        """Whether a round should begin: one was cut off; or `meta_every` programs wait for one, and as many have been
        asked for since the last report came into force, so that it had its use; or three times as many wait. After a
        round of three calls or more, more programs are waited for (see MOST_CALLS). All of that is on record."""
        reader, every = self._archive.reader, self._every
        meta = reader.meta
        if self._under_way or meta.position is not None:
            return not self._under_way
        waiting, stretched = len(reader.programs) - meta.begun, max(every, every * meta.calls / MOST_CALLS)
        used = reader.next_generation - meta.asked >= stretched
        return waiting >= (stretched if used else 3 * every)

    def closing(self) -> bool:
        """Whether there are programs at the end of a session that no round was about; half as many as make a round,
        where a model is asked. A run that paid for no report pays for none at its end."""
        meta = self._archive.reader.meta
        if self._under_way or meta.position is not None:
            return False
        waiting = len(self._archive.reader.programs) - self.programs
        return waiting >= max(1, self._every // 2) and bool(meta.reports) if self._advised else waiting > 0

    def begin(self, ask: Ask, *, closing: bool = False) -> SummaryRequest:
        """The round that is due, or (`closing`) the one that closes a session, ready for any thread."""
        self._under_way = True
        return self._request(ask, len(self._archive.reader.programs) if closing else None)

    def _request(self, ask: Ask, closing: int | None) -> SummaryRequest:
        """What the next call of a round is made of; for the thread that owns the archive."""
        archive = self._archive
        if self._outdated:
            self.restore()
        if closing is None:
            archive.summarising()
        new = archive.reader.programs[archive.reader.meta.shown : closing or archive.reader.meta.begun]
        best = self._evidence.best
        return SummaryRequest(
            state=archive.reader.meta.state,
            closing=closing,
            evidence=self._evidence.snapshot(),
            new=[self._facts.program(record, whole=self._advised) for record in new],
            best_source="" if best is None else self._source(str(best.generation)),
            ask=ask,
            outcomes=outcomes(archive.reader, self._history, self._evidence.facts) if self._advised else (),
            # Both are called by the thread that runs the round.
            at_next_call=lambda: self._executor.post(partial(self._request, ask, closing)),
            details=lambda generation: self._executor.post(partial(self._facts.details, generation)),
        )

    def _source(self, program: str) -> str:
        """A program as a report's prompt shows it: of several files as much as there is room for."""
        reader = self._archive.reader
        files = reader.files(reader.find(program))
        if len(files) == 1:
            return files.only
        shown = shown_files(files, self._room, [], 0)
        return "\n".join(f"FILE: {file.path} ({file.lines} lines)\n{file.text}" for file in shown)

    def finish(self, ended: Round, *, closing: bool = False) -> None:
        """Record how the round ended."""
        if closing:
            self._archive.closed(ended)
        else:
            self._archive.summarised(self._archive.reader.meta.begun, ended)
        self._under_way = False

    def guidance(self, generation: int, parent: ProgramRecord) -> Guidance | None:
        """What the prompt of a generation is given for a change of `parent`; None before the first document."""
        return self._advisor.guidance(generation, parent)

    def asker(self) -> Ask:
        """How a round asks: an answer on record is not paid for again, nor is one that the round which closed a session
        got to the same question; any other is recorded before it is used."""
        archive, llm = self._archive, self.writer.llm
        answers, text = archive.reader.meta.answers.items(), archive.reader.text
        stored = {
            key: Completion(text=text(event.answer), finish_reason=event.finish_reason, usage=event.usage)
            for key, event in answers
        }
        alike = {(key.question, text(event.prompt)): key for key, event in answers}

        def ask(key: MetaKey, prompt: str) -> Completion:
            known = key if key in stored else alike.get((key.question, prompt))
            if known is not None:
                return stored[known]
            if llm is None:
                raise ValueError(f"{key}: there is no model to ask")
            with self._calls.asking(key) as observe:
                answer = llm.complete([Message(role="user", content=prompt)], key=key, observe=observe)
            self._executor.post(partial(archive.meta_answered, key, prompt, answer), keep=True)
            return answer

        return ask

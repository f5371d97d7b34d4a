"""What a record holds for doing a run again: its events in order, where each verdict stands, and the configuration and
the judge of each session."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from evolve.archive.events import (
    AnsweredEvent,
    AskedEvent,
    ClosedEvent,
    CreatedEvent,
    EvaluatedEvent,
    Event,
    MetaAnsweredEvent,
    RefusedEvent,
    ResumedEvent,
    SummarisedEvent,
)
from evolve.archive.journal import Entry, Journal, is_held
from evolve.archive.layout import JOURNAL
from evolve.archive.reader import RunReader
from evolve.archive.records import EVALUATED_REASONS
from evolve.core.completion import Completion, MetaKey, MetaQuestion, MetaStep
from evolve.core.config import Config
from evolve.core.errors import ArchiveError
from evolve.trust import stored_config

JUDGES: Final = ("evaluator_version", "task_digest", "held_out")
"""Keys of a run's identity that say what scores its programs, wherever it runs."""


@dataclass(slots=True, kw_only=True)
class RecordedSession:
    """One session on record: `judge` is what scored in it, `config` the digest of its configuration."""

    number: int
    judge: Mapping[str, Any]
    config: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstVerdict:
    """In which session a program was evaluated, and where that stands in the journal."""

    session: int
    place: tuple[int, int]


class Record(RunReader):
    """A run's record, open for reading, with what doing it again needs: an index, and no text."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open it. Raises ArchiveError when it is no run, damaged, or being written."""
        if is_held(folder / JOURNAL):
            raise ArchiveError(f"{folder}: another process is writing this run; wait until it ends")
        return super().open(folder)

    def __init__(self, folder: Path, journal: Journal) -> None:
        super().__init__(folder, journal)
        self.sessions: list[RecordedSession] = []
        self.verdicts: dict[int, FirstVerdict] = {}  # by generation, in the order on record
        self.refusals: dict[tuple[int, int], int] = {}  # the `seq` of each answer that made no program
        self.meta_failures: dict[MetaKey, str] = {}  # why a step of a round had no answer, by the key of its request
        self.by_hand: dict[int, int] = {}  # the session after which `evolve tune` asked for a generation

    @property
    def created(self) -> CreatedEvent:
        """How it was begun."""
        first = self.timeline.sessions[0]
        assert isinstance(first, CreatedEvent)
        return first

    @cached_property
    def config(self) -> Config:
        """The configuration that is in force now. Raises ArchiveError."""
        return stored_config(self)

    def is_by_hand(self, event: Event | None, session: RecordedSession) -> bool:
        """Whether an event belongs to what `evolve tune` asked for after a session, and is not left to the next one."""
        if not isinstance(event, AskedEvent | AnsweredEvent | EvaluatedEvent):
            return False
        return self.by_hand.get(event.generation) == session.number

    def first_evaluation(self, generation: int) -> Mapping[str, Any]:
        """The evaluation of a program before any other verdict on it, as JSON."""
        evaluation: Mapping[str, Any] = self.journal.document_at(*self.verdicts[generation].place)["evaluation"]
        return evaluation

    def completion(self, event: AnsweredEvent | MetaAnsweredEvent) -> Completion:
        """The answer that an event tells of."""
        answer = Completion(text=self.text(event.answer), finish_reason=event.finish_reason, usage=event.usage)
        if isinstance(event, MetaAnsweredEvent):
            return answer
        reasoning = "" if event.reasoning is None else self.text(event.reasoning)
        return replace(answer, reasoning=reasoning, tuning=event.tuning)

    def config_of(self, session: RecordedSession) -> Config:
        """The configuration of a session. Raises ArchiveError where it is not kept."""
        return stored_config(self, session.config)

    # -- reading once -------------------------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """See State.apply."""
        super().apply(entry)
        match entry.event:
            case CreatedEvent() as event:
                judge = {key: event.identity.get(key) for key in JUDGES}
                self.sessions.append(RecordedSession(number=0, judge=judge, config=event.config))
            case ResumedEvent() as event:
                before, identity = self.sessions[-1], event.identity or {}
                judge = {key: identity.get(key, now) for key, now in before.judge.items()}
                self.sessions.append(
                    RecordedSession(number=before.number + 1, judge=judge, config=event.config or before.config)
                )
            case AskedEvent(by_hand=True) as event:
                self.by_hand[event.generation] = len(self.sessions) - 1
            case EvaluatedEvent() as event:
                place = entry.offset, entry.length
                self.verdicts[event.generation] = FirstVerdict(session=len(self.sessions) - 1, place=place)
            case RefusedEvent() as event:
                if event.reason not in EVALUATED_REASONS:
                    self.refusals[event.generation, event.attempt] = event.seq
            case SummarisedEvent() as event:
                self._note_failures(event, self.meta.state.rounds)
            case ClosedEvent() as event:
                self._note_failures(event, self.meta.state.rounds + 1, closing=event.programs)

    def _note_failures(self, event: SummarisedEvent | ClosedEvent, number: int, closing: int | None = None) -> None:
        for problem in event.problems:
            if isinstance(problem.step, MetaStep):  # else no answer was at fault
                question = MetaQuestion(step=problem.step, part=problem.part, attempt=problem.attempt)
                self.meta_failures[MetaKey(round=number, closing=closing, question=question)] = problem.why

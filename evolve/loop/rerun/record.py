"""The record of a run that is done again: its sessions and verdicts; which event comes next; and a journal that holds
what is made against it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Self, cast

from evaluator.untrusted import one_line
from evolve.archive.archive import Archive
from evolve.archive.events import (
    AnsweredEvent,
    AskedEvent,
    AuditedEvent,
    CalledEvent,
    ClosedEvent,
    CreatedEvent,
    EvaluatedEvent,
    EvaluationData,
    Event,
    FreshEvent,
    HeldOutEvent,
    LostEvent,
    MetaAnsweredEvent,
    NotedEvent,
    RefusedEvent,
    RemeasuredEvent,
    ReorderedEvent,
    RescoredEvent,
    ResumedEvent,
    Status,
    StoppedEvent,
    SummarisedEvent,
    TuningBaselineEvent,
    document_of,
    plain,
)
from evolve.archive.journal import Entry, Journal, is_held
from evolve.archive.layout import JOURNAL
from evolve.archive.reader import RunReader
from evolve.archive.records import EVALUATED_REASONS
from evolve.core.completion import Completion, MetaKey, MetaQuestion, MetaStep
from evolve.core.config import Config
from evolve.core.errors import ArchiveError
from evolve.core.invocation import command
from evolve.loop.rerun.divergence import Diverged, Divergence, SessionOver, as_read, divergence_of, settled
from evolve.trust import stored_config

_DECIDES_NOTHING: Final = (CalledEvent, StoppedEvent, NotedEvent, FreshEvent, RemeasuredEvent, AuditedEvent)
"""Calls made then, how sessions ended, notes, instances that chance drew, last measurements, audits."""
_OF_THE_JUDGE: Final = (HeldOutEvent, ReorderedEvent, TuningBaselineEvent)
_UNCOMPARED: Final = (*_DECIDES_NOTHING, ResumedEvent, LostEvent)
_OF_THE_CLOCK: Final = frozenset({"seq", "t", "measured", "config", "certificate", "run_id"})
_WHICH: Final = ("event", "generation", "attempt", "key", "programs")
_BETWEEN_SESSIONS: Final = (ResumedEvent, NotedEvent, AuditedEvent)
JUDGES: Final = ("evaluator_version", "task_digest", "held_out")
"""Keys of a run's identity that say what scores its programs, wherever it runs."""


@dataclass(slots=True, kw_only=True)
class RecordedSession:
    """One session on record: `judge` is what scored in it, `config` the digest of its configuration."""

    judge: Mapping[str, Any]
    config: str


class Record(RunReader):
    """A run's record, open for reading, with what doing it again needs: an index, and no text."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open it. Raises ArchiveError when it is no run, damaged, imported, or being written."""
        if is_held(folder / JOURNAL):
            raise ArchiveError(f"{folder}: another process is writing this run; wait until it ends")
        record = super().open(folder)
        if (system := record.identity.get("imported")) is not None:
            record.close()
            raise ArchiveError(
                f"{folder}: its programs were imported from {one_line(system, 60)}, so the search that made them is "
                f"not on record; to score one again: {command('replay', folder, 'best')}"
            )
        return record

    def __init__(self, folder: Path, journal: Journal) -> None:
        super().__init__(folder, journal)
        self.sessions: list[RecordedSession] = []
        self.judged_in: dict[int, RecordedSession] = {}  # of each generation's first verdict, in the order on record
        self._places: dict[int, tuple[int, int]] = {}  # where that verdict stands in the journal
        self.refusals: dict[tuple[int, int], int] = {}  # the `seq` of each answer that made no program
        self.meta_failures: dict[MetaKey, str] = {}  # why a step of a round had no answer, by the key of its request

    @property
    def created(self) -> CreatedEvent:
        """How it was begun."""
        first = self.timeline.sessions[0]
        assert isinstance(first, CreatedEvent)
        return first

    @cached_property
    def config(self) -> Config:
        """The configuration that is in force now. Raises ArchiveError."""
        return self._stored(self.config_digest)

    def first_evaluation(self, generation: int) -> Mapping[str, Any]:
        """The evaluation of a program before any other verdict on it, as JSON."""
        evaluation: Mapping[str, Any] = self.journal.document_at(*self._places[generation])["evaluation"]
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
        return self._stored(session.config)

    @cache  # noqa: B019 a record lives as long as its rerun
    def _stored(self, digest: str) -> Config:
        return stored_config(self, digest)

    # -- reading once -------------------------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """See State.apply."""
        super().apply(entry)
        match entry.event:
            case CreatedEvent() as event:
                judge = {key: event.identity.get(key) for key in JUDGES}
                self.sessions.append(RecordedSession(judge=judge, config=event.config))
            case ResumedEvent() as event:
                before, identity = self.sessions[-1], event.identity or {}
                judge = {key: identity.get(key, now) for key, now in before.judge.items()}
                self.sessions.append(RecordedSession(judge=judge, config=event.config or before.config))
            case EvaluatedEvent() as event:
                self.judged_in[event.generation] = self.sessions[-1]
                self._places[event.generation] = entry.offset, entry.length
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


@dataclass(slots=True, kw_only=True)
class RerunCounts:
    """How many of each were done again."""

    events: int = 0
    questions: int = 0
    tuned: int = 0  # of these, what a person had asked with `evolve tune`: they stand as recorded
    answers: int = 0
    patches_refused: int = 0
    documents: int = 0


class JournalCursor:
    """Which event comes next, and whether what comes is that."""

    def __init__(self, record: Record, *, lenient: bool) -> None:
        self._events = record.events()
        self._record = record
        self._lenient = lenient
        self.next: Event | None = None
        """The event on record that comes next; None at its end."""
        self.archive: Archive | None = None
        """The one that is written."""
        self.judge_is_here = True
        self.tally = RerunCounts()
        self.advance()

    def text(self, object_id: str) -> str:
        """A text on record, by the id of its object."""
        return self._record.text(object_id)

    def advance(self) -> None:
        """Go on to the next one."""
        if self.next is not None:
            self._count(self.next)
        self.next = next(self._events, None)

    def _count(self, event: Event) -> None:
        tally = self.tally
        tally.events += 1
        match event:
            case AskedEvent():
                tally.questions += 1
                tally.tuned += event.by_hand
            case AnsweredEvent() | MetaAnsweredEvent():
                tally.answers += 1
            case RefusedEvent():
                tally.patches_refused += event.status is not Status.FAILED
            case SummarisedEvent() | ClosedEvent():
                tally.documents += event.report is not None

    def meet(self, event: Event) -> Event:
        """An event is about to be written: as it shall be. Raises Diverged unless it is the one on record, and
        SessionOver where the session on record ended before."""
        expected = self.next
        if isinstance(expected, HeldOutEvent) and not isinstance(event, HeldOutEvent) and not self.judge_is_here:
            self.take_over()  # a judge that is not here said that; and it came before this
            expected = self.next
        if expected is None or (isinstance(expected, _BETWEEN_SESSIONS) and type(expected) is not type(event)):
            raise SessionOver
        made = document_of(event)
        if any(document_of(expected).get(key) != made.get(key) for key in _WHICH):
            raise Diverged(self.unexpected(made))
        written = self._written(expected, event)
        if not isinstance(event, _UNCOMPARED):
            self._compare(document_of(expected), document_of(written))
        self.advance()
        return written

    def stands(self, event: Event | None) -> bool:
        """Whether an event is taken over: nothing is decided by it, or a judge made it that is not here."""
        return isinstance(event, _DECIDES_NOTHING) or (not self.judge_is_here and isinstance(event, _OF_THE_JUDGE))

    def take_over(self) -> None:
        """Write the next event as it is on record, with its texts."""
        event, archive = self.next, self.archive
        assert event is not None and archive is not None
        match event:
            case AskedEvent():
                archive.asked(event, None if event.prompt is None else self.text(event.prompt))
            case AnsweredEvent():
                archive.answered(event.generation, event.attempt, self._record.completion(event))
            case RescoredEvent():
                archive.add(replace(event, certificate=None))
            case _:
                archive.add(event)

    def unexpected(self, made: Mapping[str, Any] | None) -> Divergence:
        """The record goes on with another event than `made` (None: with one that nothing here leads to)."""
        expected: dict[str, Any] = {"event": "nothing more"} if self.next is None else document_of(self.next)
        what = "what became of it differs" if expected.get("generation") is not None else "what came next differs"
        shown = "nothing that leads to it" if made is None else _named(made)
        return Divergence(
            generation=expected.get("generation", (made or {}).get("generation")),
            what=what,
            recorded=_named(expected),
            found=shown,
            event=expected["event"],
            seq=expected.get("seq"),
        )

    def _written(self, expected: Event, event: Event) -> Event:
        match expected, event:
            case EvaluatedEvent(), EvaluatedEvent():
                return replace(event, evaluation=self._settled(expected.evaluation, event.evaluation))
            case RescoredEvent(), RescoredEvent():
                return replace(event, evaluation=self._settled(expected.evaluation, event.evaluation))
            case AskedEvent(), AskedEvent():
                estimates = (expected.estimate_usd, expected.estimate_tokens)  # they rest on when earlier answers came
                return replace(event, estimate_usd=estimates[0], estimate_tokens=estimates[1])
            case HeldOutEvent(), HeldOutEvent():
                return expected if self._lenient and expected.correct == event.correct else event
            case TuningBaselineEvent(), TuningBaselineEvent():
                return expected if self._lenient else event
        return event

    def _settled(self, recorded: EvaluationData, found: EvaluationData) -> EvaluationData:
        return cast("EvaluationData", settled(plain(recorded), plain(found), lenient=self._lenient)[1])

    def _compare(self, expected: Mapping[str, Any], made: Mapping[str, Any]) -> None:
        before, after = _timeless(expected), _timeless(as_read(made))
        if before != after:
            assert self.archive is not None
            seq = {"seq": expected["seq"]}
            found = divergence_of(before | seq, after | seq, text=self._record.text, made=self.archive.reader.text)
            raise Diverged(found)


class CheckedJournal(Journal):
    """A journal whose every event is held against one on record before it is written."""

    def __init__(self, folder: Path, cursor: JournalCursor) -> None:
        super().__init__(folder / JOURNAL, write=True)
        self._cursor = cursor

    def append(self, event: Event) -> Entry:
        """See Journal.append. Raises Diverged and SessionOver, too, and has then written nothing."""
        return super().append(self._cursor.meet(event))


def _timeless(event: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in event.items() if key not in _OF_THE_CLOCK}
    if "evaluation" in kept:
        evaluation = {key: value for key, value in kept["evaluation"].items() if key != "measured"}
        kept["evaluation"] = evaluation
    return kept


def _named(event: Mapping[str, Any]) -> str:
    """An event in a few words."""
    words = [event["event"]]
    words += [f"{key} {event[key]}" for key in ("generation", "attempt", "key", "programs") if key in event]
    if event["event"] == "refused":
        words.append(f"({event['reason']})")
    return " ".join(words)

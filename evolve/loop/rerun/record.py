"""What a record holds for doing a run again: its events in order, where each verdict stands, and of each session the
configuration and the judge that were in force."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from evaluator.untrusted import one_line
from evolve.archive.events import (
    AnsweredEvent,
    AskedEvent,
    ClosedEvent,
    CreatedEvent,
    EvaluatedEvent,
    Event,
    FreshEvent,
    HeldOutEvent,
    MetaAnsweredEvent,
    NotedEvent,
    RefusedEvent,
    ReorderedEvent,
    ResumedEvent,
    Status,
    StoppedEvent,
    SummarisedEvent,
)
from evolve.archive.journal import Entry, Journal
from evolve.archive.layout import JOURNAL
from evolve.archive.lock import is_held
from evolve.archive.reader import RunReader
from evolve.archive.records import EVALUATED_REASONS
from evolve.core.completion import Completion, MetaKey, MetaQuestion, MetaStep
from evolve.core.config import Config, build_config
from evolve.core.config_changes import PATHS, misplaced
from evolve.core.errors import ArchiveError, InputError
from evolve.core.program import TUNER, PatchKind
from evolve.patch import PatchReason
from evolve.propose.offline.proposer import OfflineProposer
from evolve.trust import stored_config

_OF_QUESTIONS: Final = frozenset({"models", "prompts_dir", "prompt_tokens"})
"""Keys of the configuration without which no question can be chosen and put again. Of the others that a resume may
change, `attempts` and `repair_model` follow from what was refused and asked; `parallel` from the order on record, and
`meta_every` too; `meta_model` from the answers, by the keys of their requests; `workers` decides nothing, nor do limits
(see below); and a change of `prices` is one of the models."""
_LIMITS: Final[dict[str, Any]] = {
    **dict.fromkeys(("minutes", "patience", "budget_usd", "budget_tokens", "budget_calls")),
    "generations": 1,
}
"""Limits decide nothing: the record says how far each session went. So one that is not known contradicts none."""

JUDGES: Final = ("evaluator_version", "task_digest", "held_out")
"""Keys of a run's identity that say what scores its programs, wherever it runs."""


@dataclass(slots=True, kw_only=True)
class RecordedSession:
    """One session on record. `judge` is what scored in it, `changed` what it changed in the configuration, `known`
    those keys that a change set before, and `unknown` those that are not on record since they were changed later.
    `finals` and `others`: the attempts whose refusal ended a generation, and those whose refusal did not.
    `repair_model`: which model repaired, None where no question was put for that. `offline`: no model could be asked
    yet."""

    number: int
    judge: Mapping[str, Any]
    changed: Mapping[str, Any] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    finals: set[int] = field(default_factory=set)
    others: set[int] = field(default_factory=set)
    repair_model: str | None = None
    offline: bool = False

    @property
    def questions_known(self) -> bool:
        """Whether its questions can be chosen and put again."""
        return not self.unknown & _OF_QUESTIONS

    @property
    def attempts(self) -> int:
        """How often a generation was asked, as far as refusals tell."""
        return min(self.finals, default=max(self.others, default=0) + 1) + 1


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
        record = super().open(folder)
        try:
            record._end_tail()
            record._look_back()
        except BaseException:  # boundary: whatever happened, the files are closed
            record.close()
            raise
        return record

    def __init__(self, folder: Path, journal: Journal) -> None:
        super().__init__(folder, journal)
        self.sessions: list[RecordedSession] = []
        self.verdicts: dict[int, FirstVerdict] = {}  # by generation, in the order on record
        self.refusals: dict[tuple[int, int], int] = {}  # the `seq` of each answer that made no program
        self.meta_failures: dict[MetaKey, str] = {}  # why a step of a round had no answer, by the key of its request
        self.by_hand: dict[int, int] = {}  # the session after which `evolve tune` asked for a generation
        self._tail: list[tuple[int, str]] = []  # questions for numbers with nothing behind them, and how far each is

    @property
    def created(self) -> CreatedEvent:
        """How it was begun."""
        first = self.chronicle.sessions[0]
        assert isinstance(first, CreatedEvent)
        return first

    @cached_property
    def config(self) -> Config:
        """The configuration that is in force now. Raises ArchiveError."""
        return stored_config(self)

    def is_by_hand(self, event: Event | None, session: RecordedSession) -> bool:
        """Whether an event belongs to what `evolve tune` asked for after a session."""
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
        """The configuration of a session, as far as it is on record; where it is not, every model may be asked. Raises
        ArchiveError where what is on record is none."""
        document = self.config.model_dump(mode="json") | session.known | _LIMITS
        if "attempts" in session.unknown:
            document["attempts"] = session.attempts
        if "repair_model" in session.unknown:
            document["repair_model"] = session.repair_model
        if session.offline:
            document |= {"models": [], "meta_model": None, "repair_model": None}
        if not session.questions_known:
            document["models"] = [model | {"weight": model["weight"] or 1.0} for model in document["models"]]
        try:
            return build_config(document, origin=f"the configuration of session {session.number}")
        except InputError as wrong:
            raise ArchiveError(
                f"{self.folder}: its events `resumed` and run.yaml contradict each other: {wrong}; restore the "
                "folder from a copy"
            ) from None

    # -- reading once -------------------------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """See State.apply."""
        super().apply(entry)
        self._note_by_hand(entry.event)
        match entry.event:
            case CreatedEvent() as event:
                self.sessions.append(RecordedSession(number=0, judge={key: event.identity.get(key) for key in JUDGES}))
            case ResumedEvent() as event:
                self._note_session(event)
            case AskedEvent() as event:
                self._note_question(event)
            case EvaluatedEvent() as event:
                place = entry.offset, entry.length
                self.verdicts[event.generation] = FirstVerdict(session=len(self.sessions) - 1, place=place)
            case RefusedEvent() as event:
                if event.reason not in EVALUATED_REASONS:
                    self.refusals[event.generation, event.attempt] = event.seq
                searched = self.generations[event.generation].kind is PatchKind.TUNE
                once = event.reason == PatchReason.PROMPT_TOO_LONG or searched
                if event.status is not Status.FAILED and not once:
                    (self.sessions[-1].finals if event.final else self.sessions[-1].others).add(event.attempt)
            case SummarisedEvent() as event:
                self._note_failures(event, self.meta.state.rounds)
            case ClosedEvent() as event:
                self._note_failures(event, self.meta.state.rounds + 1, closing=event.programs)

    def _note_session(self, event: ResumedEvent) -> None:
        if (key := misplaced(event.changed)) is not None:
            raise ArchiveError(
                f"{self.folder}: event {event.seq} (`resumed`) tells a change of {one_line(key, 40)}, "
                "which no resume makes or tells so: this record is not as `evolve` writes it. Nothing of it was "
                "used; restore the folder from a copy"
            )
        before, identity = self.sessions[-1], event.identity or {}
        judge = {key: identity.get(key, now) for key, now in before.judge.items()}
        self.sessions.append(RecordedSession(number=before.number + 1, judge=judge, changed=event.changed))

    def _note_question(self, event: AskedEvent) -> None:
        session = self.sessions[-1]
        if event.repair:
            session.repair_model = event.model
        if event.model == OfflineProposer.name and event.prompt is None:
            session.offline = True

    def _note_by_hand(self, event: Event) -> None:
        """Find what `evolve tune` asked for: whatever is asked after a session's `stopped`; where a kill took that,
        what was asked, answered and judged at the session's end with nothing between."""
        match event:
            case ResumedEvent():
                self._end_tail()
            case StoppedEvent():
                self._tail = []
            case AskedEvent(kind=PatchKind.TUNE, model=model, attempt=0) if model == TUNER:
                if self.finished is not None:
                    self.by_hand[event.generation] = len(self.sessions) - 1
                self._tail = [one for one in self._tail if one[1] == "evaluated"] + [(event.generation, "asked")]
            case AnsweredEvent() if (event.generation, "asked") in self._tail[-1:]:
                self._tail[-1] = event.generation, "answered"
            case EvaluatedEvent() if (event.generation, "answered") in self._tail[-1:]:
                self._tail[-1] = event.generation, "evaluated"
            case HeldOutEvent() | FreshEvent() | ReorderedEvent() | NotedEvent():
                pass
            case _:
                self._tail = []

    def _end_tail(self) -> None:
        """A session ends here, and all that was done after it."""
        whole = [generation for generation, name in self._tail if name == "evaluated"]
        self.by_hand |= dict.fromkeys(whole, len(self.sessions) - 1)
        self._tail = []

    def _note_failures(self, event: SummarisedEvent | ClosedEvent, number: int, closing: int | None = None) -> None:
        for problem in event.problems:
            if isinstance(problem.step, MetaStep):  # else no answer was at fault
                question = MetaQuestion(step=problem.step, part=problem.part, attempt=problem.attempt)
                self.meta_failures[MetaKey(round=number, closing=closing, question=question)] = problem.why

    def _look_back(self) -> None:
        """Find what each session's configuration was: the last one is on record, and of every change the new value;
        but not one that may hold a path. A run gets models once at most that had none: all before was offline, too."""
        offline = max((session.number for session in self.sessions if session.offline), default=-1)
        for session in self.sessions:
            upto, later = self.sessions[: session.number + 1], self.sessions[session.number + 1 :]
            unknown = set[str]()
            for key in {key for one in later for key in one.changed}:
                recorded = [one.changed[key] for one in upto if key in one.changed]
                if recorded and (recorded[-1] is not None or key not in PATHS):
                    session.known[key] = recorded[-1]
                else:
                    unknown.add(key)
            session.offline = session.number <= offline and ("models" in unknown or not self.config.models)
            session.unknown = frozenset(unknown - _OF_QUESTIONS if session.offline else unknown)

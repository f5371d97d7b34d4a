"""What a record holds for doing a run again: its events in order, where each verdict stands, and of each session the
configuration and the judge that were in force."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

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
    read_event,
)
from evolve.archive.journal import Entry, Journal
from evolve.archive.layout import JOURNAL
from evolve.archive.lock import is_held
from evolve.archive.reader import RunReader
from evolve.completion import Completion, MetaKey, MetaQuestion, MetaStep
from evolve.config import Config, build_config
from evolve.config_changes import PATHS, misplaced
from evolve.errors import ArchiveError, InputError
from evolve.offline.proposer import OfflineProposer
from evolve.patch import PatchReason
from evolve.program import TUNER, PatchKind
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
    """One session on record. `judge` is what scored in it, `unknown` which keys of its configuration are not on record
    since they were changed later; `known` those that a change set before. `finals` and `others`: the attempts whose
    refusal ended a generation, and those whose refusal did not. `repair_model`: which model repaired, None where no
    question was put for that. `offline`: no model could be asked yet."""

    number: int
    judge: Mapping[str, Any]
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
class VerdictPlace:
    """Where a program's `evaluated` event stands."""

    offset: int
    length: int
    session: int


class Record:
    """A run's record, open for reading. Nothing of it is held in memory but an index."""

    def __init__(self, folder: Path) -> None:
        """Open and index it. Raises ArchiveError when it is no run, damaged, or being written."""
        if is_held(folder / JOURNAL):
            raise ArchiveError(f"{folder}: another process is writing this run; wait until it ends")
        self.archive = RunReader.open(folder)
        try:
            self._journal = Journal(folder / JOURNAL, write=False)
        except BaseException:  # boundary: whatever happened, the files are closed
            self.archive.close()
            raise
        self.created: CreatedEvent
        self.sessions: list[RecordedSession] = []
        self.verdicts: dict[int, VerdictPlace] = {}
        self.order: list[int] = []  # generations with a verdict, as they were recorded
        self.refusals: dict[tuple[int, int], int] = {}  # the `seq` of each
        self.meta_answers: dict[MetaKey, int] = {}  # the session of each answer, by the key of its request
        self.meta_prompts: dict[MetaKey, str] = {}  # the object of the prompt of each answer
        self.meta_failures: dict[MetaKey, str] = {}  # why a step of a round had no answer, by the key of its request
        self.by_hand: dict[int, int] = {}  # the session after which `evolve tune` asked for a generation
        self.generations = 0
        try:
            self._rounds = 0
            self._changes: list[Mapping[str, Any]] = []  # of the configuration, by each session
            self._kinds: dict[int, PatchKind] = {}  # of the patch that each generation was asked for last
            self._stopped = False  # the session's end is on record
            # Questions for numbers with nothing behind them, and how far each is.
            self._last: list[tuple[int, str]] = []
            for entry in self._journal.entries():
                self._note_by_hand(entry.event)
                self._index(entry)
            self._end_tail()
            self.config = stored_config(self.archive)
            self._look_back()
        except BaseException:  # boundary: likewise
            self.close()
            raise

    def close(self) -> None:
        """Close the files."""
        self._journal.close()
        self.archive.close()

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def events(self) -> Iterator[Event]:
        """Every event again, in order."""
        return map(read_event, self._journal.documents())

    def is_by_hand(self, event: Event | None, session: RecordedSession) -> bool:
        """Whether an event belongs to what `evolve tune` asked for after a session."""
        if not isinstance(event, AskedEvent | AnsweredEvent | EvaluatedEvent):
            return False
        return self.by_hand.get(event.generation) == session.number

    def evaluation(self, generation: int) -> Mapping[str, Any]:
        """The recorded evaluation of a program, as JSON."""
        place = self.verdicts[generation]
        found: Mapping[str, Any] = self._journal.document_at(place.offset, place.length)["evaluation"]
        return found

    def completion(self, event: AnsweredEvent | MetaAnsweredEvent) -> Completion:
        """The answer that an event tells of."""
        answer = Completion(text=self.archive.text(event.answer), finish_reason=event.finish_reason, usage=event.usage)
        if isinstance(event, MetaAnsweredEvent):
            return answer
        reasoning = "" if event.reasoning is None else self.archive.text(event.reasoning)
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
                f"{self.archive.folder}: its events `resumed` and run.yaml contradict each other: {wrong}; restore the "
                "folder from a copy"
            ) from None

    # -- reading once -------------------------------------------------------------------------------------------

    def _index(self, entry: Entry) -> None:
        match entry.event:
            case CreatedEvent() as event:
                self.created = event
                self._changes.append({})
                self.sessions.append(RecordedSession(number=0, judge={key: event.identity.get(key) for key in JUDGES}))
            case ResumedEvent() as event:
                self._note_session(event)
            case AskedEvent() as event:
                self._note_question(event)
            case EvaluatedEvent() as event:
                self.verdicts[event.generation] = VerdictPlace(
                    offset=entry.offset,
                    length=entry.length,
                    session=len(self.sessions) - 1,
                )
                self.order.append(event.generation)
            case RefusedEvent() as event:
                self.refusals[event.generation, event.attempt] = event.seq
                once = event.reason == PatchReason.PROMPT_TOO_LONG or self._kinds[event.generation] is PatchKind.TUNE
                if event.status is not Status.FAILED and not once:
                    (self.sessions[-1].finals if event.final else self.sessions[-1].others).add(event.attempt)
            case MetaAnsweredEvent() as event:
                self.meta_answers[event.key] = len(self.sessions) - 1
                self.meta_prompts[event.key] = event.prompt
            case SummarisedEvent() as event:
                self._rounds += 1
                self._note_failures(event, self._rounds)
            case ClosedEvent() as event:
                self._note_failures(event, self._rounds + 1, closing=event.programs)

    def _note_session(self, event: ResumedEvent) -> None:
        changed = {key: now for key, now in (event.identity or {}).items() if key in JUDGES}
        before = self.sessions[-1]
        self.sessions.append(RecordedSession(number=before.number + 1, judge={**before.judge, **changed}))
        if (key := misplaced(event.changed)) is not None:
            raise ArchiveError(
                f"{self.archive.folder}: event {event.seq} (`resumed`) tells a change of {one_line(key, 40)}, "
                "which no resume makes or tells so: this record is not as `evolve` writes it. Nothing of it was "
                "used; restore the folder from a copy"
            )
        self._changes.append(event.changed)

    def _note_question(self, event: AskedEvent) -> None:
        session = self.sessions[-1]
        self.generations = max(self.generations, event.generation)
        self._kinds[event.generation] = event.kind
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
                self._stopped, self._last = True, []
            case AskedEvent(kind=PatchKind.TUNE, model=model, attempt=0) if model == TUNER:
                if self._stopped:
                    self.by_hand[event.generation] = len(self.sessions) - 1
                self._last = [one for one in self._last if one[1] == "evaluated"] + [(event.generation, "asked")]
            case AnsweredEvent() if (event.generation, "asked") in self._last[-1:]:
                self._last[-1] = event.generation, "answered"
            case EvaluatedEvent() if (event.generation, "answered") in self._last[-1:]:
                self._last[-1] = event.generation, "evaluated"
            case HeldOutEvent() | FreshEvent() | ReorderedEvent() | NotedEvent():
                pass
            case _:
                self._last = []

    def _end_tail(self) -> None:
        """A session ends here, and all that was done after it."""
        whole = [generation for generation, name in self._last if name == "evaluated"]
        self.by_hand |= dict.fromkeys(whole, len(self._changes) - 1)
        self._stopped, self._last = False, []

    def _note_failures(self, event: SummarisedEvent | ClosedEvent, number: int, closing: int | None = None) -> None:
        for problem in event.problems:
            if isinstance(problem.step, MetaStep):  # else no answer was at fault
                question = MetaQuestion(step=problem.step, part=problem.part, attempt=problem.attempt)
                self.meta_failures[MetaKey(round=number, closing=closing, question=question)] = problem.why

    def _look_back(self) -> None:
        """Find what each session's configuration was: the last one is on record, and of every change the new value;
        but not one that may hold a path. A run gets models once at most that had none: all before was offline, too."""
        offline = max((session.number for session in self.sessions if session.offline), default=-1)
        for session, now in zip(self.sessions, range(len(self._changes)), strict=True):
            unknown = set[str]()
            for key in {key for later in self._changes[now + 1 :] for key in later}:
                recorded = [change[key] for change in self._changes[: now + 1] if key in change]
                if recorded and (recorded[-1] is not None or key not in PATHS):
                    session.known[key] = recorded[-1]
                else:
                    unknown.add(key)
            session.offline = "models" in unknown and session.number <= offline
            session.unknown = frozenset(unknown - _OF_QUESTIONS if session.offline else unknown)

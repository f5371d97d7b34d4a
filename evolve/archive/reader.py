"""Reading the record of a run: what it holds, and its texts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, cast

from evaluator.evaluation import Evaluation, OrderRange
from evaluator.untrusted import one_line
from evolve.archive.calls import LOST, Asked, Call, calls_of, spending_of
from evolve.archive.certificates import ANSWERS, of_text
from evolve.archive.chronicle import Chronicle
from evolve.archive.events import (
    CalledEvent,
    EvaluatedEvent,
    Event,
    FreshState,
    HeldOutEvent,
    RescoredEvent,
    Status,
    TuningBaselineEvent,
    read_event,
)
from evolve.archive.fingerprint import fingerprint
from evolve.archive.journal import Entry, Journal
from evolve.archive.layout import GIT, JOURNAL, read_config, require_folder
from evolve.archive.lock import is_held
from evolve.archive.objects import Objects
from evolve.archive.ranking import improves, measured_against, paired_scores, would_be_best
from evolve.archive.records import (
    BEGINNING,
    AttemptRecord,
    Contribution,
    EndedGeneration,
    FreshCheck,
    Funnel,
    GenerationRecord,
    MetaRecord,
    ProgramRecord,
    Unfinished,
)
from evolve.archive.refs import Refs
from evolve.archive.state import State
from evolve.archive.truth import contradiction, misjudged
from evolve.completion import FAILURE_REASONS, Completion, FinishReason, RequestKey
from evolve.errors import ArchiveError
from evolve.program import PatchKind, Program
from evolve.python_source import MAX_SOURCE_BYTES
from evolve.usage import Spending

_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Stored:
    """What is on disk of a run, and what its events add up to: what a reader and the writer of one run share."""

    folder: Path
    journal: Journal
    state: State
    objects: Objects
    refs: Refs

    @classmethod
    def read(cls, folder: Path, journal: Journal) -> Self:
        """All of it. Closes the journal where that fails."""
        stored = cls(folder, journal, State(), Objects(folder / GIT), Refs(folder / GIT))
        try:
            read_on(stored.state, journal, journal.entries(), stored.objects)
        except BaseException:  # boundary: whatever happened, the lock and the files go
            stored.objects.close()
            journal.close()
            raise
        return stored


class RunReader:
    """One run's record, as it can be read; `Archive` writes it."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open an archive for reading, without a lock. Raises ArchiveError if it is none or is damaged, MachineError
        if it cannot be read."""
        require_folder(folder)
        return cls(Stored.read(folder, Journal(folder / JOURNAL, write=False)))

    def __init__(self, stored: Stored) -> None:
        self.folder = stored.folder
        self._state, self._journal = stored.state, stored.journal
        self._objects, self._refs = stored.objects, stored.refs

    def close(self) -> None:
        """Close the files. Harmless when done twice."""
        self._objects.discard()
        self._objects.close()
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def more(self) -> int:
        """Read what was appended since the run was opened, or since the last call; how many events that are.

        A line that is half-written is left for a later call. Raises ArchiveError where what was added is damaged, or
        the journal was cut or replaced: open the run again then.
        """
        return read_on(self._state, self._journal, self._journal.more(), self._objects)

    # -- what the run holds -------------------------------------------------------------------------------------

    @property
    def config_text(self) -> str:
        """The run's configuration, as it is in force."""
        return read_config(self.folder, self._state.config_digest)

    @property
    def identity(self) -> Mapping[str, Any]:
        """What the run was begun with: task, suite, seed, and what scored its programs."""
        return MappingProxyType(dict(self._state.identity))

    @property
    def program_file(self) -> str:
        """What the program's file is called in the commit of each program."""
        return self._state.program_file

    @property
    def run_id(self) -> str | None:
        """The random id that the run got when it was begun."""
        return self._state.run_id

    @property
    def programs(self) -> Sequence[ProgramRecord]:
        """Every program, in the order in which they were recorded."""
        return self._state.programs

    @property
    def best(self) -> ProgramRecord | None:
        """The correct program that ranks highest, the earliest of equals; None while there is none."""
        return self._state.best

    def would_be_best(self, generation: int, evaluation: Evaluation) -> bool:
        """Whether a program that is not recorded yet would be the best one."""
        return would_be_best(self._state.best, generation, evaluation)

    @property
    def held_out_scores(self) -> Mapping[int, HeldOutEvent]:
        """What the programs that were the best when they came score on the held-out suite, by generation."""
        return MappingProxyType(self._state.held_out)

    @property
    def held_out_of_best(self) -> HeldOutEvent | None:
        """What the best program scores on the held-out suite."""
        return None if self.best is None else self._state.held_out.get(self.best.generation)

    def fresh_check(self, generation: int) -> FreshCheck:
        """The check of a program on fresh instances, as far as it went: of one that was the best at a session's end."""
        return self._state.fresh_check(generation)

    def reordered(self, generation: int) -> OrderRange | None:
        """What a program scored in new orders at a session's end; None of one that was not the best then, or where
        there are no other orders."""
        return self._state.reordered.get(generation)

    @property
    def fresh_of_best(self) -> FreshState:
        """Where the check of the best program on fresh instances stands; there is none of a run without a best."""
        return FreshState.NOT_AVAILABLE if self.best is None else self.fresh_check(self.best.generation).state

    @property
    def best_holds(self) -> bool:
        """Whether nothing is known against the best program from other instances: it is not overfitted, and correct on
        the held-out suite, if there is one, and on fresh instances, if they were tried."""
        others = set(FreshState) - {FreshState.FAILED}
        return self.best is None or self._state.holds(self.best, others)

    @property
    def tuning_baseline(self) -> TuningBaselineEvent | None:
        """What tuning the initial program's numbers alone reached when it was measured last, if it was."""
        return self._state.tuning_baseline

    @property
    def would_lead(self) -> ProgramRecord | None:
        """The program that is to be confirmed now: the highest that stood above the best, and was not confirmed yet,
        when that became its turn."""
        leading = self._state.leading
        return None if leading is None else self._state.by_generation[leading]

    @property
    def ended_since_lead(self) -> int:
        """How many generations have ended since it became the turn of that program."""
        return len(self._state.ended) - self._state.ended_at_lead

    @property
    def ahead(self) -> ProgramRecord | None:
        """What the search goes by as the best: a candidate as soon as there is one."""
        return self._state.highest(self._state.candidates) or self.best

    @property
    def candidates(self) -> Sequence[ProgramRecord]:
        """Every program that stands above the best, and is not confirmed yet."""
        return [self._state.by_generation[generation] for generation in self._state.candidates]

    @property
    def statuses(self) -> Mapping[int, Status]:
        """The status of every generation begun, in the order in which they were begun."""
        return MappingProxyType(self._state.statuses)

    @property
    def open_generations(self) -> Sequence[int]:
        """The generations without an end, in the order in which they were begun."""
        return list(self._state.open)

    @property
    def next_generation(self) -> int:
        """The lowest generation above all that were begun."""
        return self._state.next_generation

    @property
    def ended(self) -> int:
        """How many generations have ended."""
        return len(self._state.ended)

    @property
    def ended_since_best(self) -> int:
        """How many generations have ended since the best program came; all of them while there is none."""
        return len(self._state.ended) - self._state.ended_at_best

    @property
    def reigns(self) -> Sequence[tuple[int, ProgramRecord | None]]:
        """Every program that was the best when it came, with how many generations had ended by then, in order; None
        where another evaluator began to score, and nothing was the best any more."""
        return self._state.reigns

    @property
    def chronicle(self) -> Chronicle:
        """Sessions, notes, and which generations have changed since when."""
        return self._state.chronicle

    @property
    def quarantined(self) -> int:
        """How many programs are quarantined."""
        return len(self._state.quarantined)

    @property
    def position(self) -> int:
        """How much a search knows by now: see `history`."""
        return len(self._state.turns)

    def history(self, position: int | None = None, *, since: int = 0) -> Iterator[EndedGeneration | ProgramRecord]:
        """What a search knows, the first `position` of it or all, without the first `since`, in order: each
        generation as it was at its end, and the record of each program that was confirmed or withdrawn later."""
        state = self._state
        for generation, confirmed in state.turns[since:position]:
            record = state.by_generation.get(generation)
            if not confirmed:
                yield ended_generation(state, generation, then=True)
            elif record is not None and counts(record):
                yield record

    @property
    def last_told(self) -> Iterator[EndedGeneration | ProgramRecord]:
        """What a search learns when a generation has just ended: that, and what was confirmed before and counts
        from now on."""
        turns, at = self._state.turns, len(self._state.turns) - 1
        while turns[at][1]:
            at -= 1
        return self.history(since=at)

    def endings(self, *, since: int = 0) -> Iterator[EndedGeneration]:
        """The generations that have ended, in the order in which they did, without the first `since`, as they are on
        record now."""
        return map(self.ended_generation, self._state.ended[since:])

    def ended_generation(self, generation: int) -> EndedGeneration:
        """A generation at its end. Raises KeyError for one that was not begun."""
        return ended_generation(self._state, generation)

    def fault(self, generation: int) -> str | None:
        """What went wrong in a generation that has ended: how its program failed, or why there is none. None for a
        program that is correct."""
        record = self._state.by_generation.get(generation)
        if record is None:
            deciding = self.deciding(generation)
            return f"{self._state.statuses[generation].value}: {deciding and deciding.reason}"
        return None if record.correct else f"{record.outcome.value}: {self.evaluation(record).detail[:200]}"

    def children(self, commit: str, most: int) -> Sequence[int]:
        """The latest generations that were made from a program, got an answer and have ended, at most so many, lowest
        first."""
        return sorted(self._state.children.get(commit, ())[-most:])

    def offspring(self, commit: str) -> Sequence[int]:
        """All generations that were made from a program, got an answer and have ended, in the order of their end."""
        return self._state.children.get(commit, ())

    @property
    def to_rescore(self) -> Sequence[ProgramRecord]:
        """The programs that are to be scored again, since the evaluator has changed."""
        return [self._state.by_generation[generation] for generation in self._state.to_rescore]

    @property
    def finished(self) -> str | None:
        """Why the last session stopped; None while one goes on, or when it was cut off."""
        return self._state.finished

    @property
    def answered_since_stop(self) -> bool:
        """Whether an answer is on record since a session last came to its end: one that was cut off goes on."""
        return self._state.answered_since_stop

    @property
    def running(self) -> bool:
        """Whether some process is writing the run now."""
        return self._journal.writable or is_held(self.folder / JOURNAL)

    @property
    def postponed(self) -> list[str]:
        """What could not be written and can wait, in sentences: the run goes on, and opening it again mends it."""
        return [said for said in (self._refs.trouble, self._objects.trouble) if said is not None]

    @property
    def spent(self) -> Spending:
        """What all calls took: tokens, and money as far as it is known."""
        return self._state.accounts.spent

    @property
    def under_way(self) -> Spending:
        """What is kept for calls that were sent and have no end on record; `spent` has none of it."""
        return self._state.accounts.under_way()

    def http_attempts(self, question: AttemptRecord, key: RequestKey) -> list[Call]:
        """The HTTP attempts of a question, each with its end; under way are those that `under_way` counts."""
        return calls_of(question, self.calls(key), under_way=self._state.accounts.is_sent(key))

    @property
    def began(self) -> float:
        """When the run was begun, in wall seconds."""
        return self._state.began

    @property
    def newest(self) -> float:
        """When its newest event was written, in wall seconds."""
        return self._state.newest

    @property
    def times(self) -> Mapping[int, float]:
        """When each generation came to the status that it has, in wall seconds."""
        return MappingProxyType(self._state.times)

    def committed(self, *, but: RequestKey | None = None) -> Spending:
        """What the requests without an end may take, that with the key `but` aside; `calls` counts those not sent."""
        return self._state.accounts.committed(but=but)

    def seen(self, source_hash: str) -> ProgramRecord | None:
        """The first program recorded with that hash of its normalised syntax tree."""
        found = self._state.by_hash.get(source_hash)
        return None if found is None else self._state.by_generation[found.generation]

    def program(self, generation: int) -> ProgramRecord | None:
        """The program of a generation, if one came of it."""
        return self._state.by_generation.get(generation)

    def attempts(self, generation: int) -> list[AttemptRecord]:
        """The questions put for a generation, in order; none for the initial program."""
        return list(self._state.attempts.get(generation, {}).values())

    def deciding(self, generation: int) -> AttemptRecord | None:
        """The question that says why a generation has no program: the last one. Where its retry got no answer, that
        whose program failed. None for the initial program."""
        return self._state.deciding(generation)

    def tried(self, generation: int) -> bool:
        """Whether a generation ended with more than a call that failed."""
        return self._state.tried(generation)

    def generation(self, number: int) -> GenerationRecord:
        """A generation that was asked for (all but the initial program's). Raises KeyError for any other."""
        return replace(self._state.generations[number], status=self._state.statuses[number])

    @property
    def funnel(self) -> Funnel:
        """How many answers were judged, and how far they came."""
        return self._state.funnel

    def unfinished(self) -> list[Unfinished]:
        """The generations without an end, lowest first: what resume goes on with."""
        return [unfinished(self._state, generation, self.text) for generation in sorted(self._state.open)]

    @property
    def meta(self) -> MetaRecord:
        """Where the meta-summarizer stands: its last round, its last document, and the answers it has."""
        return self._state.meta

    def calls(self, key: RequestKey) -> list[CalledEvent]:
        """The HTTP attempts made for a request, in order, as they were recorded."""
        return list(self._state.accounts.calls.get(key, ()))

    @property
    def requests(self) -> Sequence[RequestKey]:
        """The keys of all requests for which an HTTP attempt was made, in order."""
        return list(self._state.accounts.calls)

    def orphans(self) -> list[AttemptRecord]:
        """The questions without an answer or another end: in flight, or cut off."""
        attempts = [record for generation in self._state.open for record in self.attempts(generation)]
        return [record for record in attempts if record.status is Status.ASKED]

    # -- looking things up --------------------------------------------------------------------------------------

    def find(self, name: str) -> ProgramRecord:
        """The program that a user means: `best`, a generation, or the first letters of a commit.

        Raises ArchiveError, saying what there is, when there is no such program or more than one.
        """
        state = self._state
        if name in state.by_commit:
            return state.by_commit[name]
        if name == "best":
            if state.best is None:
                raise self._not_found("there is no correct program yet, so no best one")
            return state.best
        if name.isascii() and name.isdigit():
            number = int(name) if len(name) < 20 else -1
            if number in state.by_generation:
                return state.by_generation[number]
            status = state.statuses.get(number)
            how = "was not begun" if status is None else f"made no program ({status.value})"
            raise self._not_found(f"generation {one_line(name, 20)} {how}")
        prefix = name.lower()
        found = [r for r in state.programs if r.commit.startswith(prefix)] if prefix and set(prefix) <= _HEX else []
        if len(found) > 1:
            which = ", ".join(f"{r.commit[:12]} (generation {r.generation})" for r in found[:5])
            raise ArchiveError(f"{self.folder}: {len(found)} commits begin with {prefix!r}: {which}; give more letters")
        if not found:
            raise self._not_found(f"there is no program {one_line(name, 60)!r}")
        return found[0]

    def _not_found(self, why: str) -> ArchiveError:
        known, choice = self._state.by_generation, "it has no programs"
        if known:
            choice = (
                f"it has {len(known)}, of generations {min(known)} to {max(known)}: "
                "give a generation, `best`, or the first letters of a commit"
            )
        return ArchiveError(f"{self.folder}: {why}; {choice}")

    def load(self, record: ProgramRecord) -> Program:
        """A program with its source."""
        return Program(
            commit=record.commit,
            generation=record.generation,
            source=self.source(record),
            parents=record.parents,
            island=record.island,
            origin=record.origin,
        )

    def source(self, record: ProgramRecord) -> str:
        """The source of a program. Raises ArchiveError when git has lost it."""
        source = self._file(record.commit, self.program_file)
        if len(source) > MAX_SOURCE_BYTES:
            where = f"{self.folder / GIT}: the program of generation {record.generation}"
            raise ArchiveError(f"{where} is longer than {MAX_SOURCE_BYTES} characters, and no program is")
        return source

    def patch_text(self, record: ProgramRecord) -> str:
        """The patch that made a program, as it was written; empty for the initial one."""
        return self._file(record.commit, "patch.txt")

    def answers(self, record: ProgramRecord) -> list[object] | None:
        """What a program that became the best answered, per instance, as the judge took it: its certificate. None where
        none is kept. Raises ArchiveError when it is lost or damaged."""
        commit = self._state.certificates.get(record.generation)
        try:
            return None if commit is None else of_text(self._file(commit, ANSWERS))
        except (ValueError, RecursionError) as cause:
            raise ArchiveError(f"{self.folder / GIT}: the commit {commit} holds no answers ({cause})") from None

    def _file(self, commit: str, name: str) -> str:
        blob = self._objects.files(commit).get(name)
        if blob is None:
            raise ArchiveError(f"{self.folder / GIT}: the commit {commit} holds no {name}; restore it from a copy")
        return self.text(blob)

    def text(self, object_id: str) -> str:
        """A prompt or an answer, by the id that its AttemptRecord has."""
        return self._objects.text(object_id)

    def evaluation(self, record: ProgramRecord) -> Evaluation:
        """The whole evaluation of a program, read from the journal again."""
        document = self._journal.document_at(*self._state.places[record.generation])
        try:
            return Evaluation.from_json(document["evaluation"])
        except (KeyError, ValueError, TypeError, IndexError) as cause:
            raise ArchiveError(
                f"{self._journal.path}: the evaluation of generation {record.generation} is damaged "
                f"({type(cause).__name__}: {one_line(str(cause))})"
            ) from None

    def costs(self, record: ProgramRecord) -> list[str | None]:
        """What a program costs on each instance, exact (`7/3`), None where it failed, read from the journal again."""
        document = self._journal.document_at(*self._state.places[record.generation])
        return cast("list[str | None]", document["evaluation"]["costs"])

    def events(self) -> Iterator[Event]:
        """Every event that was read or written so far, in order, read from the journal again."""
        return map(read_event, self._journal.documents())

    def fingerprint(self) -> str:
        """The sha256, in hex, that equal archives have in common (see `evolve.archive.fingerprint`)."""
        return fingerprint(self._journal.documents(), self._state.refs())


def unfinished(state: State, generation: int, text: Callable[[str], str]) -> Unfinished:
    """A generation to go on with; `text` reads a prompt or an answer by its object's id."""
    chosen = state.generations[generation]
    attempts = list(state.attempts[generation].values())
    last = attempts[-1]
    refusals = tuple(
        (text(record.answer), record.message, record.reason or "")
        for record in attempts
        if record.answer is not None and record.message is not None
    )
    return Unfinished(
        generation=generation,
        attempt=last.attempt + (last.status not in (Status.ASKED, Status.ANSWERED)),
        model=chosen.model,
        kind=chosen.kind,
        island=chosen.island,
        parents=chosen.parents,
        inspirations=chosen.inspirations,
        refusals=refusals,
        why=chosen.why,
        answer=_completion(last, text) if last.status is Status.ANSWERED else None,
    )


def _completion(attempt: AttemptRecord, text: Callable[[str], str]) -> Completion:
    assert attempt.answer is not None
    return Completion(
        text=text(attempt.answer), finish_reason=cast(FinishReason, attempt.finish_reason), usage=attempt.usage
    )


def read_on(state: State, journal: Journal, entries: Iterable[Entry], objects: Objects) -> int:
    """Add what a journal holds further to the state; how many events that were.

    Raises DamagedJournal at an event that cannot be right, ArchiveError when the commit of a program is missing.
    """
    known, read = len(state.programs), 0
    for entry in entries:
        read += 1
        try:
            why = _add(state, entry)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError) as cause:
            why = f"it lacks {cause}" if isinstance(cause, KeyError) else one_line(str(cause), 300)
        if why is not None:
            raise journal.damaged(entry, why)
    _require_commits(state, objects, state.programs[known:])
    return read


def _add(state: State, entry: Entry) -> str | None:
    """Add an event that was read. Why it cannot be true, if it cannot: what becomes the best is computed again."""
    best = state.best
    why = contradiction(entry.event)
    if why is None:
        state.apply(entry)
        if state.best is not best and isinstance(entry.event, EvaluatedEvent | RescoredEvent):
            why = misjudged(entry.event.evaluation, state.identity)
    return why


def _require_commits(state: State, objects: Objects, programs: Sequence[ProgramRecord]) -> None:
    missing = objects.missing([record.commit for record in programs])
    if missing:
        record = state.by_commit[missing[0]]
        raise ArchiveError(
            f"{objects.repository}: the commit {one_line(record.commit)} of generation {record.generation} is missing"
            + (f", and {len(missing) - 1} more" if len(missing) > 1 else "")
            + "; restore the folder from a copy"
        )


_APPLIED = (Status.EVALUATED, Status.DUPLICATE)


def counts(program: ProgramRecord) -> bool:
    """Whether the score of a program counts."""
    return not (program.stale or program.excluded)


def ended_generation(state: State, generation: int, *, then: bool = False) -> EndedGeneration:
    """A generation that has ended, with its program as it is on record now, or (`then`) as it was at that end. Raises
    KeyError for one that was not begun."""
    asked = state.generations.get(generation)
    moment = state.moments.get(generation, BEGINNING)

    def at_its_end(record: ProgramRecord) -> ProgramRecord:
        confirmed, first = state.first.get(record.generation, (0, record))
        return first if then and moment.position <= confirmed and counts(record) else record

    program = state.by_generation.get(generation)
    program = at_its_end(program) if program is not None and counts(program) else None
    searched = asked is not None and asked.kind == PatchKind.TUNE  # which asks no model
    attempts = [] if searched else list(state.attempts.get(generation, {}).values())
    known = state.accounts.calls
    questions = [(one, calls_of(one, known.get(one.key, ()))) for one in attempts]
    return EndedGeneration(
        generation=generation,
        status=state.statuses[generation],
        parent=None if asked is None else asked.parents[0],
        program=program,
        moment=moment,
        improvement=None if program is None else _improvement(state, program, at_its_end),
        models=_contributions(questions),
        arm=_arm(state, generation),
        kind=PatchKind.INITIAL if asked is None else PatchKind(asked.kind),
    )


def _improvement(state: State, program: ProgramRecord, known: Callable[[ProgramRecord], ProgramRecord]) -> float | None:
    if not program.parents:
        return None
    seen = [known(state.by_commit[commit]) for commit in (program.parents[0], *program.inspirations)]
    base = measured_against(program, seen)
    if base.stale or not improves(program, base):
        return None
    score, than = paired_scores(program, base)
    return max(0.0, score - than) if base.correct else 0.0


def _contributions(questions: Sequence[Asked]) -> tuple[Contribution, ...]:
    by_model: dict[str, list[Asked]] = {}
    for question in questions:
        by_model.setdefault(question[0].model, []).append(question)
    return tuple(_contribution(model, asked) for model, asked in by_model.items())


def _contribution(model: str, asked: Sequence[Asked]) -> Contribution:
    kept = [(attempt, [call for call in calls if call.status != LOST]) for attempt, calls in asked]
    sent = [(attempt, calls) for attempt, calls in kept if calls or attempt.answer is not None]
    last = next((attempt for attempt, _ in reversed(asked) if attempt.answer is not None), asked[-1][0])
    return Contribution(
        model=model,
        answered=any(attempt.answer is not None for attempt, _ in asked),
        applied=last.status in _APPLIED or last.failure is not None,
        failed=sum(call.status in FAILURE_REASONS for _, calls in asked for call in calls),
        spent=spending_of(asked),
        fair=spending_of(sent),
    )


def _arm(state: State, generation: int) -> str | None:
    """The model that `search.models` chose for a generation."""
    attempts = state.attempts.get(generation)
    if not attempts or state.generations[generation].kind == PatchKind.TUNE:
        return None
    first = next(iter(attempts.values()))
    sent = first.answer is not None or first.key in state.accounts.calls
    return first.model if sent and "repair" not in first.departs else None

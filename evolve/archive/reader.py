"""Reading a run: the state that its events add up to, and its texts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self, cast

from evaluator.evaluation import Evaluation, headline_of_error
from evaluator.program_files import MOST_BYTES, MOST_FILE_BYTES, MOST_FILES, Files
from evaluator.sandbox.protocol import strict_json
from evaluator.untrusted import one_line
from evolve.archive.calls import LOST, Asked, Call, calls_of, spending_of
from evolve.archive.consistency import find_inconsistency, recompute_mismatch
from evolve.archive.events import (
    CalledEvent,
    EvaluatedEvent,
    Event,
    FreshState,
    HeldOutEvent,
    MetaAnsweredEvent,
    RescoredEvent,
    Status,
    read_event,
)
from evolve.archive.fingerprint import fingerprint
from evolve.archive.journal import DamagedJournal, Entry, Journal, is_held
from evolve.archive.layout import (
    ANSWERS,
    CONFIG,
    GIT,
    JOURNAL,
    PROGRAM_FOLDER,
    earlier_config,
    read_config,
    read_earlier_config,
    require_folder,
)
from evolve.archive.objects import Objects
from evolve.archive.ranking import improves, measured_against, paired_scores, would_be_best
from evolve.archive.records import (
    BEGINNING,
    OPEN,
    AttemptRecord,
    Contribution,
    EndedGeneration,
    ProgramRecord,
    Unfinished,
)
from evolve.archive.refs import Refs
from evolve.archive.state import State
from evolve.core.completion import FAILURE_REASONS, Completion, FinishReason, RequestKey
from evolve.core.errors import ArchiveError
from evolve.core.program import PatchKind, Program
from evolve.core.python_source import MAX_SOURCE_BYTES
from evolve.core.usage import Spending

SHORT = 8
"""Letters of a commit that are shown. A number with fewer digits is a generation."""
_HEX = frozenset("0123456789abcdef")
_UNSOUND = (KeyError, ValueError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError)
"""The errors of adding an event that cannot be right."""


class RunReader(State):
    """One run to be read: the sum of its events, and the texts in git. `Archive` writes it."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open an archive for reading, without a lock. Raises ArchiveError if it is none or is damaged, MachineError
        if it cannot be read."""
        require_folder(folder)
        return cls.read(folder, Journal(folder / JOURNAL, write=False))

    @classmethod
    def read(cls, folder: Path, journal: Journal) -> Self:
        """All of a run. Closes the journal where that fails."""
        reader = cls(folder, journal)
        try:
            reader._add_all(journal.entries())
        except BaseException:  # boundary: whatever happened, the lock and the files go
            reader.objects.close()
            journal.close()
            raise
        return reader

    def __init__(self, folder: Path, journal: Journal) -> None:
        super().__init__()
        self.folder, self.journal = folder, journal
        self.objects, self.refs = Objects(folder / GIT), Refs(folder / GIT)

    def close(self) -> None:
        """Close the files. Harmless when done twice."""
        self.objects.discard()
        self.objects.close()
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def more(self) -> int:
        """Read the events appended since the run was opened, or since the last call; returns how many.

        A half-written line is left for a later call. Raises ArchiveError where an appended line is damaged, or the
        journal was cut or replaced: open the run again then.
        """
        return self._add_all(self.journal.more())

    def _add_all(self, entries: Iterable[Entry]) -> int:
        """Add further events of the journal; returns how many.

        Raises DamagedJournal at an event that cannot be right, ArchiveError when the commit of a program is missing.
        """
        programs_before, read = len(self.programs), 0
        for entry in entries:
            read += 1
            try:
                why = self._add_checked(entry)
            except _UNSOUND as cause:
                why = f"it lacks {cause}" if isinstance(cause, KeyError) else one_line(str(cause), 300)
            if why is not None:
                raise DamagedJournal(self.journal.path, line=entry.line, offset=entry.offset, why=why)
        self._require_commits(self.programs[programs_before:])
        return read

    def _add_checked(self, entry: Entry) -> str | None:
        """Add an event that was read; returns why it cannot be true, if it cannot. A new best is computed again."""
        best = self.best
        why = find_inconsistency(entry.event)
        if why is None:
            self.apply(entry)
            if self.best is not best and isinstance(entry.event, EvaluatedEvent | RescoredEvent):
                why = recompute_mismatch(entry.event.evaluation, self.identity)
        return why

    def _require_commits(self, programs: Sequence[ProgramRecord]) -> None:
        missing = self.objects.missing([record.commit for record in programs])
        if missing:
            record = self.by_commit[missing[0]]
            raise ArchiveError(
                f"{self.objects.repository}: the commit {one_line(record.commit)} of generation {record.generation} "
                + "is missing"
                + (f", and {len(missing) - 1} more" if len(missing) > 1 else "")
                + "; restore the folder from a copy"
            )

    # -- what the run holds -------------------------------------------------------------------------------------

    def config_text(self, digest: str | None = None) -> str:
        """The run's configuration, as now in force or (by its digest) of an earlier session. Raises ArchiveError where
        the file is missing or was changed."""
        if digest is None or digest == self.config_digest:
            return read_config(self.folder, self.config_digest)
        return read_earlier_config(self.folder, digest)

    def config_path(self, digest: str | None = None) -> Path:
        """The file of that configuration."""
        if digest is None or digest == self.config_digest:
            return self.folder / CONFIG
        return earlier_config(self.folder, digest)

    def would_be_best(self, generation: int, evaluation: Evaluation) -> bool:
        """Whether a program that is not recorded yet would be the best one."""
        return would_be_best(self.best, generation, evaluation)

    @property
    def held_out_of_best(self) -> HeldOutEvent | None:
        """The score of the best program on the held-out suite."""
        return None if self.best is None else self.held_out_scores.get(self.best.generation)

    @property
    def fresh_of_best(self) -> FreshState:
        """The state of the best program's check on fresh instances; without a best there is none to make."""
        return FreshState.NOT_AVAILABLE if self.best is None else self.fresh_check(self.best.generation).state

    @property
    def best_holds(self) -> bool:
        """Whether the best program passes on other instances: it is not overfitted, and correct on the held-out suite,
        if there is one, and on fresh instances, if they were tried."""
        return self.best is None or self.holds(self.best, set(FreshState) - {FreshState.FAILED})

    @property
    def would_lead(self) -> ProgramRecord | None:
        """The program to be confirmed now: the highest candidate when its turn came."""
        return None if self.leading is None else self.by_generation[self.leading]

    @property
    def ahead(self) -> ProgramRecord | None:
        """The best for the search: the highest candidate as soon as there is one."""
        return self.highest(self.waiting) or self.best

    @property
    def candidates(self) -> Sequence[ProgramRecord]:
        """Every program that ranks above the best and is not confirmed yet."""
        return [self.by_generation[generation] for generation in self.waiting]

    @property
    def ended(self) -> int:
        """How many generations have ended."""
        return len(self.ends)

    @property
    def ended_since_best(self) -> int:
        """How many generations have ended since the best program came; all of them while there is none."""
        return len(self.ends) - self.ended_at_best

    @property
    def position(self) -> int:
        """How much a search knows by now: the length of `history`."""
        return len(self.turns)

    def history(self, position: int | None = None, *, since: int = 0) -> Iterator[EndedGeneration | ProgramRecord]:
        """What a search knows, in order: each generation as it was at its end, and the record of each program that was
        confirmed or withdrawn later. Only the first `position` entries (None: all), without the first `since`."""
        for generation, confirmed in self.turns[since:position]:
            record = self.by_generation.get(generation)
            if not confirmed:
                yield self.ended_generation(generation, then=True)
            elif record is not None and counts(record):
                yield record

    @property
    def latest_turns(self) -> Iterator[EndedGeneration | ProgramRecord]:
        """The end of `history` that a search learns when a generation has just ended: this generation, and the
        confirmations that count from now on."""
        turns, at = self.turns, len(self.turns) - 1
        while turns[at][1]:
            at -= 1
        return self.history(since=at)

    def endings(self, *, since: int = 0) -> Iterator[EndedGeneration]:
        """The generations that have ended, in that order, without the first `since`, as now on record."""
        return map(self.ended_generation, self.ends[since:])

    def ended_generation(self, generation: int, *, then: bool = False) -> EndedGeneration:
        """A generation that has ended, with its program as now on record, or (`then`) as it was at that end. Raises
        KeyError for a generation that was not begun."""
        asked = self.generations.get(generation)
        moment = self.moments.get(generation, BEGINNING)

        def at_its_end(record: ProgramRecord) -> ProgramRecord:
            confirmed, first = self.first.get(record.generation, (0, record))
            return first if then and moment.position <= confirmed and counts(record) else record

        program = self.by_generation.get(generation)
        program = at_its_end(program) if program is not None and counts(program) else None
        searched = asked is not None and asked.kind == PatchKind.TUNE  # a search asks no model
        attempts = [] if searched else self.attempts(generation)
        questions = [(attempt, calls_of(attempt, self.calls(attempt.key))) for attempt in attempts]
        return EndedGeneration(
            generation=generation,
            status=self.statuses[generation],
            parent=None if asked is None else asked.parents[0],
            program=program,
            moment=moment,
            improvement=None if program is None else self._improvement(program, at_its_end),
            models=_contributions(questions),
            arm=self._arm(generation),
            kind=PatchKind.INITIAL if asked is None else asked.kind,
        )

    def _improvement(self, program: ProgramRecord, at: Callable[[ProgramRecord], ProgramRecord]) -> float | None:
        if not program.parents:
            return None
        seen = [at(self.by_commit[commit]) for commit in (program.parents[0], *program.inspirations)]
        base = measured_against(program, seen)
        if base.stale or not improves(program, base):
            return None
        score, than = paired_scores(program, base)
        return max(0.0, score - than) if base.correct else 0.0

    def _arm(self, generation: int) -> str | None:
        """The model that `search.models` chose for a generation."""
        attempts = self.questions.get(generation)
        if not attempts or self.generations[generation].kind == PatchKind.TUNE:
            return None
        first = next(iter(attempts.values()))
        sent = first.answer is not None or first.key in self.accounts.calls
        return first.model if sent and not first.repair else None

    def fault(self, generation: int) -> str | None:
        """Why a generation that has ended has no correct program: how it failed, or why there is none; else None."""
        record = self.by_generation.get(generation)
        if record is None:
            deciding = self.deciding(generation)
            return f"{self.statuses[generation].value}: {deciding and deciding.reason}"
        return (
            None if record.correct else f"{record.outcome.value}: {headline_of_error(self.evaluation(record).detail)}"
        )

    def children(self, commit: str, most: int) -> Sequence[int]:
        """The latest generations of `made_of` a program, at most `most`, lowest first."""
        return sorted(self.made_of.get(commit, ())[-most:])

    @property
    def to_rescore(self) -> Sequence[ProgramRecord]:
        """The programs to be scored again, since the evaluator has changed."""
        return [self.by_generation[generation] for generation in self.outdated]

    @property
    def running(self) -> bool:
        """Whether some process is writing the run now."""
        return self.journal.writable or is_held(self.folder / JOURNAL)

    @property
    def deferred_writes(self) -> list[str]:
        """Writes that failed and can wait, in sentences: the run goes on, and opening it again repairs them."""
        return [trouble for trouble in (self.refs.trouble, self.objects.trouble) if trouble is not None]

    @property
    def spent(self) -> Spending:
        """The cost of all calls: tokens, and money where its price is known."""
        return self.accounts.spent

    @property
    def under_way(self) -> Spending:
        """The estimate of calls that were sent and have no end on record; `spent` does not include it."""
        return self.accounts.under_way()

    def http_attempts(self, question: AttemptRecord | MetaAnsweredEvent | None, key: RequestKey) -> list[Call]:
        """The HTTP attempts of a question, each with its end; under way are those that `under_way` counts."""
        return calls_of(question, self.calls(key), under_way=self.accounts.is_sent(key))

    def seen(self, source_hash: str) -> ProgramRecord | None:
        """The first program recorded with that hash of its normalised syntax tree."""
        first = self.by_hash.get(source_hash)
        return None if first is None else self.by_generation[first.generation]

    def program(self, generation: int) -> ProgramRecord | None:
        """The program of a generation, if it has one."""
        return self.by_generation.get(generation)

    def attempts(self, generation: int) -> list[AttemptRecord]:
        """The questions asked for a generation, in order; none for the initial program."""
        return list(self.questions.get(generation, {}).values())

    def unfinished(self) -> list[Unfinished]:
        """The generations without an end, lowest first: where a resumed run continues."""
        return [self._unfinished(generation) for generation in sorted(self.open_generations)]

    def _unfinished(self, generation: int) -> Unfinished:
        attempts = self.attempts(generation)
        last = attempts[-1]
        refusals = tuple(
            (self.text(record.answer), record.message, record.reason or "")
            for record in attempts
            if record.answer is not None and record.message is not None
        )
        answer = None
        if last.status is Status.ANSWERED and last.answer is not None:
            ended = cast(FinishReason, last.finish_reason)
            answer = Completion(text=self.text(last.answer), finish_reason=ended, usage=last.usage)
        return Unfinished(
            asked=self.generations[generation],
            attempt=last.attempt + (last.status not in OPEN),
            refusals=refusals,
            answer=answer,
        )

    def calls(self, key: RequestKey) -> list[CalledEvent]:
        """The HTTP attempts made for a request, in order, as they were recorded."""
        return list(self.accounts.calls.get(key, ()))

    def orphans(self) -> list[AttemptRecord]:
        """The questions without an answer or another end: in flight, or cut off."""
        attempts = [record for generation in self.open_generations for record in self.attempts(generation)]
        return [record for record in attempts if record.status is Status.ASKED]

    # -- looking things up --------------------------------------------------------------------------------------

    def find(self, name: str) -> ProgramRecord:
        """The program that a user means: `best`, a generation, or the first letters of a commit.

        Raises ArchiveError, saying what there is, when there is no such program or more than one.
        """
        if name in self.by_commit:
            return self.by_commit[name]
        if name == "best":
            if self.best is None:
                raise self._not_found("there is no correct program yet, so no best one")
            return self.best
        if name.isascii() and name.isdigit() and len(name) < SHORT:
            number = int(name)
            if number in self.by_generation:
                return self.by_generation[number]
            status = self.statuses.get(number)
            how = "was not begun" if status is None else f"made no program ({status.value})"
            raise self._not_found(f"generation {name} {how}")
        prefix = name.lower()
        matches = [r for r in self.programs if r.commit.startswith(prefix)] if prefix and set(prefix) <= _HEX else []
        if len(matches) > 1:
            which = ", ".join(f"{r.commit[: len(prefix) + SHORT]} (generation {r.generation})" for r in matches[:5])
            raise ArchiveError(
                f"{self.folder}: {len(matches)} commits begin with {prefix!r}: {which}; give more letters"
            )
        if not matches:
            raise self._not_found(f"there is no program '{one_line(name, 60)}'")
        return matches[0]

    def _not_found(self, why: str) -> ArchiveError:
        generations, choice = self.by_generation.keys(), "it has no programs"
        if generations:
            choice = (
                f"it has {len(generations)}, of generations {min(generations)} to {max(generations)}: "
                "give a generation, `best`, or the first letters of a commit"
            )
        return ArchiveError(f"{self.folder}: {why}; {choice}")

    def load(self, record: ProgramRecord) -> Program:
        """A program with its source."""
        return Program(
            commit=record.commit,
            generation=record.generation,
            files=self.files(record),
            parents=record.parents,
            island=record.island,
            origin=record.origin,
        )

    def files(self, record: ProgramRecord) -> Files:
        """The files of a program. Raises ArchiveError when git has lost one."""
        where = f"{self.folder / GIT}: the program of generation {record.generation}"
        entries = self.objects.files(record.commit)
        if (folder := entries.get(PROGRAM_FOLDER)) is not None:
            return self._several(self.objects.files_below(folder, most=MOST_FILES), where)
        source = self._text_in(entries, self.program_file, record.commit)
        if len(source) > MAX_SOURCE_BYTES:
            raise ArchiveError(f"{where} is longer than {MAX_SOURCE_BYTES} characters, the most for a program")
        return Files.single(self.program_file, source)

    def blobs_of_several(self, record: ProgramRecord) -> dict[str, str] | None:
        """The ids of the texts of a program of several files; None of one file. Raises ArchiveError."""
        folder = self.objects.files(record.commit).get(PROGRAM_FOLDER)
        return None if folder is None else self.objects.files_below(folder, most=MOST_FILES)

    def _several(self, blobs: Mapping[str, str], where: str) -> Files:
        """The files of a program of several. Raises ArchiveError."""
        texts, length = dict[str, str](), 0
        for path, blob in blobs.items():
            texts[path] = self.text(blob)
            length += len(texts[path])
            if len(texts[path]) > MOST_FILE_BYTES or length > MOST_BYTES:  # before all of them are in memory
                raise ArchiveError(f"{where} is longer than a program may be, at {one_line(path)}")
        try:
            return Files.of(texts)
        except ValueError as cause:
            raise ArchiveError(f"{where}: {one_line(str(cause))}") from None

    def patch_text(self, record: ProgramRecord) -> str:
        """The patch that made a program, as it was written; empty for the initial one."""
        return self._file(record.commit, "patch.txt")

    def answers(self, record: ProgramRecord) -> list[object] | None:
        """The certificate of a program that became the best: its answer per instance, as the judge took it. None where
        none is kept. Raises ArchiveError when it is lost or damaged."""
        if (commit := self.certificates.get(record.generation)) is None:
            return None
        try:
            match strict_json(self._file(commit, ANSWERS)):
                case list(answers):
                    return answers
            why = "it is not a list"
        except (ValueError, RecursionError) as cause:
            why = str(cause)
        raise ArchiveError(f"{self.folder / GIT}: the commit {commit} holds no answers ({why})")

    def _file(self, commit: str, name: str) -> str:
        return self._text_in(self.objects.files(commit), name, commit)

    def _text_in(self, entries: Mapping[str, str], name: str, commit: str) -> str:
        blob = entries.get(name)
        if blob is None:
            raise ArchiveError(f"{self.folder / GIT}: the commit {commit} holds no {name}; restore it from a copy")
        return self.text(blob)

    def text(self, object_id: str) -> str:
        """A prompt or an answer, by the id that its AttemptRecord has."""
        return self.objects.text(object_id)

    def evaluation(self, record: ProgramRecord) -> Evaluation:
        """The whole evaluation of a program, read from the journal again."""
        document = self.journal.document_at(*self.places[record.generation])
        try:
            return replace(Evaluation.from_json(document["evaluation"]), on=record.on)
        except (KeyError, ValueError, TypeError, IndexError) as cause:
            raise ArchiveError(
                f"{self.journal.path}: the evaluation of generation {record.generation} is damaged "
                f"({type(cause).__name__}: {one_line(str(cause))})"
            ) from None

    def costs(self, record: ProgramRecord) -> list[str | None]:
        """The exact cost of a program on each instance (`7/3`), None where it failed, read from the journal again."""
        document = self.journal.document_at(*self.places[record.generation])
        return cast("list[str | None]", document["evaluation"]["costs"])

    def events(self) -> Iterator[Event]:
        """Every event so far, in order, read from the journal again."""
        return map(read_event, self.journal.documents())

    def fingerprint(self) -> str:
        """The sha256, in hex, that equal archives share (see `evolve.archive.fingerprint`)."""
        return fingerprint(self.journal.documents(), self.wanted_refs())


_APPLIED = (Status.EVALUATED, Status.DUPLICATE)


def counts(program: ProgramRecord) -> bool:
    """Whether the score of a program counts."""
    return not (program.stale or program.excluded)


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

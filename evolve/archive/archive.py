"""The record of a run: code and texts in git, events in a journal.

Order of writing: objects, then the journal's event that names the commit (from then on it counts), then refs. Refs
follow from the journal, so a writer that is killed at any moment leaves nothing that opening does not mend.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from evaluator.evaluation import Evaluation
from evaluator.untrusted import one_line
from evolve.archive import refs
from evolve.archive.commits import attempt_message, program_message
from evolve.archive.disk import using
from evolve.archive.finding import find_program
from evolve.archive.fingerprint import fingerprint
from evolve.archive.journal import Entry, Journal
from evolve.archive.layout import CONFIG, GIT, JOURNAL, LOCK, create_folder, require_folder
from evolve.archive.lock import Lock
from evolve.archive.objects import Objects
from evolve.archive.records import AttemptRecord, GenerationRecord, ProgramRecord, Status, Unfinished
from evolve.archive.refs import Refs
from evolve.archive.state import State, program_record
from evolve.errors import ArchiveError
from evolve.program import Origin, Program


class Archive:
    """One run's archive, opened by `create` or `open`. One thread writes; `close` lets the next writer in.

    What cannot be written raises MachineError, and leaves both the archive and this object as they were. A call out
    of order (an answer to what was not asked, a second end of a generation) is the caller's mistake: ValueError.
    """

    def __init__(self, folder: Path, lock: Lock | None) -> None:
        self.folder = folder
        self._state = State()
        self._lock = lock
        self._objects = Objects(folder / GIT)
        self._refs = Refs(folder / GIT)
        self._journal: Journal | None = None
        try:
            self._journal = Journal(folder / JOURNAL, write=lock is not None)
            self._read_journal(self._journal)
            if lock is not None:
                self._refs.repair(self._state.refs())
        except BaseException:  # boundary: whatever happened, the lock and the files go
            self.close()
            raise

    # -- opening and closing ------------------------------------------------------------------------------------

    @classmethod
    def create(cls, folder: Path, *, config_text: str, identity: Mapping[str, Any]) -> "Archive":
        """Begin an archive, with its folder, and open it for writing.

        `config_text` is kept as `run.yaml`, `identity` (JSON) in the first event. The folder appears whole or not at
        all. Raises ArchiveError if it exists, MachineError if it cannot be written.
        """
        return cls(folder, create_folder(folder, config_text=config_text, identity=identity))

    @classmethod
    def open(cls, folder: Path, *, write: bool) -> "Archive":
        """Open an archive. For writing: lock it, mend the end of its journal and its refs. Readers need no lock.

        Raises ArchiveError if it is no archive, is damaged, or (for writing) another process is writing it;
        MachineError if it cannot be read or written.
        """
        require_folder(folder)
        return cls(folder, Lock(folder / LOCK) if write else None)

    def close(self) -> None:
        """Close the files and let the next writer in. Harmless when done twice."""
        self._objects.discard()
        if self._journal is not None:
            self._journal.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read_journal(self, journal: Journal) -> None:
        entry: Entry | None = None
        for entry in journal.entries():
            try:
                self._state.apply(entry)
            except (KeyError, ValueError, TypeError, AttributeError, IndexError) as cause:
                why = f"it lacks {cause}" if isinstance(cause, KeyError) else one_line(str(cause), 300)
                raise journal.damaged(entry.line, why) from None
        if entry is None:
            raise ArchiveError(
                f"{journal.path}: the journal is empty; restore the file from a copy, or begin a new run"
            )
        missing = self._objects.missing([record.commit for record in self._state.programs])
        if missing:
            record = self._state.by_commit[missing[0]]
            raise ArchiveError(
                f"{self.folder / GIT}: the commit {one_line(record.commit)} "
                f"of generation {record.generation} is missing"
                + (f", and {len(missing) - 1} more" if len(missing) > 1 else "")
                + "; restore the folder from a copy"
            )

    # -- what the run holds -------------------------------------------------------------------------------------

    @property
    def config_text(self) -> str:
        """The run's configuration, as it was begun with."""
        path = self.folder / CONFIG
        with using(path, "read"):
            data = path.read_bytes()
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as cause:
            raise ArchiveError(f"{path}: it is not UTF-8 text (byte {cause.start})") from None

    @property
    def identity(self) -> Mapping[str, Any]:
        """What the run was begun with: task, suite, seed, and what scored its programs."""
        return MappingProxyType(dict(self._state.identity))

    @property
    def programs(self) -> Sequence[ProgramRecord]:
        """Every program, in the order in which they were recorded."""
        return self._state.programs

    @property
    def best(self) -> ProgramRecord | None:
        """The correct program with the highest score, the earliest of equals; None while there is none."""
        return self._state.best

    @property
    def statuses(self) -> Mapping[int, Status]:
        """The status of every generation begun, in the order in which they were begun."""
        return MappingProxyType(self._state.statuses)

    @property
    def next_generation(self) -> int:
        """The lowest generation above all that were begun."""
        return self._state.next_generation

    @property
    def finished(self) -> str | None:
        """Why the last session stopped; None while one goes on, or when it was cut off."""
        return self._state.finished

    @property
    def spent_usd(self) -> float:
        """What all answers cost, and what those that were lost are estimated at."""
        return self._state.spent_usd

    def seen(self, source_hash: str) -> ProgramRecord | None:
        """The first program recorded with that hash of its normalised syntax tree."""
        return self._state.by_hash.get(source_hash)

    def attempts(self, generation: int) -> list[AttemptRecord]:
        """The questions put for a generation, in order; none for the initial program."""
        return list(self._state.attempts.get(generation, {}).values())

    def funnel(self) -> tuple[int, int, int]:
        """How many answers were judged, how many of them applied, and how many of those were new programs."""
        judged = self._state.judged
        new = judged[Status.EVALUATED]
        applied = new + judged[Status.DUPLICATE]
        return applied + judged[Status.REFUSED], applied, new

    def ended_without_program(self) -> list[GenerationRecord]:
        """The generations that ended and have no program, in the order in which they were begun."""
        state = self._state
        return [
            replace(record, status=state.statuses[generation])
            for generation, record in state.generations.items()
            if generation not in state.open and generation not in state.by_generation
        ]

    def unfinished(self) -> list[Unfinished]:
        """The generations without an end, lowest first: what resume goes on with."""
        return [self._unfinished(generation) for generation in sorted(self._state.open)]

    def orphans(self) -> list[AttemptRecord]:
        """The questions without an answer or another end: in flight, or cut off."""
        attempts = [record for generation in self._state.open for record in self.attempts(generation)]
        return [record for record in attempts if record.status is Status.ASKED]

    def _unfinished(self, generation: int) -> Unfinished:
        chosen = self._state.generations[generation]
        attempts = self.attempts(generation)
        last = attempts[-1]
        refusals = tuple(
            (self.text(record.answer), record.message)
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
            answer=self.text(last.answer) if last.status is Status.ANSWERED and last.answer is not None else None,
        )

    # -- writing ------------------------------------------------------------------------------------------------

    def asked(
        self,
        generation: int,
        attempt: int,
        *,
        kind: str,
        island: int,
        parents: Sequence[str],
        inspirations: Sequence[str],
        model: str,
        prompt: str | None,
        estimate_usd: float = 0.0,
        extra: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Record a question before it is put. `parents` and `inspirations` are commits, the first parent the one to
        be patched; `estimate_usd` is what it counts for should no answer come. `extra` is kept with the event."""
        event: dict[str, Any] = {
            "generation": generation,
            "attempt": attempt,
            "kind": kind,
            "island": island,
            "parents": list(parents),
            "inspirations": list(inspirations),
            "model": model,
            "prompt": None,
            "attempts": None,
            "estimate_usd": estimate_usd,
            "position": self._state.ended,
            **extra,
        }
        self._check("asked", event)
        if prompt is not None:
            event["prompt"] = self._objects.blob(prompt)
            event["attempts"] = self._attempt_commit(generation, attempt, "asked", {"prompt.txt": event["prompt"]})
        self._record("asked", event)

    def answered(
        self,
        generation: int,
        attempt: int,
        *,
        text: str,
        tokens_in: int,
        tokens_out: int,
        cost_usd: float,
        latency_s: float,
    ) -> None:
        """Record an answer, before anything is done with it."""
        event: dict[str, Any] = {"generation": generation, "attempt": attempt}
        self._check("answered", event)
        prompt = self._state.attempts[generation][attempt].prompt
        event["answer"] = self._objects.blob(text)
        texts = {"answer.txt": event["answer"]} | ({} if prompt is None else {"prompt.txt": prompt})
        event["attempts"] = self._attempt_commit(generation, attempt, "answered", texts)
        event |= {"tokens_in": tokens_in, "tokens_out": tokens_out, "cost_usd": cost_usd}
        event["measured"] = {"latency_s": latency_s}
        self._record("answered", event)

    def refused(
        self,
        generation: int,
        attempt: int,
        *,
        reason: str,
        message: str,
        final: bool,
        status: Status = Status.REFUSED,
        duplicate_of: int | None = None,
    ) -> None:
        """Record that no program comes of an attempt: REFUSED, DUPLICATE (of a generation), or FAILED when there was
        no answer. `final`: nor of the generation, which ends with that status."""
        if status not in (Status.REFUSED, Status.DUPLICATE, Status.FAILED):
            raise ValueError(f"an attempt cannot be refused as {status.value}")
        event: dict[str, Any] = {"generation": generation, "attempt": attempt, "status": status.value}
        event |= {"reason": reason, "message": message, "final": final}
        if duplicate_of is not None:
            event["duplicate_of"] = duplicate_of
        self._check("refused", event)
        self._record("refused", event)

    def evaluated(
        self,
        generation: int,
        attempt: int,
        *,
        source: str,
        patch_text: str,
        origin: Origin,
        parents: Sequence[str],
        inspirations: Sequence[str],
        island: int,
        source_hash: str,
        evaluation: Evaluation,
    ) -> ProgramRecord:
        """Record a program and its evaluation: the end of a generation. The initial program was asked of nobody."""
        event: dict[str, Any] = {
            "generation": generation,
            "attempt": attempt,
            "commit": "",
            "parents": list(parents),
            "inspirations": list(inspirations),
            "island": island,
            "origin": {
                "kind": origin.kind.value,
                "model": origin.model,
                "patch_name": origin.patch_name,
                "description": origin.description,
            },
            "source_hash": source_hash,
            "evaluation": evaluation.to_json(),
        }
        self._check("evaluated", event)
        parent = self._state.by_commit[parents[0]] if parents else None
        files = {"program.py": self._objects.blob(source), "patch.txt": self._objects.blob(patch_text)}
        event["commit"] = self._objects.commit(
            self._objects.tree(files),
            parents,
            generation=generation,
            message=program_message(event, program_record(event), parent),
        )
        self._record("evaluated", event)
        record = self._state.by_generation[generation]
        self._refs.write(refs.tag(generation), record.commit)
        if self._state.best is record:
            self._refs.write(refs.BEST, record.commit)
        if self._state.island_best.get(island) is record:
            self._refs.write(refs.island_branch(island), record.commit)
        return record

    def lost(self, generation: int, attempt: int) -> None:
        """Record that no answer will come to a question (the process that waited was killed): it counts at its
        estimate. It may be asked again."""
        event = {"generation": generation, "attempt": attempt}
        self._check("lost", event)
        self._record("lost", event)

    def resumed(self, **info: Any) -> None:
        """Record that a session goes on with the run."""
        self._check("resumed", info)
        self._record("resumed", info)

    def stopped(self, reason: str, **info: Any) -> None:
        """Record that a session ended, and why."""
        event = {"reason": reason, **info}
        self._check("stopped", event)
        self._record("stopped", event)

    def _attempt_commit(self, generation: int, attempt: int, what: str, texts: Mapping[str, str]) -> str:
        parent = self._state.chain_parent(generation, attempt) if what == "asked" else self._state.chain
        return self._objects.commit(
            self._objects.tree(texts),
            [] if parent is None else [parent],
            generation=generation,
            message=attempt_message(generation, attempt, what),
        )

    def _check(self, name: str, fields: Mapping[str, Any]) -> None:
        if self._lock is None:
            raise ValueError(f"{self.folder} was opened for reading only")
        self._state.check(name, fields)

    def _record(self, name: str, fields: Mapping[str, Any]) -> None:
        assert self._journal is not None
        self._objects.sync()
        chain = self._state.chain
        self._state.apply(self._journal.append(name, fields))
        if self._state.chain is not None and self._state.chain != chain:
            self._refs.write(refs.ATTEMPTS, self._state.chain)

    # -- looking things up --------------------------------------------------------------------------------------

    def find(self, name: str) -> ProgramRecord:
        """The program that a user means: `best`, a generation, or the first letters of a commit.

        Raises ArchiveError, saying what there is, when there is no such program or more than one.
        """
        return find_program(self._state, name, where=str(self.folder))

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
        return self.text(self._objects.files(record.commit)["program.py"])

    def patch_text(self, record: ProgramRecord) -> str:
        """The patch that made a program, as it was written; empty for the initial one."""
        return self.text(self._objects.files(record.commit)["patch.txt"])

    def text(self, object_id: str) -> str:
        """A prompt or an answer, by the id that its AttemptRecord has."""
        return self._objects.text(object_id)

    def evaluation(self, record: ProgramRecord) -> Evaluation:
        """The whole evaluation of a program, read from the journal again."""
        assert self._journal is not None
        event = self._journal.entry_at(*self._state.places[record.generation])
        try:
            return Evaluation.from_json(event["evaluation"])
        except (KeyError, ValueError, TypeError, IndexError) as cause:
            raise ArchiveError(
                f"{self._journal.path}: the evaluation of generation {record.generation} is damaged "
                f"({type(cause).__name__}: {one_line(str(cause))})"
            ) from None

    def fingerprint(self) -> str:
        """The sha256, in hex, that equal archives have in common (see `evolve.archive.fingerprint`)."""
        assert self._journal is not None
        return fingerprint(self._journal.events(), self._state.refs())

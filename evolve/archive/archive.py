"""The record of a run: code and texts in git, events in a journal.

Order of writing: objects, then the event that names their commit (from then on it counts), then refs. Refs follow from
the journal, so whenever a writer is killed, the next opening repairs what it left.
"""

import itertools
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, cast

from evaluator.evaluation import FARTHEST, Evaluation
from evaluator.objective import SCORE_ITSELF
from evaluator.program_files import Files
from evaluator.untrusted import block, one_line
from evolve.archive.consistency import find_inconsistency
from evolve.archive.disk import os_errors_as_machine_errors, sync_folder
from evolve.archive.events import (
    AnsweredEvent,
    AskedEvent,
    CalledEvent,
    CalledStatus,
    ClosedEvent,
    EvaluatedEvent,
    Event,
    ExcludedEvent,
    HeldOutEvent,
    LostEvent,
    MetaAnsweredEvent,
    NotedEvent,
    RefusedEvent,
    RescoredEvent,
    ResumedEvent,
    Status,
    StoppedEvent,
    SummarisedEvent,
    SummarisingEvent,
    verdict_of,
)
from evolve.archive.journal import DamagedJournal, Journal
from evolve.archive.layout import (
    ANSWERS,
    JOURNAL,
    PROGRAM_FOLDER,
    config_digest,
    create_folder,
    document_path,
    finish_config,
    require_folder,
    sweep_unfinished,
    take_config,
    write_config,
    write_document,
)
from evolve.archive.ranking import better, program_record
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.archive.reports import Round, markdown
from evolve.archive.texts import TextCommits
from evolve.core.completion import CallEvent, CallPhase, Completion, Followed, MetaKey, RequestKey
from evolve.core.errors import ArchiveError, MachineError

_CHUNK = 1024 * 1024
_BEHIND = 256
"""Events that refs may be behind the journal (or a fourth of the programs), since all refs are written each time."""


class Archive:
    """One run's archive, opened by `create` or `open`, and read by `reader`. One thread writes; `close` lets the next
    writer in.

    A failed write raises MachineError, and leaves the archive and this object as they were. A call out of order (an
    answer without a question, a second end of a generation) is the caller's mistake: ValueError.
    """

    @classmethod
    def create(
        cls,
        folder: Path,
        *,
        config_text: str,
        identity: Mapping[str, Any],
        run_id: str | None = None,
        numbered: bool = False,
    ) -> "Archive":
        """Begin an archive, with its folder, and open it for writing.

        `config_text` is kept as `run.yaml`, `identity` (JSON) and `run_id` (32 digits of hex) in the first event. The
        folder appears whole or not at all. Raises ArchiveError if it exists, MachineError if it cannot be written.
        `numbered`: if it exists, take `folder-2`, `folder-3`, ...; two runs that begin at once get two folders.
        """
        name, place = folder.name, folder.parent
        names = (place / f"{name}-{number}" for number in itertools.count(2)) if numbered else iter(())
        while True:
            try:
                journal = create_folder(folder, config_text=config_text, identity=identity, run_id=run_id)
                return cls(RunReader.read(folder, journal))
            except ArchiveError:
                following = next(names, None)
                if following is None or not folder.exists():
                    raise
                folder = following

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open an archive for writing: lock it, repair the end of its journal and its refs.

        Raises ArchiveError if it is not an archive, is damaged, or another process is writing it; MachineError if it
        cannot be read or written.
        """
        require_folder(folder)
        journal = Journal(folder / JOURNAL, write=True)
        sweep_unfinished(folder.absolute().parent)
        return cls(RunReader.read(folder, journal))

    def __init__(self, reader: RunReader) -> None:
        self.reader, self.folder = reader, reader.folder
        self._journal, self._objects, self._refs = reader.journal, reader.objects, reader.refs
        self._texts = TextCommits(reader.objects, reader.refs.newest_attempts())
        self._open = True
        try:
            self._objects.take_over()
            self._refs.sweep()
            self._follow()
            finish_config(self.folder, self.reader.config_digest)
            for programs, report in self.reader.meta.reports.items():
                if not document_path(self.folder, programs).exists():
                    write_document(self.folder, programs, markdown(report))
        except BaseException:  # boundary: whatever happened, the lock and the files go
            self.reader.close()
            raise

    def close(self) -> None:
        """Close the files and let the next writer in. Harmless when done twice."""
        try:
            if self._open and self._objects.written:  # a session without writes changes nothing
                self._follow()
                self._objects.pack()
        finally:
            self._open = False
            self.reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing ------------------------------------------------------------------------------------------------

    def asked(self, question: AskedEvent, prompt: str | None) -> None:
        """Record a question before it is asked. The first of `parents` is the program to be changed. `estimate_usd` and
        `estimate_tokens` are reserved for it until it is sent. The archive fills in `position`, which stays that of the
        generation's first question. An equal question that is asked again after a crash adds nothing to git."""
        generation, attempt = question.generation, question.attempt
        begun = self.reader.generations.get(generation)
        before = self.reader.questions.get(generation, {}).get(attempt)
        question = replace(question, position=len(self.reader.turns) if begun is None else begun.position)
        if before is not None:
            question = replace(
                question,
                shortened=question.shortened or before.shortened,
                repair=question.repair or before.repair,
                instead_of=question.instead_of or before.instead_of,
            )
        self._check(question)
        if prompt is not None:
            question = replace(question, prompt=self._objects.blob(prompt))
        self._record(question)

    def answered(self, generation: int, attempt: int, answer: Completion) -> None:
        """Record an answer, with the model's reasoning if there is any, before anything is done with it."""
        event = AnsweredEvent(
            generation=generation,
            attempt=attempt,
            finish_reason=answer.finish_reason,
            tuning=answer.tuning,
            **answer.usage.to_json(),
        )
        self._check(event)
        reasoning = self._objects.blob(answer.reasoning) if answer.reasoning else None
        self._record(replace(event, answer=self._objects.blob(answer.text), reasoning=reasoning))

    def called(self, key: RequestKey, call: CallEvent) -> None:
        """Record that an HTTP attempt for the request `key` is about to be sent, or how it failed; an answer has an
        event of its own."""
        if call.phase is CallPhase.WAITING:
            raise ValueError("a call that is held back is not recorded")
        begins = call.phase is CallPhase.CALLING
        event = CalledEvent(
            key=key,
            call=call.call,
            phase=call.phase,
            status=cast("CalledStatus", call.status),
            model=call.model,
            http_status=call.http_status,
            message=call.message,
            sampled=call.sampled or None,
            adapted=tuple(call.adapted),
            limit_s=_seconds(call.limit_s) if begins else None,
            again_in_s=None if begins else _seconds(call.again_in_s),
            **replace(call.usage, tokens_cached=0).to_json(),
        )
        self._record(event)

    def summarising(self) -> None:
        """Record that a call of the meta-summarizer is made, with the present position. The first call of a round is
        about all programs so far."""
        meta, programs = self.reader.meta, len(self.reader.programs)
        programs = programs if meta.position is None else meta.begun
        self.add(SummarisingEvent(programs=programs, position=len(self.reader.turns)))

    def meta_answered(self, key: MetaKey, prompt: str, answer: Completion) -> None:
        """Record the answer to a request of the meta-summarizer, before anything is done with it."""
        event = MetaAnsweredEvent(
            key=key,
            prompt=self._objects.blob(prompt),
            answer=self._objects.blob(answer.text),
            finish_reason=answer.finish_reason,
            **answer.usage.to_json(),
        )
        self._record(event)

    def summarised(self, programs: int, ended: Round) -> None:
        """Record the end of a round of the meta-summarizer that began with `programs` programs. Its report, if there is
        one, is also written to `meta/meta_<programs>.md`, for people."""
        self._end_round(SummarisedEvent.of(programs, ended), ended)

    def closed(self, ended: Round) -> None:
        """Record the report over all programs at a session's end. It is for readers, and no part of the fingerprint."""
        self._end_round(ClosedEvent.of(len(self.reader.programs), ended), ended)

    def _end_round(self, event: SummarisedEvent | ClosedEvent, ended: Round) -> None:
        self.add(event)
        if ended.report is not None:
            write_document(self.folder, event.programs, markdown(ended.report))

    def refused(
        self,
        generation: int,
        attempt: int,
        *,
        reason: str,
        message: str,
        final: bool,
        duplicate_of: int | None = None,
        followed: Followed | None = None,
    ) -> None:
        """Record that an answer gives no program: `duplicate_of` names the generation that has the same one; `final`
        says that the generation ends with it."""
        event = RefusedEvent(
            generation=generation,
            attempt=attempt,
            status=Status.REFUSED if duplicate_of is None else Status.DUPLICATE,
            reason=reason,
            message=message,
            final=final,
            duplicate_of=duplicate_of,
            followed=followed,
        )
        self.add(event)

    def failed(self, generation: int, attempt: int, *, reason: str, message: str) -> None:
        """Record that there is no answer to a question: the end of its generation."""
        status = Status.FAILED
        event = RefusedEvent(
            generation=generation, attempt=attempt, status=status, reason=reason, message=message, final=True
        )
        self.add(event)

    def evaluated(
        self, program: EvaluatedEvent, *, files: Files, patch_text: str, answers: Sequence[str] | None
    ) -> ProgramRecord:
        """Record a program and its evaluation: the end of a generation. The `answers` of one that becomes the best are
        kept as its certificate."""
        program = replace(program, length=files.length)
        self._check(program)
        made = program_record(program, program.evaluation)
        parent = self.reader.by_commit[program.parents[0]] if program.parents else None
        commit = self._objects.commit(
            self._tree(files, patch_text, parent),
            program.parents,
            generation=program.generation,
            message=program_message(program.evaluation["detail"], made, parent),
        )
        leads = not program.provisional and better(made, self.reader.best)
        certificate = self._certificate(program.generation, answers) if leads else None
        self._record(replace(program, commit=commit, certificate=certificate))
        record = self.reader.by_generation[program.generation]
        if self.reader.best is record:
            self._write_refs()
        self._objects.tidy()
        return record

    def _tree(self, files: Files, patch_text: str, parent: ProgramRecord | None) -> str:
        """Write the tree of a program's commit. One file lies under its own name; several lie in a folder, since any
        name may be theirs, and the texts that the parent has are not written again."""
        if tuple(files) == (self.reader.program_file,):
            blobs = {
                self.reader.program_file: self._objects.blob(files.only),
                "patch.txt": self._objects.blob(patch_text),
            }
            return self._objects.tree(blobs)
        before = None if parent is None else self.reader.blobs_of_several(parent)
        folder = self._objects.folder(files, present=frozenset((before or {}).values()))
        return self._objects.tree({"patch.txt": self._objects.blob(patch_text)}, {PROGRAM_FOLDER: folder})

    def held_out(self, generation: int, evaluation: Evaluation, *, overfitted: str | None) -> HeldOutEvent:
        """Record the score of the initial program, or of a new best, on the held-out suite. People see it; no decision
        uses it."""
        event = HeldOutEvent(
            generation=generation,
            suite=evaluation.suite,
            outcome=evaluation.outcome,
            correct=evaluation.correct,
            combined_score=evaluation.combined_score,
            ceiling=evaluation.ceiling,
            gap=evaluation.gap,
            value=evaluation.value,
            value_gap=evaluation.value_gap,
            quarantine=evaluation.quarantine,
            costs=tuple(None if result.cost is None else str(result.cost) for result in evaluation.results),
            overfitted=overfitted,
        )
        self.add(event)
        return self.reader.held_out_scores[generation]

    def excluded(self, generation: int) -> None:
        """Record that a person excludes a program from selection and best. Its children stay."""
        self.add(ExcludedEvent(generation=generation))
        self._follow()

    def rescored(self, generation: int, evaluation: Evaluation) -> ProgramRecord:
        """Record the result of confirming a program, or its score under another evaluator; the journal keeps both."""
        event = RescoredEvent(generation=generation, evaluation=verdict_of(evaluation))
        self._check(event)
        leads = self.reader.would_be_best(generation, evaluation)
        certificate = self._certificate(generation, evaluation.answers) if leads else None
        self._record(replace(event, certificate=certificate))
        self._follow()
        return self.reader.by_generation[generation]

    def lost(self, generation: int, attempt: int) -> None:
        """Record that a question will get no answer, since the process that waited was killed: it counts at its
        estimate, and may be asked again."""
        self.add(LostEvent(generation=generation, attempt=attempt))

    def resumed(
        self,
        *,
        config_text: str | None = None,
        changed: Mapping[str, Any] = MappingProxyType({}),
        identity: Mapping[str, Any] = MappingProxyType({}),
        rescore: Sequence[int] = (),
    ) -> None:
        """Record that a session resumes the run, with another configuration if `config_text` is given; `changed` are
        its keys that differ. `identity`: the evaluator from now on, if it is another one. Then every earlier score is
        stale until its program is rescored; `rescore` lists those that will be."""
        event = ResumedEvent(changed=dict(changed), identity=identity or None, rescore=tuple(rescore))
        self._check(event)
        if config_text is None:
            self._record(event)
            return
        # It replaces the old one once the event names it.
        write_config(self.folder, config_text, before=self.reader.config_text())
        self._record(replace(event, config=config_digest(config_text)))
        take_config(self.folder)

    def stopped(self, reason: str) -> None:
        """Record that a session ended, and why, after all of its closing checks."""
        self.add(StoppedEvent(reason=reason))

    def noted(self, generation: int, text: str) -> None:
        """Record a note on a generation."""
        self.add(NotedEvent(generation=generation, text=text))

    def add(self, event: Event) -> None:
        """Record an event without objects of its own."""
        self._check(event)
        self._record(event)

    def _certificate(self, generation: int, answers: Sequence[str] | None) -> str | None:
        """The commit of the answers of a program that becomes the best; None where there are none."""
        if answers is None:
            return None
        listed = ",\n".join(answers)  # an answer a line: git stores versions of the file as differences
        tree = self._objects.tree({ANSWERS: self._objects.blob(f"[\n{listed}\n]\n")})
        before = self.reader.certificate_chain
        parents = () if before is None else (before,)
        return self._objects.commit(tree, parents, generation=generation, message=f"{generation}\n")

    def _check(self, event: Event) -> None:
        self.reader.check(event)
        if why := find_inconsistency(event):
            raise ValueError(f"{event.event}: {why}")

    def _record(self, event: Event) -> None:
        self._objects.sync()
        self.reader.apply(self._journal.append(event))
        self._behind += 1
        late = self._refs.trouble is not None and not self._refs.is_held()
        if late or self._behind >= max(_BEHIND, len(self.reader.programs) // 4):
            self._follow()

    def _follow(self) -> None:
        """Write the commits of prompts and answers, and the refs, that follow from the journal."""
        self._behind = 0
        try:
            self._texts.follow(self.reader.texts)
        except MachineError as cause:
            self._refs.postpone(str(cause))
        else:
            self._write_refs()

    def _write_refs(self) -> None:
        self._refs.follow(self.reader.wanted_refs() | self._texts.refs())


def _seconds(stated: float | None) -> float | None:
    """The seconds that a model's client states, as an event takes them: a custom client may state no limit as infinite,
    and a time that has passed as a negative number."""
    return None if stated is None else round(min(max(0.0, stated), FARTHEST), 3)


def repair(folder: Path) -> str:
    """Cut the journal of a run before its first damaged line, and keep the rest in another file. Returns what was done,
    in a sentence.

    Raises ArchiveError when no line is sound, something else is damaged, or another process writes the run;
    MachineError.
    """
    require_folder(folder)
    path = folder / JOURNAL
    journal = Journal(path, write=True)
    try:
        try:
            RunReader.open(folder).close()
        except DamagedJournal as damage:
            if damage.offset == 0:
                raise
            return _cut(journal, damage)
    finally:
        journal.close()
    return f"{path}: every line is sound; nothing was cut off"


def _cut(journal: Journal, damage: DamagedJournal) -> str:
    names = (journal.path.with_name(f"journal.cut-off-{number}") for number in itertools.count(1))
    with os_errors_as_machine_errors(journal.path.parent, "written"):
        aside = next(path for path in names if not os.path.lexists(path))
        with journal.path.open("rb") as file, aside.open("xb") as copy:
            try:
                file.seek(damage.offset)
                shutil.copyfileobj(file, copy, _CHUNK)
                copy.flush()
                os.fsync(copy.fileno())
            except OSError:  # the disk is full: the journal stays whole, and no half of a copy is left
                aside.unlink()
                raise
            length = copy.tell()
        sync_folder(aside.parent)
    journal.cut(damage.offset)
    return (
        f"{journal.path}: line {damage.line} is damaged ({damage.why}), so the journal was cut off before it; "
        f"the {length} bytes cut off are kept in {aside.name}, and the work that they recorded is done again"
    )


def program_message(detail: str, record: ProgramRecord, parent: ProgramRecord | None) -> str:
    """The message of a program's commit, made of its record (without the commit), its parent and the `detail` of a
    failure. Detail, name, description and model are untrusted, and cannot forge a line outside of the body."""
    origin = record.origin
    name = one_line(origin.patch_name, 60) or "unnamed"
    subject = f"gen {record.generation}: {name} ({_result(record, parent)})"
    trailers = [("Generation", str(record.generation)), ("Island", str(record.island)), ("Kind", origin.kind.value)]
    if origin.model:
        trailers.append(("Model", one_line(origin.model)))
    trailers += [("Outcome", record.outcome.value), ("Score", repr(record.combined_score))]
    if record.quarantine is not None:
        trailers.append(("Quarantine", one_line(record.quarantine)))
    if not record.correct and (wrong := one_line(detail)):
        trailers.append(("Detail", wrong))
    trailers += [("Inspiration", commit) for commit in record.inspirations]
    parts = [subject, _body(origin.description), "\n".join(f"{key}: {value}" for key, value in trailers)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _result(record: ProgramRecord, parent: ProgramRecord | None) -> str:
    if record.quarantine is not None:
        return "quarantined"
    if not record.correct:
        return record.outcome.value
    value = record.combined_score if record.value is None else record.value
    score = f"{value:.4f}" if not value or 1e-3 <= abs(value) < 1e12 else f"{value:.6g}"
    if parent is None or not parent.correct:
        return score
    change = value - (parent.combined_score if parent.value is None else parent.value)
    scale = SCORE_ITSELF if record.value is None else record.objective
    return f"{score}, {scale.worded(change, value)}"


def _body(description: str) -> str:
    # Indented, so that no line reads like a trailer or ends the message for `git interpret-trailers`.
    lines = block(description).strip().split("\n")
    return "\n".join(f"  {line}".rstrip() for line in lines)

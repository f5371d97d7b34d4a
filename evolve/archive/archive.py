"""The record of a run: code and texts in git, events in a journal.

Order of writing: objects, then the journal's event that names the commit (from then on it counts), then refs. Refs
follow from the journal, so a writer that is killed at any moment leaves nothing that opening does not mend.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from evaluator.evaluation import Evaluation
from evaluator.untrusted import block, one_line
from evolve.archive import refs
from evolve.archive.certificates import ANSWERS, as_text
from evolve.archive.journal import Journal
from evolve.archive.layout import (
    JOURNAL,
    config_digest,
    create_folder,
    require_folder,
    sweep_unfinished,
    take_config,
    write_config,
    write_document,
)
from evolve.archive.ranking import program_record
from evolve.archive.reader import RunReader
from evolve.archive.records import AttemptRecord, FreshRecord, HeldOutRecord, ProgramRecord, Status, said
from evolve.archive.reports import Round, markdown
from evolve.archive.truth import contradiction
from evolve.completion import CallEvent, Completion, Followed, MetaKey, RequestKey
from evolve.errors import ArchiveError
from evolve.program import Origin


class Archive(RunReader):
    """One run's archive, opened by `create` or `open`. One thread writes; `close` lets the next writer in.

    What cannot be written raises MachineError, and leaves both the archive and this object as they were. A call out
    of order (an answer to what was not asked, a second end of a generation) is the caller's mistake: ValueError.
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
        `numbered`: where it exists, take `folder-2`, `folder-3`, ...; the name is settled by making it, so that two
        runs begun in one second have two.
        """
        name, place = folder.name, folder.parent
        names = (place / f"{name}-{number}" for number in itertools.count(2)) if numbered else iter(())
        while True:
            try:
                return cls(folder, create_folder(folder, config_text=config_text, identity=identity, run_id=run_id))
            except ArchiveError:
                following = next(names, None)
                if following is None or not folder.exists():
                    raise
                folder = following

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open an archive for writing: lock it, repair the end of its journal and its refs.

        Raises ArchiveError if it is no archive, is damaged, or another process is writing it; MachineError if it
        cannot be read or written.
        """
        require_folder(folder)
        journal = Journal(folder / JOURNAL, write=True)
        sweep_unfinished(folder.absolute().parent)
        return cls(folder, journal)

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
        estimate_tokens: int = 0,
        extra: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Record a question before it is put. `parents` and `inspirations` are commits, the first parent the one to
        be patched; `estimate_usd` and `estimate_tokens` are kept for it until it is sent. `extra` is kept with the
        event, and the position of the state that the generation was chosen from, however often it is asked.

        A question that is asked again after a crash, in the same words, leaves no second trace in git."""
        begun = self._state.generations.get(generation)
        before = self._state.attempts.get(generation, {}).get(attempt)
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
            **({"estimate_tokens": estimate_tokens} if estimate_tokens else {}) | {"estimate_usd": estimate_usd},
            "position": len(self._state.ended) if begun is None else begun.position,
            **({} if before is None else before.departs),
            **extra,
        }
        self._check("asked", event)
        if prompt is not None:
            event["prompt"] = self._objects.blob(prompt)
            event["attempts"] = self._question_commit(generation, attempt, event["prompt"], before)
        self._record("asked", event)

    def answered(self, generation: int, attempt: int, answer: Completion) -> None:
        """Record an answer, before anything is done with it; beside it what the model thought, if it told."""
        event: dict[str, Any] = {"generation": generation, "attempt": attempt}
        self._check("answered", event)
        prompt = self._state.attempts[generation][attempt].prompt
        event["answer"] = self._objects.blob(answer.text)
        texts = {"answer.txt": event["answer"]} | ({} if prompt is None else {"prompt.txt": prompt})
        if answer.reasoning:
            texts["reasoning.txt"] = event["reasoning"] = self._objects.blob(answer.reasoning)
        event["attempts"] = self._attempt_commit(generation, attempt, "answered", texts)
        event |= {"finish_reason": answer.finish_reason, **answer.usage.to_json()}
        event |= {} if answer.tuning is None else {"tuning": dict(answer.tuning)}
        self._record("answered", event)

    def called(self, key: RequestKey, call: CallEvent) -> None:
        """Record one moment of an HTTP attempt for the request `key`: before it is sent, or how it failed; the answer
        has an event of its own."""
        event = {name: getattr(call, name) for name in ("call", "phase", "status", "model", "http_status", "message")}
        event |= {"sampled": dict(call.sampled)} if call.sampled else {}
        event |= {"adapted": [one.to_json() for one in call.adapted]} if call.adapted else {}
        self._record("called", {"key": str(key), **event, **call.usage.to_json()})

    def summarising(self) -> None:
        """Record that a round of the meta-summarizer begins, over what is on record now."""
        event = {"programs": len(self._state.programs), "position": len(self._state.ended)}
        self.add("summarising", event)

    def meta_answered(self, key: MetaKey, prompt: str, answer: Completion) -> None:
        """Record the answer to a request of the meta-summarizer, before anything is done with it."""
        event = {"key": str(key), "prompt": self._objects.blob(prompt), "answer": self._objects.blob(answer.text)}
        event["attempts"] = self._chain_commit({"prompt.txt": event["prompt"], "answer.txt": event["answer"]}, str(key))
        self._record("meta_answered", {**event, "finish_reason": answer.finish_reason, **answer.usage.to_json()})

    def summarised(self, programs: int, ended: Round) -> None:
        """Record the end of a round of the meta-summarizer that was begun when there were `programs` programs. Its
        report, if there is one, becomes `meta/meta_<programs>.md` too, for people."""
        self._end_round("summarised", programs, ended)

    def closed(self, ended: Round) -> None:
        """Record the report over everything at a session's end. It is for readers: how long a run may go on makes it no
        other one."""
        self._end_round("closed", len(self._state.programs), ended)

    def _end_round(self, name: str, programs: int, ended: Round) -> None:
        self.add(name, {"programs": programs, **ended.model_dump(mode="json")})
        if ended.report is not None:
            write_document(self.folder, programs, markdown(ended.report))

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
        followed: Followed | None = None,
    ) -> None:
        """Record that no program comes of an attempt: REFUSED, DUPLICATE (of a generation), or FAILED when there was
        no answer. `final`: nor of the generation, which ends with that status."""
        if status not in (Status.REFUSED, Status.DUPLICATE, Status.FAILED):
            raise ValueError(f"an attempt cannot be refused as {status.value}")
        event: dict[str, Any] = {"generation": generation, "attempt": attempt, "status": status.value}
        event |= {"reason": reason, "message": message, "final": final, **said(followed)}
        if duplicate_of is not None:
            event["duplicate_of"] = duplicate_of
        self.add("refused", event)

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
        followed: Followed | None = None,
    ) -> ProgramRecord:
        """Record a program and its evaluation: the end of a generation. The initial program was asked of nobody. The
        answers of one that becomes the best are kept as its certificate, where the evaluation has them."""
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
                "features": list(origin.features),
            },
            "source_hash": source_hash,
            "length": len(source),
            "evaluation": evaluation.to_json(),
            **said(followed),
        }
        self._check("evaluated", event)
        parent = self._state.by_commit[parents[0]] if parents else None
        files = {self.program_file: self._objects.blob(source), "patch.txt": self._objects.blob(patch_text)}
        event["commit"] = self._objects.commit(
            self._objects.tree(files),
            parents,
            generation=generation,
            message=program_message(event, program_record(event), parent),
        )
        self._record("evaluated", event | self._certificate(generation, evaluation))
        record = self._state.by_generation[generation]
        self._point_to(record)
        self._objects.tidy()
        return record

    def held_out(self, generation: int, evaluation: Evaluation, *, overfitted: str | None) -> HeldOutRecord:
        """Record what the initial program, or one that became the best, scores on the held-out suite. It
        is shown to people, and nothing is decided by it."""
        event: dict[str, Any] = {
            "generation": generation,
            "suite": evaluation.suite,
            "outcome": evaluation.outcome.value,
            "correct": evaluation.correct,
            "combined_score": evaluation.combined_score,
            "ceiling": evaluation.ceiling,
            "gap": evaluation.gap,
            "value": evaluation.value,
            "value_gap": evaluation.value_gap,
            "quarantine": evaluation.quarantine,
            "costs": [None if result.cost is None else str(result.cost) for result in evaluation.results],
            "overfitted": overfitted,
        }
        self.add("held_out", event)
        return self._state.held_out[generation]

    def fresh(self, found: FreshRecord) -> None:
        """Record a sample of fresh instances that a best program was tried on, or why it was not."""
        self.add("fresh", asdict(found) | {"state": found.state.value})

    def excluded(self, generation: int) -> None:
        """Record that a person takes a program out of choice and best. Its children stay."""
        self.add("excluded", {"generation": generation})
        self._refs.repair(self._state.refs())

    def rescored(self, generation: int, evaluation: Evaluation) -> ProgramRecord:
        """Record what a program scores under the evaluator that scores now; the record keeps both."""
        event = {"generation": generation, "evaluation": evaluation.to_json()}
        self._check("rescored", event)
        self._record("rescored", event | self._certificate(generation, evaluation))
        self._refs.repair(self._state.refs())
        return self._state.by_generation[generation]

    def lost(self, generation: int, attempt: int) -> None:
        """Record that no answer will come to a question (the process that waited was killed): it counts at its
        estimate. It may be asked again."""
        event = {"generation": generation, "attempt": attempt}
        self.add("lost", event)

    def resumed(
        self,
        *,
        config_text: str | None = None,
        changed: Mapping[str, Any] = MappingProxyType({}),
        identity: Mapping[str, Any] = MappingProxyType({}),
        rescore: Sequence[int] = (),
    ) -> None:
        """Record that a session goes on with the run, with another configuration if `config_text` is given; `changed`
        are its keys that differ. `identity`: what scores from now on, where that is not what did; every score on record
        is then for the reader alone, until its program is rescored, as those of `rescore` are to be."""
        event: dict[str, Any] = {"changed": dict(changed)}
        if identity:
            event |= {"identity": dict(identity), "rescore": list(rescore)}
        self._check("resumed", event)
        if config_text is None:
            self._record("resumed", event)
            return
        write_config(self.folder, config_text)  # beside the old one, which it replaces once the event names it
        self._record("resumed", {**event, "config": config_digest(config_text)})
        take_config(self.folder)

    def stopped(self, reason: str) -> None:
        """Record that a session ended, and why: once, when all of its closing checks are over."""
        self.add("stopped", {"reason": reason})

    def noted(self, generation: int, text: str) -> None:
        """Record what somebody writes beside a generation."""
        self.add("noted", {"generation": generation, "text": text})

    def add(self, name: str, event: Mapping[str, Any]) -> None:
        """Record an event that rests on no object of its own."""
        self._check(name, event)
        self._record(name, event)

    def _point_to(self, record: ProgramRecord) -> None:
        self._refs.write(refs.tag(record.generation), record.commit)
        if self._state.best is record:
            self._refs.write(refs.BEST, record.commit)
        self._refs.pack()

    def _certificate(self, generation: int, evaluation: Evaluation) -> dict[str, str]:
        """What an event says of the answers of a program that becomes the best, which are written; else nothing."""
        if evaluation.answers is None or not self.would_be_best(generation, evaluation):
            return {}
        texts = {ANSWERS: self._objects.blob(as_text(evaluation.answers))}
        return {"certificate": self._link(self._state.certificate_chain, texts, f"{generation}\n", generation)}

    def _chain_commit(self, texts: Mapping[str, str], what: str) -> str:
        return self._link(self._state.chain, texts, f"{what}\n")

    def _link(self, before: str | None, texts: Mapping[str, str], message: str, generation: int | None = None) -> str:
        """A commit of texts (blobs by name) on top of a chain's newest one."""
        tree, parents = self._objects.tree(texts), [] if before is None else [before]
        number = self._state.next_generation if generation is None else generation
        return self._objects.commit(tree, parents, generation=number, message=message)

    def _question_commit(self, generation: int, attempt: int, prompt: str, before: AttemptRecord | None) -> str:
        """The commit of a question: that of the same one put before, if there is one."""
        if before is not None and before.prompt == prompt:
            return self._state.question_commits[generation, attempt]
        return self._attempt_commit(generation, attempt, "asked", {"prompt.txt": prompt})

    def _attempt_commit(self, generation: int, attempt: int, what: str, texts: Mapping[str, str]) -> str:
        return self._link(self._state.chain, texts, attempt_message(generation, attempt, what), generation)

    def _check(self, name: str, fields: Mapping[str, Any]) -> None:
        self._state.check(name, fields)
        if why := contradiction({"event": name, **fields}):
            raise ValueError(f"{name} for generation {fields['generation']}: {why}")

    def _record(self, name: str, fields: Mapping[str, Any]) -> None:
        self._objects.sync()
        chains = self._chains()
        self._state.apply(self._journal.append(name, fields))
        for ref, commit in self._chains().items():
            if commit is not None and commit != chains[ref]:
                self._refs.write(ref, commit)

    def _chains(self) -> dict[str, str | None]:
        return {refs.ATTEMPTS: self._state.chain, refs.CERTIFICATES: self._state.certificate_chain}


def program_message(event: Mapping[str, Any], record: ProgramRecord, parent: ProgramRecord | None) -> str:
    """The message of a program's commit, from the fields that its `evaluated` event will have.

    `record` is the program (its commit is not used, for it is being made); `parent` the program that was patched.
    Name, description and model are untrusted, and cannot forge a line outside the body.
    """
    origin = record.origin
    name = one_line(origin.patch_name, 60) or "unnamed"
    subject = f"gen {record.generation}: {name} ({_result(record, parent)})"
    trailers = [("Generation", str(record.generation)), ("Island", str(record.island)), ("Kind", origin.kind.value)]
    if origin.model:
        trailers.append(("Model", one_line(origin.model)))
    trailers += [
        ("Outcome", record.outcome.value),
        ("Score", repr(record.combined_score)),
    ]
    if record.quarantine is not None:
        trailers.append(("Quarantine", one_line(record.quarantine)))
    if not record.correct and (detail := one_line(event["evaluation"]["detail"])):
        trailers.append(("Detail", detail))
    trailers += [("Inspiration", commit) for commit in record.inspirations]
    parts = [subject, _body(origin.description), "\n".join(f"{key}: {value}" for key, value in trailers)]
    return "\n\n".join(part for part in parts if part) + "\n"


def attempt_message(generation: int, attempt: int, what: str) -> str:
    """The message of the commit that keeps the texts of an attempt."""
    return f"gen {generation}, attempt {attempt}: {what}\n"


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
    return f"{score}, {change:+.4f}" if abs(change) >= 0.00005 or change == 0 else f"{score}, {change:+.1e}"


def _body(description: str) -> str:
    # Indented, so that no line of it reads like a trailer, or ends the message for `git interpret-trailers`.
    lines = block(description).strip().split("\n")
    return "\n".join(f"  {line}".rstrip() for line in lines)

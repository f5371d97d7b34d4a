"""Measuring: programs are scored in parallel, and each result is kept until the audit has ended.

The results are in a file of this user's state folder, `evolve/audits/<digest>.jsonl`, a line each. An audit that was
interrupted takes its results from there. An audit that ended removes the file, so that the next one measures every
program again.
"""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.evaluation import OF_THE_MOMENT, Evaluation
from evaluator.program_files import Files
from evaluator.waiting import threads
from evolve.seams import Evaluator
from evolve.trust import state_folder

_MOST_BYTES: Final = 2**30
"""The longest file of kept results that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedProgram:
    """A program to score. `confirm`: with strict re-evaluation. `met_limit`: its record says that it met a limit."""

    files: Files
    confirm: bool = False
    met_limit: bool = False

    def key(self, evaluator: Evaluator) -> str:
        """The key of its result by an evaluator."""
        return _digest(
            evaluator.version, evaluator.sandbox, "confirmed" if self.confirm else "scored", repr(self.files.pairs)
        )


class KeptResults:
    """The results of an audit so far, and of an earlier one with equal `inputs` that was interrupted. Where the file
    cannot be read or written, `trouble` says why, and results are kept in memory only."""

    def __init__(self, *inputs: str) -> None:
        self.trouble: str | None = None
        self._lock = threading.Lock()
        self._results: dict[str, Evaluation] = {}
        self._path: Path | None = None
        try:
            folder = state_folder("audits")
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._path = folder / f"{_digest(*inputs)}.jsonl"
            self._read(self._path)
        except (OSError, RuntimeError) as cause:
            self._give_up(cause)
        self.taken_over = len(self._results)
        """How many results are those of an earlier audit."""

    def _read(self, path: Path) -> None:
        if not path.exists() or path.stat().st_size > _MOST_BYTES:
            return
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                document = json.loads(line)
                self._results[document["key"]] = Evaluation.from_json(document["evaluation"])
            except (ValueError, KeyError, TypeError):  # cut off by a kill: it is measured again
                continue

    def _give_up(self, cause: OSError | RuntimeError) -> None:
        self._path = None
        self.trouble = (isinstance(cause, OSError) and cause.strerror) or str(cause)

    def get(self, key: str) -> Evaluation | None:
        """The result with a key; None where there is none."""
        return self._results.get(key)

    def add(self, key: str, evaluation: Evaluation) -> None:
        """Keep a result. Any thread may call it."""
        document = {"key": key, "evaluation": evaluation.to_json()}
        with self._lock:
            self._results[key] = evaluation
            if self._path is None:
                return
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
                with os.fdopen(os.open(self._path, flags, 0o600), "a", encoding="ascii") as file:
                    file.write(f"{json.dumps(document)}\n")
            except OSError as cause:
                self._give_up(cause)

    def remove(self) -> None:
        """Remove the file: the audit has ended."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def measure(
    evaluator: Evaluator,
    programs: Sequence[AuditedProgram],
    kept: KeptResults | None,
    *,
    workers: int,
    step: Callable[[], None],
) -> list[Evaluation]:
    """Score programs, in the order given; equal ones are scored once. `step` is called for each that is done.

    A program that meets a limit where its record does not say so is scored again: the machine may have been busy.
    """

    def measured(key: str, program: AuditedProgram) -> Evaluation:
        evaluation = evaluator.evaluate(program.files)
        if not program.met_limit and any(result.outcome in OF_THE_MOMENT for result in evaluation.results):
            evaluation = evaluator.evaluate(program.files)
        if program.confirm:
            evaluation = evaluator.examine(program.files, evaluation)
        if kept is not None:
            kept.add(key, evaluation)
        return evaluation

    keys = [program.key(evaluator) for program in programs]
    results = []
    with threads(workers, cancel=evaluator.cancel) as pool:
        waiting: dict[str, Future[Evaluation]] = {}
        for key, program in zip(keys, programs, strict=True):
            if key not in waiting and (kept is None or kept.get(key) is None):
                waiting[key] = pool.submit(measured, key, program)
        for key in keys:
            known = None if kept is None or key in waiting else kept.get(key)
            results.append(pool.result(waiting[key]) if known is None else known)
            step()
    return results


def _digest(*parts: str) -> str:
    whole = "".join(hashlib.sha256(part.encode("utf-8", "surrogatepass")).hexdigest() for part in parts)
    return hashlib.sha256(whole.encode("ascii")).hexdigest()

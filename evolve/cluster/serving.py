"""What a worker does: it opens a task, reports on itself, and records programs, one at a time."""

import json
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import EvaluatorError
from evaluator.input_files import read_as
from evaluator.opening import OpenedEvaluator, open_evaluator
from evaluator.program_files import Files
from evaluator.remote import WorkerReport, record
from evaluator.repository.evaluator import RepositoryEvaluator
from evaluator.task_files import load_task
from evolve.cluster.describing import describe
from evolve.cluster.packing import digest_of, unpack

OPEN: Final = "open"
EVALUATE: Final = "evaluate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The text of `open`: a packed task with its digest, a suite of it, the control program."""

    digest: str
    packed: str
    suite: str
    control: Mapping[str, str]

    def to_json(self) -> str:
        """The text."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramToRun:
    """The text of `evaluate`: a program, for the task with this digest."""

    digest: str
    suite: str
    files: Mapping[str, str]

    def to_json(self) -> str:
        """The text."""
        return json.dumps(asdict(self))


class Desk:
    """One task at a time, and one program at a time: a worker has one thread."""

    def __init__(self) -> None:
        self._name = "worker"
        self._turn = threading.Lock()
        self._key = ("", "")
        self._evaluator: OpenedEvaluator | None = None
        self._report: WorkerReport | None = None
        self._folder = Path(tempfile.gettempdir())

    def begin(self, name: str, folder: Path) -> None:
        """Serve as the worker `name`; tasks are written below `folder`."""
        self._name, self._folder = name, folder

    def call(self, function: str, text: str) -> tuple[bool, str]:
        """The result of a function, or the reason why there is none."""
        functions = {OPEN: self._open, EVALUATE: self._evaluate}
        if function not in functions:
            return False, f"there is no function {function!r}"
        try:
            with self._turn:
                return True, functions[function](text)
        except EvaluatorError as cause:
            return False, str(cause)
        except (ValueError, OSError) as cause:  # a message of another version, a full disk
            return False, f"{type(cause).__name__}: {cause}"

    def _open(self, text: str) -> str:
        opening = read_as(Opening, json.loads(text))
        if digest_of(opening.packed) != opening.digest:
            raise ValueError("the task that arrived is not the one that was sent")
        key = (opening.digest, opening.suite)
        if key != self._key or self._report is None:
            self._close()
            folder = Path(tempfile.mkdtemp(prefix="task-", dir=self._folder))
            task = load_task(str(unpack(opening.packed, folder)))
            suite = task.suite(opening.suite)
            self._evaluator = open_evaluator(task, suite, workers=1, control=Files.of(opening.control))
            if isinstance(self._evaluator, RepositoryEvaluator):  # else every program would seem to fail
                self._evaluator.require_unchanged()
            self._report = describe(task, suite, level=self._evaluator.sandbox, worker=self._name)
            self._key = key
        return self._report.to_json()

    def _evaluate(self, text: str) -> str:
        job = read_as(ProgramToRun, json.loads(text))
        if (job.digest, job.suite) != self._key or self._evaluator is None or self._report is None:
            raise ValueError("this worker has another task")
        return record(self._evaluator, Files.of(job.files), host=self._report.host, worker=self._name).to_json()

    def _close(self) -> None:
        if self._evaluator is not None:
            self._evaluator.close()
        self._key, self._evaluator, self._report = ("", ""), None, None


DESK: Final = Desk()
"""The desk of this process."""

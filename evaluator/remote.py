"""Evaluations on other machines, judged at home.

A worker runs a program in its own sandbox and reports what came back. The head plays the report back to its own judge.
A report proves that an answer is valid; that the program gave the answer is the worker's word.
"""

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Final, Protocol, Self

from evaluator.errors import TaskError
from evaluator.evaluation import EvaluatedOn, Evaluation, Incumbent, InstanceResult, OrderRange
from evaluator.input_files import read_as
from evaluator.opening import OpenedEvaluator
from evaluator.program_files import Files
from evaluator.recording import MOST_RECORDED, Recording, RecordingMismatch, read_recording
from evaluator.sandbox.protocol import strict_json

SLOWEST: Final = 1.5
"""The multiple of the head's calibration above which a worker is refused: limits are not scaled."""


class WorkerLost(Exception):
    """Raised when a worker died, hung, was retired or sent what cannot be: never the program's fault. The message is a
    sentence that names the worker."""

    def __init__(self, host: str, worker: str, why: str) -> None:
        super().__init__(f"worker {worker} on {host}: {why}")
        self.host, self.worker, self.why = host, worker, why


class ConnectionLost(WorkerLost):
    """Raised when all workers were lost at once, with the way to them: that says nothing of any of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """What decides a verdict, the machine excepted: each as text. `packages` are those of the task's programs."""

    evolve: str
    evaluator: str
    python: str
    packages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """What a worker says of itself before its first evaluation; `calibration_cpu_s` are the CPU seconds of a fixed
    piece of work (`evolve.cluster.describing`)."""

    worker: str
    host: str
    versions: Versions
    level: str
    cores: int
    calibration_cpu_s: float

    def to_json(self) -> str:
        """The text that travels."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`. Raises ValueError for any other text."""
        return read_as(cls, _plain(text, 1 << 20))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What a worker says of one evaluation."""

    host: str
    worker: str
    recording: Recording

    def to_json(self) -> str:
        """The text that travels; without the recording where that is too long."""
        text = json.dumps(asdict(self))
        return text if len(text) <= MOST_RECORDED else json.dumps(asdict(replace(self, recording=Recording())))

    @classmethod
    def from_json(cls, text: str, *, host: str, worker: str) -> Self:
        """The inverse of `to_json`; host and worker are those that sent it, whatever it says. Raises
        RecordingMismatch."""
        try:
            document = _plain(text, MOST_RECORDED)
        except ValueError as cause:
            raise RecordingMismatch(f"its report is not readable ({cause})") from None
        if not isinstance(document, dict):
            raise RecordingMismatch("its report has another shape")
        return cls(host=host, worker=worker, recording=read_recording(document.get("recording")))


class WorkerActivity(StrEnum):
    """What a worker does."""

    NEW = "new"
    OPENING = "opening"  # it gets the task, and reports on itself
    IDLE = "idle"
    BUSY = "busy"
    LOST = "lost"
    REFUSED = "refused"  # it differs from the head
    EXPELLED = "expelled"  # its word was false


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """A worker as the head sees it. `why` says why it is lost, refused or expelled; `done` counts its evaluations;
    `report` is what it said of itself, None before that."""

    name: str
    host: str
    level: str
    state: WorkerActivity
    why: str = ""
    done: int = 0
    per_minute: float = 0.0
    report: WorkerReport | None = None


class Remote(Protocol):
    """Workers that evaluate programs for one task and suite. Called from several threads."""

    level: str
    """The lowest sandbox level of a worker that is accepted."""

    def run(self, program: Files, *, avoid: frozenset[str] = frozenset(), only: str | None = None) -> Reported:
        """Run a program on a worker: not one of `avoid`, or `only` that one (names of workers or hosts). Waits for a
        free one. Raises WorkerLost, EvaluationCancelled, and HarnessError where no worker is left or comes."""
        ...

    def workers(self) -> tuple[WorkerState, ...]:
        """Every worker so far, by name."""
        ...

    def expel(self, worker: str, why: str) -> None:
        """Give this worker nothing more to do."""
        ...

    def cancel(self) -> None:
        """End every `run` with EvaluationCancelled."""
        ...

    def close(self) -> None:
        """Cancel, and end whatever was started here."""
        ...


class RemoteEvaluator:
    """Evaluates on `remote` and judges at home, by the evaluator `home` of the same suite. Speed is measured at home:
    times of two machines do not compare."""

    def __init__(self, home: OpenedEvaluator, remote: Remote, *, timed: bool = False) -> None:
        """`timed`: the clock is the score."""
        self.home, self.remote = home, remote
        self.suite, self.version = home.suite, home.version
        self.ceiling, self.ceiling_is_proven = home.ceiling, home.ceiling_is_proven
        self.sandbox = remote.level
        self._timed = timed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def evaluate(self, program: Files, *, avoid: frozenset[str] = frozenset(), only: str | None = None) -> Evaluation:
        """The verdict on one program, `on` the worker that ran it. Raises WorkerLost, and what `Remote.run` and an
        evaluator raise. A worker whose report does not fit is expelled."""
        refused = self.home.refuse(program)
        if refused is not None:
            return refused
        if self._timed:
            return self.home.evaluate(program)
        reported = self.remote.run(program, avoid=avoid, only=only)
        if reported.recording == Recording():  # too long to travel, or the task is at fault
            return self.home.evaluate(program)
        try:
            evaluation = self.home.play(program, reported.recording)
        except RecordingMismatch as why:
            self.remote.expel(reported.worker, str(why))
            raise WorkerLost(reported.host, reported.worker, str(why)) from None
        place = EvaluatedOn(host=reported.host, worker=reported.worker)
        return replace(evaluation, sandbox=self.sandbox, on=place)

    def examine(self, program: Files, evaluation: Evaluation, best: Incumbent | None = None) -> Evaluation:
        """The evaluation at home after strict re-evaluation; it counts in place of `evaluation` from a worker."""
        own = evaluation if evaluation.on is None else self.home.evaluate(program)
        return self.home.examine(program, own, best)

    def evaluate_one(self, program: Files, place: int) -> InstanceResult:
        """See the evaluators: at home."""
        return self.home.evaluate_one(program, place)

    def in_new_orders(self, program: Files) -> OrderRange | None:
        """See SuiteEvaluator: at home."""
        return self.home.in_new_orders(program)

    def cancel(self) -> None:
        """See SuiteEvaluator."""
        self.remote.cancel()
        self.home.cancel()

    def close(self) -> None:
        """End the evaluator at home, and the remote side."""
        self.remote.close()
        self.home.close()


def record(home: OpenedEvaluator, program: Files, *, host: str, worker: str) -> Reported:
    """What a worker reports of a program: nothing where the task's own code is wrong, which the head finds out itself.
    Raises HarnessError and EvaluationCancelled."""
    try:
        recording = home.record(program)
    except TaskError:
        recording = Recording()
    return Reported(host=host, worker=worker, recording=recording)


def _plain(text: str, most: int) -> object:
    if len(text) > most:
        raise ValueError(f"it has {len(text)} characters; at most {most} are read")
    try:
        return strict_json(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None

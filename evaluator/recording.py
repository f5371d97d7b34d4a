"""Recordings of a program's processes: made where it ran, played back where it is judged.

    process = Recorder(candidate)                    records what a runner asks and what comes back
    process = PlayedBack(process.recording(), ...)   gives a runner the same replies, without a process

A runner cannot tell the two from a candidate, so that a program has the same evaluation wherever it ran. A recording
comes from a machine that need not be honest: one that does not fit what the runner asks raises RecordingMismatch.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from evaluator.evaluation import Outcome
from evaluator.input_files import read_as
from evaluator.pairs import Pair
from evaluator.sandbox.exchange import AnsweringProcess, Exchange
from evaluator.sandbox.protocol import Fault, ProtocolError, check_depth, strict_json
from evaluator.sandbox.supervisor import Candidate
from evaluator.sandbox.tree import TreeEnding
from evaluator.task import Limits

MOST_RECORDED: Final = 64 * 1024 * 1024
"""Characters of the longest recording that travels; a program with a longer one is evaluated at home."""
_LONGEST_TEXT: Final = 10_000
"""Characters of a sentence that says how an exchange failed."""
_MOST_MEASURED: Final = 1e9
"""No time in seconds and no memory in MB is larger."""
_encode: Final = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode


class RecordingMismatch(Exception):
    """Raised when a recording is not one of what the runner asks: its machine is at fault, not the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedReply:
    """The result of one request; `asked` is the digest of the request. `answer` is JSON, empty where it failed."""

    asked: str
    answer: str = ""
    failure: Outcome | None = None
    detail: str = ""
    fault: Fault | None = None
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The replies of loading, or of one instance. `failure` and `detail` are those of its end; times are in seconds.
    `alive`: the process goes on."""

    replies: tuple[RecordedReply, ...]
    failure: Outcome | None
    detail: str
    cpu_s: float
    wall_s: float
    alive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecording:
    """One process: loading first, then each instance that it was asked."""

    turns: tuple[Turn, ...]
    peak_memory_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRecording:
    """One run of an evaluator script: its ending without the result, and that in base64. `places` are folders of its
    machine, which no text for people names."""

    bare: TreeEnding
    result: str | None
    places: tuple[str, ...]

    @classmethod
    def of(cls, ending: TreeEnding, places: Sequence[str]) -> "ScriptRecording":
        """The recording of an ending."""
        result = None if ending.result is None else base64.b64encode(ending.result).decode("ascii")
        return cls(bare=replace(ending, result=None), result=result, places=tuple(places))

    def ending(self, *, result_bytes: int) -> TreeEnding:
        """The inverse of `of`. Raises RecordingMismatch for a result of more than `result_bytes`."""
        try:
            result = None if self.result is None else base64.b64decode(self.result, validate=True)
        except (ValueError, binascii.Error):
            raise RecordingMismatch("its result is not base64") from None
        if result is not None and len(result) > result_bytes:
            raise RecordingMismatch(f"its result has {len(result)} bytes; a script may write {result_bytes}")
        return replace(self.bare, result=result)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRecording:
    """A program of a repository: its tests and its pairs with unchanged code. `failure`, `detail` and `output` are
    those of the command that failed. `tests` is None where their number is not known, `own` the median measurement."""

    failure: Outcome | None = None
    detail: str = ""
    output: str = ""
    tests: int | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_memory_mb: float = 0.0
    pairs: tuple[Pair, ...] = ()
    own: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a machine records of one evaluation. One field is set, or none: the recording is longer than
    `MOST_RECORDED`, or the task's own code failed. `takes_worker_down` is the sentence of `evaluator.blame`."""

    process: ProcessRecording | None = None
    script: ScriptRecording | None = None
    paired: PairedRecording | None = None
    takes_worker_down: str | None = None


def read_recording(document: object) -> Recording:
    """The recording in a JSON value, which may be any. Raises RecordingMismatch."""
    try:
        recording = read_as(Recording, document)
    except ValueError as cause:
        raise RecordingMismatch(f"its report has another shape ({type(cause).__name__})") from None
    kinds = [recording.process, recording.script, recording.paired, recording.takes_worker_down]
    if sum(kind is not None for kind in kinds) > 1:
        raise RecordingMismatch("its report has several endings")
    _check_sizes(recording)
    return recording


def _check_sizes(recording: Recording) -> None:
    texts, amounts = [recording.takes_worker_down or ""], list[float]()
    if recording.script is not None:
        script = recording.script.bare
        texts += [script.detail, *recording.script.places]
        amounts += [script.cpu_s, script.wall_s, script.peak_memory_mb]
    if recording.paired is not None:
        texts += [recording.paired.detail, recording.paired.output]
        paired = recording.paired
        amounts += [paired.cpu_s, paired.wall_s, paired.peak_memory_mb, paired.tests or 0]
    if recording.process is not None:
        amounts.append(recording.process.peak_memory_mb)
        for turn in recording.process.turns:
            texts += [turn.detail, *(reply.detail for reply in turn.replies)]
            amounts += [turn.cpu_s, turn.wall_s, *(reply.size for reply in turn.replies)]
    if any(len(text) > _LONGEST_TEXT for text in texts):
        raise RecordingMismatch(f"its report has a sentence of more than {_LONGEST_TEXT} characters")
    if not all(0 <= amount <= _MOST_MEASURED for amount in amounts):
        raise RecordingMismatch("its report has a time, a size or an amount of memory that is impossible")


class Recorder(AnsweringProcess):
    """A candidate, with everything that is asked and answered written down."""

    judged_here: ClassVar[bool] = False

    def __init__(self, candidate: Candidate, limits: Limits) -> None:
        self._candidate = candidate
        self._limits = limits
        self._replies: list[RecordedReply] = []
        self._turns: list[Turn] = []

    @property
    def alive(self) -> bool:
        """See AnsweringProcess."""
        return self._candidate.alive

    def begin(self, per_item_s: float | None = None) -> None:
        """See AnsweringProcess."""
        self._replies = []
        self._candidate.begin(per_item_s)

    def put(self, fields: bytes) -> Exchange:
        """See AnsweringProcess."""
        exchange = self._candidate.put(fields)
        self._replies.append(
            RecordedReply(
                asked=_digest(fields),
                answer="" if exchange.failure is not None else _encode(exchange.answer),
                failure=exchange.failure,
                detail=exchange.detail,
                fault=exchange.fault,
                size=exchange.size,
            )
        )
        return exchange

    def finish(self, exchange: Exchange) -> None:
        """See AnsweringProcess."""
        self._candidate.finish(exchange)
        self._turns.append(
            Turn(
                replies=tuple(self._replies),
                failure=exchange.failure,
                detail=exchange.detail,
                cpu_s=exchange.cpu_s,
                wall_s=exchange.wall_s,
                alive=self._candidate.alive,
            )
        )

    def end(self) -> None:
        """See AnsweringProcess."""
        self._candidate.end()

    def recording(self) -> ProcessRecording:
        """The recording, complete once the candidate has ended."""
        return ProcessRecording(turns=tuple(self._turns), peak_memory_mb=self._candidate.peak_memory_mb)


@dataclass(slots=True)
class PlayedBack(AnsweringProcess):
    """A recording that answers as its process did. Raises RecordingMismatch where it cannot."""

    recording: ProcessRecording
    _limits: Limits
    _turn: int = field(default=-1, init=False)
    _used: int = field(default=0, init=False)
    _ended: bool = field(default=False, init=False)

    @property
    def alive(self) -> bool:
        """See AnsweringProcess."""
        return not self._ended

    def begin(self, per_item_s: float | None = None) -> None:
        """See AnsweringProcess."""
        self._turn, self._used = self._turn + 1, 0
        if self._turn >= len(self.recording.turns):
            raise RecordingMismatch("its report has fewer instances than the suite")

    def put(self, fields: bytes) -> Exchange:
        """See AnsweringProcess."""
        replies = self.recording.turns[self._turn].replies
        if self._used >= len(replies):
            raise RecordingMismatch("its report has fewer replies than there are questions")
        reply = replies[self._used]
        self._used += 1
        if reply.asked != _digest(fields):
            raise RecordingMismatch("its report answers other questions")
        if reply.failure is not None:
            return Exchange(reply.failure, reply.detail, fault=reply.fault, size=reply.size)
        return Exchange(None, reply.detail, answer=_parsed(reply.answer), size=reply.size)

    def finish(self, exchange: Exchange) -> None:
        """See AnsweringProcess."""
        turn = self.recording.turns[self._turn]
        if self._used < len(turn.replies):
            raise RecordingMismatch("its report has more replies than there are questions")
        exchange.cpu_s, exchange.wall_s = turn.cpu_s, turn.wall_s
        if exchange.failure is None and turn.failure is not None:  # a limit, at the end
            exchange.failure, exchange.detail, exchange.answer, exchange.fault = turn.failure, turn.detail, None, None
        elif exchange.failure is not turn.failure:
            raise RecordingMismatch("its report has two endings of one instance")
        self._ended = self._ended or not turn.alive

    def end(self) -> None:
        """See AnsweringProcess."""
        self._ended = True

    def check_end(self) -> None:
        """Raises RecordingMismatch where instances are left over."""
        if self._turn + 1 != len(self.recording.turns):
            raise RecordingMismatch("its report has more instances than the suite")


def _digest(fields: bytes) -> str:
    return hashlib.sha256(fields).hexdigest()[:16]


def _parsed(text: str) -> Any:
    try:
        answer = strict_json(text)
        check_depth({"answer": answer})
    except (ValueError, RecursionError, ProtocolError):
        raise RecordingMismatch("its report has an answer that is not plain JSON") from None
    return answer

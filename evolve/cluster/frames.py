"""Messages between the head and its broker: a 4-byte length, then JSON of one of these types.

The broker unpickles what others send, so the head trusts none of its messages: they have a size and a type, and name
calls and workers that the head knows.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import IO, Final, Literal, TypeVar

from evaluator.input_files import read_as
from evaluator.recording import MOST_RECORDED
from evaluator.sandbox.protocol import strict_json
from evaluator.untrusted import one_line

LONGEST_NAME: Final = 60
"""Characters of a worker's own name that is shown as it is."""
MOST_BYTES: Final = 2 * MOST_RECORDED + (1 << 20)
"""Bytes of the longest message: a recording whose every character needs a backslash."""
_HEADER: Final = 4


class FrameError(Exception):
    """Raised for a message that is too long, or none of these types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """To the broker: make the call number `call` of the function `function` on the worker at `address`."""

    kind: Literal["submit"] = "submit"
    call: int
    address: str
    function: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """To the broker: nobody waits for this call any more."""

    kind: Literal["cancel"] = "cancel"
    call: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenWorker:
    """A worker that the scheduler knows. `silent_s` are the seconds since its last heartbeat."""

    address: str
    name: str
    host: str
    silent_s: float


def short_name(name: str) -> str:
    """The name of a worker, which may be any text, in at most LONGEST_NAME + 1 printable characters. No two have one:
    a longer name ends with its digest, and is longer than those that have none."""
    line = one_line(name, LONGEST_NAME)
    if 0 < len(line) <= LONGEST_NAME:
        return line
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{line[: LONGEST_NAME - len(digest)]}-{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """From the broker, twice a second: all workers."""

    kind: Literal["workers"] = "workers"
    workers: tuple[SeenWorker, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    """From the broker: what a call returned. `ok`: its text is the result, else it says why there is none."""

    kind: Literal["ended"] = "ended"
    call: int
    ok: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOdd:
    """From the broker: a call returned what no call returns, for which its worker is to blame."""

    kind: Literal["odd"] = "odd"
    call: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLost:
    """From the broker: a call has no end, since its worker or the scheduler is gone."""

    kind: Literal["lost"] = "lost"
    call: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _ToBroker:
    message: Submit | Cancel


@dataclass(frozen=True, slots=True, kw_only=True)
class _FromBroker:
    message: Workers | CallEnded | CallOdd | CallLost


Direction = TypeVar("Direction", _ToBroker, _FromBroker)
ToBroker = Submit | Cancel
FromBroker = Workers | CallEnded | CallOdd | CallLost


def framed(message: ToBroker | FromBroker) -> bytes:
    """A message as bytes. Raises FrameError where it is too long."""
    payload = json.dumps(asdict(message)).encode("ascii")
    if len(payload) > MOST_BYTES:
        raise FrameError(f"a message of {len(payload)} bytes; at most {MOST_BYTES} are sent")
    return len(payload).to_bytes(_HEADER, "big") + payload


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next payload; None at the end of the stream. Raises FrameError."""
    header = stream.read(_HEADER)
    if len(header) < _HEADER:
        return None
    size = int.from_bytes(header, "big")
    if size > MOST_BYTES:
        raise FrameError(f"a message of {size} bytes; at most {MOST_BYTES} are read")
    payload = stream.read(size)
    return payload if len(payload) == size else None


def to_broker(payload: bytes) -> ToBroker:
    """The message of the head in a payload. Raises FrameError."""
    return _parsed(payload, _ToBroker).message


def from_broker(payload: bytes) -> FromBroker:
    """The message of the broker in a payload, which may be any bytes. Raises FrameError."""
    return _parsed(payload, _FromBroker).message


def _parsed(payload: bytes, kind: type[Direction]) -> Direction:
    try:
        return read_as(kind, {"message": strict_json(payload.decode("ascii"))})
    except (ValueError, RecursionError) as cause:
        raise FrameError(f"no message ({type(cause).__name__})") from None

"""Frames between the harness and a candidate: a 4-byte length, then UTF-8 JSON. Pure functions, used on both sides.

The harness trusts no reply: it must echo the nonce of its request, fit in `FRAME_CAP` and be plain JSON (no NaN or
infinity, no duplicate key, no number of more than 32 characters, no deep nesting). For any bytes `reply_of` returns a
`Response` or raises `ProtocolError`, and nothing else.

    request   {"nonce": n, "seed": s, "source": text}          load a program
              {"nonce": n, "seed": s, "instance": {...}}       run it on one instance
              {"nonce": n, "seed": s, "first": ...}            begin an instance that is asked item by item
              {"nonce": n, "next": ...}                        its next item
              {"nonce": n, "end": true}                        its end: answered by null
    reply     {"nonce": n, "answer": ...}                      its answer (null after loading)
              {"nonce": n, "error": {"kind", "type", "message", "lines": [[line, function], ...]}}

Before its first request, and before it reads anything untrusted, a candidate sends a reply with an empty nonce: the
layers that it has put on, or the error for which it ends.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

FRAME_CAP: Final = 64 * 1024
"""Bytes of the longest reply, where a task does not allow longer answers (`frame_cap`)."""
HEADER: Final = 4
DEPTH_LIMIT: Final = 32
NUMBER_LIMIT: Final = 32
MESSAGE_LIMIT: Final = 3000
"""Characters of the longest exception message that a candidate's side sends."""

KINDS: Final = frozenset({"load", "call", "adapter", "answer", "output", "memory"})
"""Where an error came from: loading, the call, preparing its arguments, encoding its result, size, memory."""


class ProtocolError(Exception):
    """Raised when the bytes are not a reply to the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An exception as the candidate's side describes it: untrusted text, the kind one of `KINDS`."""

    kind: str
    type: str
    message: str
    lines: tuple[tuple[int, str], ...] = ()

    @property
    def text(self) -> str:
        """Type and message: `ValueError: too many`."""
        return ": ".join(part for part in (self.type, self.message) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A reply: an answer (any plain JSON value), or a fault."""

    answer: Any = None
    fault: Fault | None = None


def framed(payload: bytes) -> bytes:
    """`payload` with its length in front."""
    return len(payload).to_bytes(HEADER, "big") + payload


def frame_cap(answer_bytes: int) -> int:
    """Bytes of the longest reply for answers up to `answer_bytes`; an error fits in any."""
    return max(answer_bytes, FRAME_CAP)


def payload_of(received: bytes | bytearray, cap: int = FRAME_CAP) -> bytes | None:
    """The payload of the one frame in `received`; None while it is incomplete. Raises ProtocolError when it is longer
    than `cap`, or when bytes follow it (before the next request)."""
    if len(received) < HEADER:
        return None
    length = int.from_bytes(received[:HEADER], "big")
    if length > cap:
        raise ProtocolError(f"the reply is over the limit of {cap} bytes")
    end = HEADER + length
    if len(received) < end:
        return None
    if len(received) > end:
        raise ProtocolError("bytes follow the reply")
    return bytes(received[HEADER:end])


def reply_of(payload: bytes, nonce: str) -> Response:
    """The reply in a frame's payload, which may be any bytes. Raises ProtocolError."""
    try:
        document = strict_json(payload.decode("utf-8"))
    except (ValueError, RecursionError) as cause:
        raise ProtocolError(f"the reply is not plain JSON ({type(cause).__name__})") from None
    check_depth(document)
    if not isinstance(document, dict) or document.get("nonce") != nonce:
        raise ProtocolError("the reply does not belong to the request")
    if document.keys() == {"nonce", "answer"}:
        return Response(answer=document["answer"])
    if document.keys() == {"nonce", "error"}:
        return Response(fault=_fault_of(document["error"]))
    raise ProtocolError("the reply holds neither an answer nor an error")


def strict_json(text: str) -> Any:
    """The JSON value in a text, without NaN, infinities, numbers beyond a float or `NUMBER_LIMIT`, and duplicate keys.
    Raises ValueError or RecursionError."""
    return _DECODER.decode(text)


def request(nonce: str, fields: bytes) -> bytes:
    """A request's frame; `fields` is the text of a non-empty JSON object, which may be used many times."""
    return framed(b'{"nonce":"' + nonce.encode("ascii") + b'",' + fields[1:])


def load_fields(seed: int, source: str) -> bytes:
    """The fields of the request to load a program: any text, lone surrogates too."""
    return json.dumps({"seed": seed, "source": source}).encode("ascii")


def instance_fields(seed: int, data: object) -> bytes:
    """The fields of the request to run the program on one instance."""
    return json.dumps({"seed": seed, "instance": data}, separators=(",", ":")).encode("ascii")


def first_fields(seed: int, asked: bytes) -> bytes:
    """The fields of the request that begins an instance asked item by item; `asked` is JSON text."""
    return b'{"seed":%d,"first":%b}' % (seed, asked)


def next_fields(asked: bytes) -> bytes:
    """The fields of the request for its next item; `asked` is JSON text."""
    return b'{"next":%b}' % asked


def answer(nonce: str, value: object) -> bytes:
    """The frame of an answer. Raises ValueError or TypeError when it is not JSON."""
    return framed(_ENCODER.encode({"nonce": nonce, "answer": value}).encode())


def error(nonce: str, kind: str, type_name: str, message: str, lines: Sequence[tuple[int, str]] = ()) -> bytes:
    """The frame of an error, its texts cut so that it always fits."""
    fault = {
        "kind": kind,
        "type": type_name[:200],
        "message": message[:MESSAGE_LIMIT],
        "lines": [[line, function[:100]] for line, function in lines[-20:]],
    }
    return framed(json.dumps({"nonce": nonce, "error": fault}).encode())


def _fault_of(value: object) -> Fault:
    if not isinstance(value, dict) or value.keys() != {"kind", "type", "message", "lines"}:
        raise ProtocolError("the error in the reply has another shape")
    kind, type_name, message, lines = value["kind"], value["type"], value["message"], value["lines"]
    if not (isinstance(kind, str) and kind in KINDS and isinstance(type_name, str) and isinstance(message, str)):
        raise ProtocolError("the error in the reply has another shape")
    if not isinstance(lines, list) or not all(_is_line(entry) for entry in lines):
        raise ProtocolError("the traceback in the reply has another shape")
    return Fault(kind=kind, type=type_name, message=message, lines=tuple((entry[0], entry[1]) for entry in lines))


def _is_line(entry: object) -> bool:
    return isinstance(entry, list) and len(entry) == 2 and type(entry[0]) is int and isinstance(entry[1], str)


def check_depth(document: object) -> None:
    """Raises ProtocolError where a JSON value is nested deeper than `DEPTH_LIMIT`."""
    level: list[Any] = [document]
    for _ in range(DEPTH_LIMIT):
        deeper: list[Any] = []
        for value in level:
            if type(value) is dict:
                deeper.extend(value.values())
            elif type(value) is list:
                deeper.extend(value)
        if not deeper:
            return
        level = deeper
    raise ProtocolError("the reply is nested too deeply")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("duplicate key")
    return document


def _integer(text: str) -> int:
    if len(text) > NUMBER_LIMIT:
        raise ValueError("number too long")
    return int(text)


def _number(text: str) -> float:
    if len(text) > NUMBER_LIMIT:
        raise ValueError("number too long")
    value = float(text)
    if value - value != 0:
        raise ValueError("not a finite number")
    return value


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


END_FIELDS: Final = b'{"end":true}'
"""The fields of the request that ends an instance asked item by item."""
_ENCODER: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_constant
)

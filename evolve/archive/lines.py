"""One line of the journal: an event as JSON, whose last key is a checksum over this line and all before it.

    {"seq":3,"t":1.5,"event":"asked", ... ,"sum":"9f86d081884c7d65"}

`sum` is the head of a SHA-256 over the checksum of the line before and the bytes of this line up to `sum`. So a line
that was edited, taken out, put in or moved does not fit, nor does the one behind it; only lines cut off at the end
leave no trace, as a kill does. It is no signature: anyone who can write the file can compute the checksums again.

What an evaluation says of each instance is bulky and read rarely. On disk it is compressed, under `packed` in the
event's `evaluation` (2.3 KB a line instead of 5.6 KB where 30 instances fail). Readers of events see neither `packed`
nor `sum`: `unseal` returns what `seal` was given.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

from evaluator.untrusted import cut, one_line

MAX_NUMBER: Final = 10**9
"""The largest generation, attempt, position or number of programs."""
MAX_ITEMS: Final = 100_000
"""Entries of one list: instances, parents, corrections."""
MAX_TEXT: Final = 64 * 1024
"""Characters that are kept of a text that is cut; a note at its end says so."""
MAX_CUT: Final = MAX_TEXT + 100
"""Characters of a text in an event: a text that was cut, with its note, is not cut again."""
MAX_LINE: Final = 16 * 1024 * 1024
"""Bytes of a line, and of the data packed in one."""
SUM: Final = 16
"""Characters of a checksum."""
BEGINNING: Final = "0" * SUM
"""The checksum before the first line."""
_MARK: Final = b',"sum":"'
_END: Final = b'"}'
TAIL: Final = len(_MARK) + SUM + len(_END)
"""Bytes at the end of a line that its checksum does not cover, without the line end."""
_PACKED: Final = ("detail", "costs", "failures", "feedback", "measured")


def seal(event: Mapping[str, Any], previous: str) -> tuple[bytes, dict[str, Any], str]:
    """The line of an event behind a line with the checksum `previous`; the event as a reader will find it, long texts
    cut; and the line's checksum. Raises TypeError or ValueError for what is no JSON."""
    short = bounded(event)
    body = _dumps(_packed(short))[:-1]
    checksum = _checksum(body, previous)
    return body + _MARK + checksum.encode("ascii") + _END + b"\n", json.loads(json.dumps(short)), checksum


def unseal(line: bytes, previous: str) -> tuple[dict[str, Any], str]:
    """The event of a line (with its line end or without it) and its checksum. Raises ValueError, which says why, unless
    the line is whole, and stands behind one with the checksum `previous`."""
    line = line.removesuffix(b"\n")
    body, checksum = line[:-TAIL], line[-len(_END) - SUM : -len(_END)].decode("ascii", "replace")
    if line[-TAIL:] != _MARK + checksum.encode("utf-8") + _END:
        _event_in(line)
        raise ValueError("it has no checksum at its end")
    if _checksum(body, previous) != checksum:
        raise ValueError("its checksum does not fit: it was changed, or lines before it were taken out or moved")
    event = _event_in(body + b"}")
    if not isinstance(event.get("event"), str):
        raise ValueError("it is not an event")  # noqa: TRY004 - of the line, not of an argument
    return _unpacked(event), checksum


def format_of(line: bytes) -> object:
    """The format that the first line of a journal names, whatever its format; None if it names none."""
    try:
        event = _event_in(line)
    except ValueError:
        return None
    return event.get("format") if event.get("event") == "created" else None


def begins_import(line: bytes) -> bool:
    """Whether the first line of a journal is that of a run made of a result folder."""
    try:
        identity = _event_in(line).get("identity")
    except ValueError:
        return False
    return isinstance(identity, dict) and "imported" in identity


def _event_in(line: bytes) -> dict[str, Any]:
    """The JSON object in a line. Raises ValueError, which says what is wrong with it."""
    try:
        event = _loads(line)
    except (ValueError, RecursionError) as cause:
        raise ValueError(f"it is not JSON ({one_line(str(cause), 120)})") from None
    if not isinstance(event, dict):
        raise ValueError("it is not an event")  # noqa: TRY004 - of the line, not of an argument
    return event


def _checksum(body: bytes, previous: str) -> str:
    return hashlib.sha256(previous.encode("ascii") + body).hexdigest()[:SUM]


def _dumps(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _loads(text: bytes) -> Any:
    """A JSON value. Raises ValueError (also for NaN and infinities, which are no JSON) and RecursionError."""
    return _DECODER.decode(text.decode("utf-8"))


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)


def _packed(event: dict[str, Any]) -> dict[str, Any]:
    evaluation = event.get("evaluation")
    if not isinstance(evaluation, dict):
        return event
    bulk = _dumps({key: evaluation[key] for key in _PACKED if key in evaluation})
    packed = base64.b64encode(zlib.compress(bulk, 6))
    if len(packed) >= len(bulk) or len(bulk) > MAX_LINE:
        return event
    kept = {key: value for key, value in evaluation.items() if key not in _PACKED}
    return {**event, "evaluation": {**kept, "packed": packed.decode("ascii")}}


def _unpacked(event: dict[str, Any]) -> dict[str, Any]:
    evaluation = event.get("evaluation")
    if not isinstance(evaluation, dict) or "packed" not in evaluation:
        return event
    try:
        inflating = zlib.decompressobj()
        bulk = inflating.decompress(base64.b64decode(evaluation.pop("packed"), validate=True), MAX_LINE)
        more = _loads(bulk) if inflating.eof else None
    except (ValueError, TypeError, zlib.error, RecursionError) as cause:
        raise ValueError(f"its evaluation cannot be unpacked ({cause})") from None
    if not isinstance(more, dict) or not more.keys() <= set(_PACKED):
        raise ValueError("its evaluation cannot be unpacked")
    evaluation.update(more)
    return event


def bounded(value: Any) -> Any:
    """A JSON value with every long text in it cut to MAX_TEXT characters and a note."""
    if value is None or isinstance(value, int | float):  # most values, and the check for `Mapping` is slow
        return value
    if isinstance(value, str):
        return value if len(value) <= MAX_CUT else cut(value, MAX_TEXT)
    if isinstance(value, Mapping):
        return {key: bounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [bounded(item) for item in value]
    return value

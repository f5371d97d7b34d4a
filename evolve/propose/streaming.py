"""Answers that come piece by piece (server-sent events), put together to the document that they would have been. Pure.

A stream that was cut off is none: its text would be a short answer that nobody gave.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

_PREFIXES = (b"data:", b"event:", b"id:", b"retry:", b":")
_RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed")
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


class BrokenStream(ValueError):
    """Raised for a stream without its end, or with what is no JSON in it."""


def is_stream(body: bytes) -> bool:
    """Whether a body is a stream of events. Looked at are its first bytes: not every server says so in its header."""
    return body.lstrip()[:6].startswith(_PREFIXES)


def assembled(body: bytes) -> Mapping[str, Any]:
    """The document that a whole stream stands for: a chat completion, a response, or an error.

    Raises BrokenStream when it was cut off, or cannot be read.
    """
    ended, chunks = False, list[Mapping[str, Any]]()
    for data in _events(body):
        if data.strip() == "[DONE]":
            ended = True
            break
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            raise BrokenStream("an event of the stream is not valid JSON") from None
        if not isinstance(chunk, dict):
            raise BrokenStream(f"an event of the stream is a JSON {type(chunk).__name__}, not an object")
        if chunk.get("error") or chunk.get("type") == "error":
            return {"error": chunk.get("error") or chunk}
        if chunk.get("type") in _RESPONSE_ENDS and isinstance(chunk.get("response"), dict):
            return dict(chunk["response"])
        chunks.append(chunk)
    return _completion(chunks, ended=ended)


def _events(body: bytes) -> Iterator[str]:
    """The data of each event, its lines joined."""
    lines: list[str] = []
    for line in [*body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line and lines:
            yield "\n".join(lines)
            lines = []


def _completion(chunks: list[Mapping[str, Any]], *, ended: bool) -> dict[str, Any]:
    message: dict[str, list[str]] = {}
    finish_reason: object = None
    usage: object = None
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            finish_reason = choice.get("finish_reason") or finish_reason
            delta = choice.get("delta") or choice.get("message")
            for name, text in delta.items() if isinstance(delta, dict) else ():
                message.setdefault(name, []).extend(_texts(text) if name in _TEXTS else ())
    if not ended and finish_reason is None:
        raise BrokenStream(f"the stream broke off after {len(chunks)} events, before the end of the answer")
    joined = {name: "".join(parts) for name, parts in message.items()}
    return {"choices": [{"message": joined, "finish_reason": finish_reason}], "usage": usage}


def _texts(value: object) -> list[str]:
    """The text of a piece: a string, or a list of parts as Mistral sends them."""
    if isinstance(value, str):
        return [value]
    parts = value if isinstance(value, list) else []
    found = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in found if isinstance(text, str)]

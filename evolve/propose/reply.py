"""Reading an answer: from the bytes of an HTTP answer to what the model said. Pure.

Servers differ: whole or as a stream, a chat completion or a response, no `usage`, `content` null or a list of parts,
reasoning beside or inside the content, an error with status 200. Whatever of that is readable is read; what is not has
a message that says what was missing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evaluator.untrusted import one_line
from evolve.completion import ANSWER_LIMIT, FinishReason
from evolve.propose.adapting import Said, said_in
from evolve.propose.responses import as_chat, is_response

_PREFIXES = (b"data:", b"event:", b"id:", b"retry:", b":")
_RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed")
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


class BrokenStream(ValueError):
    """Raised for a stream with what is no JSON in it, or without its end: its text would be an answer nobody gave."""


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


_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "refusal": "refusal",
}
_MOST_TOKENS = 1_000_000_000
_OPEN_REASONING = re.compile(r"\s*<think(?:ing)?>")
_REASONING_END = re.compile(r"</think(?:ing)?>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said, and what it thought before. Token counts are None where the server stated none."""

    text: str
    reasoning: str
    finish_reason: FinishReason
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """Why an HTTP answer is none of a model, in one printable line, and the error that it states, if it does."""

    message: str
    said: Said | None = None


def read_reply(body: bytes) -> Reply | Unreadable:
    """The reply in the body of a 200 answer."""
    document = _document(body)
    if isinstance(document, Unreadable):
        return document
    if is_response(document):
        document = as_chat(document)
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        said = said_in(document) if "error" in document or "detail" in document else None
        return Unreadable(message=f"the answer has no choices{f' ({said.line})' if said else ''}", said=said)
    message = choices[0].get("message")
    if not isinstance(message, dict):
        return Unreadable(message="the first choice of the answer has no message")
    usage = document.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    text, reason = _said(message, choices[0].get("finish_reason"))
    return Reply(
        text=text,
        reasoning=_thought(message)[:ANSWER_LIMIT],
        finish_reason=reason,
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        tokens_cached=(_count(details.get("cached_tokens")) or 0) if isinstance(details, dict) else 0,
    )


def listed_models(body: bytes) -> list[Mapping[str, Any]]:
    """The entries of an endpoint's list of models; none where the body is no such list."""
    document = _document(body)
    entries = None if isinstance(document, Unreadable) else document.get("data")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _document(body: bytes) -> Mapping[str, Any] | Unreadable:
    """The JSON object that an answer is, put together if it is a stream."""
    if is_stream(body):
        try:
            return assembled(body)
        except BrokenStream as broken:
            return Unreadable(message=str(broken))
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as cause:
        start = one_line(body[:80].decode("utf-8", "replace"))
        return Unreadable(message=f"the answer is not valid JSON ({one_line(str(cause), 80)}); it begins: {start!r}")
    if isinstance(document, list) and document and isinstance(document[0], dict) and "error" in document[0]:
        document = document[0]  # as Google's servers put it
    if not isinstance(document, dict):
        return Unreadable(message=f"the answer is a JSON {type(document).__name__}, not an object")
    return document


def _said(message: Mapping[str, Any], stated: object) -> tuple[str, FinishReason]:
    """The visible text and how it ended."""
    text, _ = _apart(_storable(_plain(message.get("content"))))
    reason: FinishReason = _FINISH.get(stated.lower(), "unknown") if isinstance(stated, str) else "unknown"
    if len(text) > ANSWER_LIMIT:
        return text[:ANSWER_LIMIT], "oversize"
    if not text.strip():
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal.strip():
            return _storable(refusal)[:ANSWER_LIMIT], "refusal"
        if reason in ("stop", "unknown"):
            return "", "empty"
    return text, reason


def _thought(message: Mapping[str, Any]) -> str:
    """The reasoning beside the content, by either of its names, and what of it stands in the content."""
    content = message.get("content")
    beside = message.get("reasoning_content") or message.get("reasoning")
    parts = [_plain(beside)]
    if isinstance(content, list):
        parts += [_plain(part.get("thinking")) for part in content if isinstance(part, dict)]
    parts.append(_apart(_storable(_plain(content)))[1])
    return "\n".join(part for part in map(_storable, parts) if part.strip())


def _plain(content: object) -> str:
    """The text of `content`, which is a string, null, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _storable(text: str) -> str:
    """`text` without lone surrogates, which JSON can express and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _apart(text: str) -> tuple[str, str]:
    """The answer in `text`, and the reasoning before it that some servers leave in the content, between think tags.

    Reasoning drafts patches that the model then drops; only what follows it is the answer. The opening tag may be
    part of the server's chat template and so be absent. Reasoning that does not end leaves no answer.
    """
    opened = _OPEN_REASONING.match(text)
    begin = opened.end() if opened else 0
    ends = list(_REASONING_END.finditer(text))
    if ends:
        return text[ends[-1].end() :].lstrip("\r\n"), text[begin : ends[-1].start()].strip("\r\n")
    return ("", text[begin:].strip("\r\n")) if opened else (text, "")


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_TOKENS:
        return None
    return value

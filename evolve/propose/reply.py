"""Reading an answer: from the bytes of an HTTP answer to what the model said. Pure.

Servers differ: whole or as a stream, a chat completion or a response, no `usage`, `content` null or a list of parts,
reasoning beside or inside the content, an error with status 200. Whatever of that is readable is read; what is not has
a message that says what was missing. The SDK reads no body: its types check nothing, and its reader of streams fails
where an event has no data (keep-alives), and loses an event that no blank line follows.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluator.untrusted import one_line
from evolve.completion import ANSWER_LIMIT, FinishReason
from evolve.propose.adapting import Said, said_in

_PREFIXES = (b"data:", b"event:", b"id:", b"retry:", b":")
_RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed")
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
_FINISH: Mapping[str, FinishReason] = {
    **dict.fromkeys(("stop", "eos", "end_turn", "stop_sequence", "completed"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), "length"),
    "content_filter": "content_filter",
    "refusal": "refusal",
}
_MOST_TOKENS = 1_000_000_000
_OPEN_REASONING = re.compile(r"\s*<think(?:ing)?>")
_REASONING_END = re.compile(r"</think(?:ing)?>")


class BrokenStream(ValueError):
    """Raised for a stream with what is no JSON in it, or without its end: its text would be an answer nobody gave."""


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
    response = document.get("object") == "response" or ("output" in document and "choices" not in document)
    message = _at(document, "choices", 0, "message")
    if response and not document.get("error"):
        message = _of_response(document)
    if not isinstance(message, dict):
        said = said_in(document) if "error" in document or "detail" in document else None
        return Unreadable(message=f"the answer has no choices{f' ({said.line})' if said else ''}", said=said)
    usage, (sent, made) = document.get("usage"), ("input", "output") if response else ("prompt", "completion")
    ended = _at(document, "choices", 0, "finish_reason")
    if response:
        ended = _at(document, "incomplete_details", "reason") or document.get("status")
    content, draft = _apart(_text(message.get("content")))
    beside = message.get("reasoning_content") or message.get("reasoning")
    thoughts = (_text(beside), _text(_list(message.get("content")), "thinking"), draft)
    text, reason = _said(content, _text(message.get("refusal")), ended)
    return Reply(
        text=text,
        reasoning="\n".join(part for part in thoughts if part.strip())[:ANSWER_LIMIT],
        finish_reason=reason,
        tokens_in=_count(_at(usage, f"{sent}_tokens")),
        tokens_out=_count(_at(usage, f"{made}_tokens")),
        tokens_cached=_count(_at(usage, f"{sent}_tokens_details", "cached_tokens")) or 0,
    )


def listed_models(body: bytes) -> list[Mapping[str, Any]]:
    """The entries of an endpoint's list of models; none where the body is no such list."""
    return [entry for entry in _list(_at(_document(body), "data")) if isinstance(entry, dict)]


def is_stream(body: bytes) -> bool:
    """Whether a body is a stream of events. Looked at are its first bytes: not every server says so in its header."""
    return body.lstrip()[:6].startswith(_PREFIXES)


def assembled(body: bytes) -> Mapping[str, Any]:
    """The document that a whole stream stands for: a chat completion, a response, or an error.

    Raises BrokenStream when it was cut off, or cannot be read.
    """
    texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
    finish_reason, usage, ended, number = None, None, False, 0
    lines = body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    for event in lines.split("\n\n"):
        data = "\n".join(line[5:] for line in event.split("\n") if line.startswith("data:")).strip()
        if not data:
            continue
        if ended := data == "[DONE]":
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
        usage, number = chunk.get("usage") or usage, number + 1
        for choice in _list(chunk.get("choices")):
            if not _at(choice, "index"):
                finish_reason = _at(choice, "finish_reason") or finish_reason
                delta = _at(choice, "delta") or _at(choice, "message")
                for name in _TEXTS:
                    texts[name].append(_text(_at(delta, name)))
    if not ended and finish_reason is None:
        raise BrokenStream(f"the stream broke off after {number} events, before the end of the answer")
    message = {name: "".join(parts) for name, parts in texts.items()}
    return {"choices": [{"message": message, "finish_reason": finish_reason}], "usage": usage}


def _document(body: bytes) -> Mapping[str, Any] | Unreadable:
    """The JSON object that an answer is, put together if it is a stream."""
    try:
        document: Any = assembled(body) if is_stream(body) else json.loads(body)
    except BrokenStream as broken:
        return Unreadable(message=str(broken))
    except (ValueError, RecursionError) as cause:
        start = one_line(body[:80].decode("utf-8", "replace"))
        return Unreadable(message=f"the answer is not valid JSON ({one_line(str(cause), 80)}); it begins: {start!r}")
    if _at(document, 0, "error"):
        document = document[0]  # as Google's servers put it
    if not isinstance(document, dict):
        return Unreadable(message=f"the answer is a JSON {type(document).__name__}, not an object")
    return document


def _of_response(document: Mapping[str, Any]) -> dict[str, Any]:
    """The message of an answer of the Responses API, as that of a chat completion."""
    found: dict[Any, list[object]] = {"message": [], "reasoning": []}
    for item in _list(document.get("output")):
        if (kind := _at(item, "type")) in ("message", "reasoning"):
            found[kind] += [*_list(_at(item, "summary")), *_list(_at(item, "content"))]
    said = found["message"]
    return {"content": said, "refusal": _text(said, "refusal"), "reasoning": found["reasoning"]}


def _said(text: str, refusal: str, stated: object) -> tuple[str, FinishReason]:
    reason: FinishReason = _FINISH.get(stated.lower(), "unknown") if isinstance(stated, str) else "unknown"
    if len(text) > ANSWER_LIMIT:
        return text[:ANSWER_LIMIT], "oversize"
    if not text.strip():
        if refusal.strip():
            return refusal[:ANSWER_LIMIT], "refusal"
        if reason in ("stop", "unknown"):
            return "", "empty"
    return text, reason


def _at(document: Any, *path: str | int) -> Any:
    """What stands at a place of a document; None where it has no such place."""
    for key in path:
        try:
            document = document[key]
        except (TypeError, KeyError, IndexError):
            return None
    return document


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(content: object, key: str = "text") -> str:
    """The text of `content`, which is a string, or a list of parts of which some are text; without lone surrogates,
    which JSON can express and UTF-8 cannot."""
    texts = [content] if isinstance(content, str) else [_at(part, key) for part in _list(content)]
    return "".join(text for text in texts if isinstance(text, str)).encode("utf-8", "replace").decode("utf-8")


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
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None

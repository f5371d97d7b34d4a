"""Reading an answer: from the SDK's types to what the model said.

The SDK decodes a body, whole or streamed, into its types, and checks nothing of what stands in them. Servers differ: no
`usage`, `content` null or a list of parts, reasoning in a field of its own or inside the content, an error with status
200. Whatever of that is readable is read; what is not has a message that says what was missing.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluator.untrusted import one_line
from evolve.core.completion import ANSWER_LIMIT, FinishReason
from evolve.propose.adapting import parse_error_body

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    from openai.types.responses import Response

_PREFIXES = (b"data:", b"event:", b"id:", b"retry:", b":")
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
_RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed")
_BROKE_OFF = "the stream broke off before the end of the answer"
_FINISH: Mapping[str, FinishReason] = {
    **dict.fromkeys(("stop", "eos", "end_turn", "stop_sequence", "completed"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), "length"),
    "content_filter": "content_filter",
    "refusal": "refusal",
}
_MOST_TOKENS = 1_000_000_000
_MOST_PARTS = 250_000
"""Lists and objects of an answer, brackets of its text included: the SDK takes some 25 microseconds for each."""
_OPEN_REASONING = re.compile(r"\s*<think(?:ing)?>")
_REASONING_END = re.compile(r"</think(?:ing)?>")


class Unreadable(Exception):
    """Raised for an HTTP answer that is none of a model: why, in one printable line, and what its `document` says."""

    def __init__(self, message: str, document: object = None) -> None:
        self.error_body = parse_error_body(document)
        super().__init__(f"{message} ({self.error_body.line})" if self.error_body.text else message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said, and what it thought before. Token counts are None where the server stated none."""

    text: str
    reasoning: str
    finish_reason: FinishReason
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int = 0


def read_reply(answer: Any, api: str, client: "OpenAI") -> Reply:
    """The reply in a 200 answer of an API, `chat` or `responses`: a response of the SDK's transport, read whole. Raises
    Unreadable."""
    body: bytes = answer.content
    is_stream = body.lstrip()[:6].startswith(_PREFIXES)  # not every server says so in its header
    if body.count(b"[") + body.count(b"{") > _MOST_PARTS:
        raise Unreadable(f"the answer has more than {_MOST_PARTS} parts")
    try:
        parts = _events(answer, api, client) if is_stream else [_whole(body, api)]
        if api == "responses":
            return _of_response(parts)
        return _of_chat(parts, has_end=not is_stream or body.rstrip().endswith(b"[DONE]"))
    except (ValueError, RecursionError) as cause:
        start = one_line(body[:80].decode("utf-8", "replace"))
        why = f"the answer is not valid JSON ({one_line(str(cause), 80)}); it begins: {start!r}"
        raise Unreadable(why) from None
    except (AttributeError, TypeError):  # the SDK fills its types with whatever the server sends
        raise Unreadable("the answer does not have the form that the API prescribes") from None


def listed_models(body: bytes) -> list[Mapping[str, Any]]:
    """The entries of an endpoint's list of models; none where the body is no such list."""
    try:
        return [entry for entry in json.loads(body)["data"] if isinstance(entry, dict)]
    except (ValueError, RecursionError, TypeError, KeyError):
        return []


def _whole(body: bytes, api: str) -> Any:
    """The document that a body is, as the SDK has it."""
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    document = json.loads(body)
    if not isinstance(document, dict):
        raise Unreadable(f"the answer is a JSON {type(document).__name__}, not an object", document)
    kind: type[Response] | type[ChatCompletion] = Response if api == "responses" else ChatCompletion
    return kind.construct(**document)


def _events(answer: Any, api: str, client: "OpenAI") -> Iterable[Any]:
    """The events of a stream, as the SDK has them."""
    from openai import APIError, Stream
    from openai.types.chat import ChatCompletionChunk
    from openai.types.responses import ResponseStreamEvent

    class Events(Stream[Any]):
        def _iter_events(self) -> Any:
            """Without the events that have no data, such as keep-alives: the SDK takes all for JSON."""
            return (event for event in super()._iter_events() if event.data.strip())

    ended = answer.content + b"\n\n"  # else the SDK misses a last event that no empty line follows
    whole = type(answer)(answer.status_code, content=ended, request=answer.request)
    cast_to: Any = ResponseStreamEvent if api == "responses" else ChatCompletionChunk
    try:
        yield from Events(cast_to=cast_to, response=whole, client=client)
    except APIError as stated:
        raise Unreadable("the stream holds an error", {"error": stated.body}) from None


def _of_chat(parts: "Iterable[ChatCompletion | ChatCompletionChunk]", *, has_end: bool) -> Reply:
    """What a completion says, or the pieces of a stream, which ends with a reason if it does not say so (`has_end`)."""
    texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
    ended, usage, answered, part = None, None, False, None
    for part in parts:
        usage = part.usage or usage
        for choice in part.choices or ():
            if not choice.index:  # of several answers the first
                answered, ended = True, choice.finish_reason or ended
                message = choice.delta if hasattr(choice, "delta") else choice.message
                for name, pieces in texts.items():
                    pieces.append(_text(getattr(message, name, None)))
    if ended is None and not has_end:
        raise Unreadable(_BROKE_OFF)
    if not answered:
        raise Unreadable("the answer has no choices", None if part is None else part.to_dict(warnings=False))
    joined = {name: "".join(pieces) for name, pieces in texts.items()}
    thoughts = joined["reasoning_content"] or joined["reasoning"]
    return _reply(joined["content"], [thoughts], joined["refusal"], ended, _counts(usage, "prompt", "completion"))


def _of_response(parts: Iterable[Any]) -> Reply:
    """What a response says: a whole one, or the one at the end of its stream."""
    for part in parts:
        kind = getattr(part, "type", _RESPONSE_ENDS[0])  # a whole one has no type
        if kind == "error":
            raise Unreadable("the stream holds an error", {"error": part.to_dict(warnings=False)})
        if kind in _RESPONSE_ENDS:
            return _of_whole_response(getattr(part, "response", part))
    raise Unreadable(_BROKE_OFF)


def _of_whole_response(response: "Response") -> Reply:
    if response.error or not isinstance(response.output, list):
        raise Unreadable("the answer has no output", response.to_dict(warnings=False))
    parts = [part for item in response.output if item.type == "message" for part in item.content or ()]
    refusal = "".join(_text(part.refusal) for part in parts if part.type == "refusal")
    items = [item for item in response.output if item.type == "reasoning"]
    thoughts = [_text(part.text) for item in items for part in item.summary or item.content or ()]
    details = response.incomplete_details
    ended = (details and details.reason) or response.status
    text = "".join(_text(part.text) for part in parts if part.type == "output_text")
    return _reply(text, thoughts, refusal, ended, _counts(response.usage, "input", "output"))


def _reply(content: str, thoughts: list[str], refusal: str, ended: object, counts: tuple[int | None, ...]) -> Reply:
    answer, draft = _apart(content)
    text, reason = _said(answer, refusal, ended)
    return Reply(
        text=text,
        reasoning="\n".join(part for part in [*thoughts, draft] if part.strip())[:ANSWER_LIMIT],
        finish_reason=reason,
        tokens_in=counts[0],
        tokens_out=counts[1],
        tokens_cached=counts[2] or 0,
    )


def _counts(usage: object, sent: str, made: str) -> tuple[int | None, ...]:
    """The tokens sent, made, and cached of those sent. Odd counts fail no answer that is paid for."""
    cached = getattr(getattr(usage, f"{sent}_tokens_details", None), "cached_tokens", None)
    stated = (getattr(usage, f"{sent}_tokens", None), getattr(usage, f"{made}_tokens", None), cached)
    return tuple(value if type(value) is int and 0 <= value <= _MOST_TOKENS else None for value in stated)


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


def _text(content: object) -> str:
    """The text of `content`, which is a string, or a list of parts of which some are text; without lone surrogates,
    which JSON can express and UTF-8 cannot."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
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

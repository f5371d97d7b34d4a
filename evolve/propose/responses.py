"""The Responses API, as far as one question and one answer go: what is sent, and its answer as a chat completion. Pure.

Some models have nothing else. What they think comes as items of their own, where the server tells it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evolve.propose.adapting import LIMITS, Parameters

_ENDED: Mapping[object, str] = {"completed": "stop", "max_output_tokens": "length", "content_filter": "content_filter"}


def responses_fields(sent: Parameters) -> dict[str, Any]:
    """The fields of a request beside model and input, from the parameters under their names in chat completions."""
    fields = {name: value for name, value in sent.items() if name not in ("api", "role", "stream", "stream_options")}
    for limit in LIMITS:
        if limit in fields:
            fields["max_output_tokens"] = fields.pop(limit)
    if "reasoning_effort" in fields:
        own = fields.get("reasoning")
        effort = {"effort": fields.pop("reasoning_effort")}
        fields["reasoning"] = dict(own) | effort if isinstance(own, Mapping) else effort
    if sent["stream"]:
        fields["stream"] = True
    return fields


def is_response(document: Mapping[str, Any]) -> bool:
    """Whether a document is an answer of the Responses API."""
    return document.get("object") == "response" or ("output" in document and "choices" not in document)


def as_chat(document: Mapping[str, Any]) -> dict[str, Any]:
    """An answer of the Responses API as the chat completion that it would have been; a failed one as its error."""
    if document.get("error"):
        return {"error": document["error"]}
    output = document.get("output")
    items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    said = [part for item in items if item.get("type") == "message" for part in _parts(item.get("content"))]
    thought = [
        part
        for item in items
        if item.get("type") == "reasoning"
        for part in [*_parts(item.get("summary")), *_parts(item.get("content"))]
    ]
    details = document.get("incomplete_details")
    ended = details.get("reason") if isinstance(details, dict) else document.get("status")
    usage = document.get("usage")
    usage = dict(usage) if isinstance(usage, dict) else {}
    usage |= {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}
    message = {
        "content": _joined(said, "text"),
        "refusal": _joined(said, "refusal"),
        "reasoning_content": _joined(thought, "text"),
    }
    return {
        "choices": [{"message": message, "finish_reason": _ENDED.get(ended) if isinstance(ended, str) else None}],
        "usage": usage,
    }


def _parts(content: object) -> list[dict[str, Any]]:
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _joined(parts: Sequence[Mapping[str, Any]], key: str) -> str:
    return "".join(text for part in parts if isinstance(text := part.get(key), str))

"""A dozen endpoints, each with what it refuses or bends, in the words of real ones."""

import itertools
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.openai_server import Behaviour, OpenAIServer, Received, answer, raw, response, status, streamed

AZURE_KEY = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"

Judge = Callable[[Received], Behaviour | None]
"""The refusal of a request, or None."""


def _step(number: int) -> str:
    return (
        f"<NAME> step_{number} </NAME>\n<DESCRIPTION> nearer </DESCRIPTION>\n<DIFF>\n<<<<<<< SEARCH\n# next\n=======\n"
        f"OFFSET -= {0.5 + number / 1000}\n# next\n>>>>>>> REPLACE\n</DIFF>\n"
    )


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """`settings` are a model's; `adapted` what has to be found, in any order; `answers` makes an answer of a text."""

    name: str
    judge: Judge = lambda received: None
    answers: Callable[[str, Received], Behaviour] = lambda text, received: answer(text)
    settings: Mapping[str, Any] = field(default_factory=dict)
    adapted: frozenset[str] = frozenset()
    prefix: str = "/v1"
    thought: str = ""  # what is on record as the model's reasoning
    usage: bool = True


@dataclass(kw_only=True)
class Playing:
    """A fake that listens, and what it counted: how often it said each refusal."""

    server: OpenAIServer
    url: str
    refusals: Counter[str]


@contextmanager
def played(endpoint: Endpoint) -> Iterator[Playing]:
    """The endpoint as a real server."""
    numbers, refusals, lock = itertools.count(1), Counter[str](), threading.Lock()

    def one(received: Received) -> Behaviour:
        refusal = endpoint.judge(received)
        with lock:
            if refusal is not None:
                refusals[refusal.body.decode()] += 1
                return refusal
            return endpoint.answers(_step(next(numbers)), received)

    with OpenAIServer(endpoint=one) as server:
        yield Playing(server=server, url=server.url.removesuffix("/v1") + endpoint.prefix, refusals=refusals)


def _no_default(received: Received) -> Behaviour | None:
    sent = received.json
    if "max_tokens" in sent:
        return status(
            400,
            error="Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
            "instead.",
            type="invalid_request_error",
            param="max_tokens",
            code="unsupported_parameter",
        )
    if sent.get("temperature", 1) != 1:
        return status(
            400,
            error=f"Unsupported value: 'temperature' does not support {sent['temperature']} with this model. Only the "
            "default (1) value is supported.",
            type="invalid_request_error",
            param="temperature",
            code="unsupported_value",
        )
    return None


def _azure(received: Received) -> Behaviour | None:
    if received.path != "/openai/deployments/gpt/chat/completions" or "api-version" not in received.query:
        return status(404, error="Resource not found")
    if received.headers.get("api-key") != AZURE_KEY or "authorization" in received.headers:
        return status(401, error="Access denied due to invalid subscription key or wrong API endpoint.")
    effort = received.json.get("reasoning_effort")
    if effort == "minimal":
        return status(
            400,
            error="Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: "
            "'none', ''low', 'medium', and 'high'.",
            param="***.effort",
            code="unsupported_value",
        )
    return None


def _mistral(received: Received) -> Behaviour | None:
    known = {"model", "messages", "temperature", "top_p", "max_tokens", "stream", "random_seed"}
    extra = [["body", name] for name in received.json if name not in known | {"stream_options"}]
    extra += [["body", "stream_options", "include_usage"]] if "stream_options" in received.json else []
    if not extra:
        return None
    detail = [
        {"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs are not permitted", "input": 1} for loc in extra
    ]
    body = {
        "object": "error",
        "message": {"detail": detail},
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }
    return raw(json.dumps(body).encode(), status=422)


def _vllm(received: Received) -> Behaviour | None:
    wants = received.json.get("max_tokens", 0)
    if wants <= 8192 - 1234:
        return None
    message = (
        f"'max_tokens' or 'max_completion_tokens' is too large: {wants}. This model's maximum context length is 8192 "
        f"tokens and your request has 1234 input tokens ({wants} > 8192 - 1234)."
    )
    body = {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
    return raw(json.dumps(body).encode(), status=400)


def _ollama(received: Received) -> Behaviour | None:
    effort = received.json.get("reasoning_effort")
    if effort is None:
        return None
    return status(400, error=f'think value "{effort}" is not supported for this model', type="api_error")


def _gemini(received: Received) -> Behaviour | None:
    unknown = [name for name in ("seed", "top_k") if name in received.json]
    if not unknown:
        return None
    errors = [f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.' for name in unknown]
    error = {"code": 400, "message": "\n".join(errors), "status": "INVALID_ARGUMENT"}
    details = [
        {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"description": s} for s in errors]}
    ]
    return raw(json.dumps([{"error": {**error, "details": details}}]).encode(), status=400)


def _anthropic(received: Received) -> Behaviour | None:
    sent = received.json
    if sent["max_tokens"] > 8192:
        message = (
            f"max_tokens: {sent['max_tokens']} > 8192, which is the maximum allowed number of output tokens for "
            "claude-3-5-sonnet-20241022"
        )
    elif "temperature" in sent and "top_p" in sent:
        message = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    else:
        return None
    return status(400, error=message, type="invalid_request_error")


def _wants_streams(received: Received) -> Behaviour | None:
    if not received.json.get("stream"):
        return raw(b'{"detail": "Stream must be set to true"}', status=400)
    if "stream_options" in received.json:
        error = {"message": "property 'stream_options' is unsupported, did you mean 'stream'?", "type": "x"}
        return raw(json.dumps({"error": error}).encode(), status=400)
    return None


def _responses_only(received: Received) -> Behaviour | None:
    if received.path == "/v1/chat/completions":
        return status(
            404,
            error="This model is only supported in v1/responses and not in v1/chat/completions.",
            type="invalid_request_error",
            param="model",
        )
    if "messages" in received.json or "max_output_tokens" not in received.json:
        return status(400, error="the test expected a request of the Responses API")
    if "temperature" in received.json:
        return status(
            400,
            error="Unsupported parameter: 'temperature' is not supported with this model.",
            param="temperature",
        )
    return None


def _gateway(received: Received) -> Behaviour | None:
    if "top_p" not in received.json:
        return None
    return raw(b'{"error": {"message": "`top_p` is not supported by this provider", "code": 400}}')


ENDPOINTS = [
    Endpoint(
        name="openai_reasoning",
        judge=_no_default,
        settings={"temperature": 0.7, "max_tokens": 4000, "effort": "low"},
        adapted=frozenset({"max_tokens renamed to max_completion_tokens", "temperature dropped"}),
    ),
    Endpoint(
        name="azure",
        judge=_azure,
        prefix="/openai/deployments/gpt",
        settings={
            "api_key_env": None,
            "headers": {"api-key": "$AZURE_KEY"},
            "query": {"api-version": "2024-10-21"},
            "effort": "minimal",
        },
        adapted=frozenset({"reasoning_effort minimal replaced by low"}),
    ),
    Endpoint(
        name="mistral",
        judge=_mistral,
        answers=lambda text, received: streamed(text),
        settings={"effort": "high", "extra_body": {"seed": 7}, "stream": True, "temperature": 0.3},
        adapted=frozenset({"reasoning_effort dropped", "seed dropped", "stream_options dropped"}),
    ),
    Endpoint(
        name="vllm",
        judge=_vllm,
        settings={"max_tokens": 8000},
        adapted=frozenset({"max_tokens 8000 replaced by 6000"}),
    ),
    Endpoint(
        name="llama_cpp",
        settings={"temperature": 0.2, "max_tokens": 500},
        answers=lambda text, received: answer(text, reasoning_content="I step on.", timings={"n": 1}),
        thought="I step on.",
    ),
    Endpoint(
        name="ollama",
        judge=_ollama,
        settings={"effort": "medium"},
        adapted=frozenset({"reasoning_effort medium dropped"}),
    ),
    Endpoint(
        name="gemini",
        judge=_gemini,
        prefix="/v1beta/openai",
        settings={"extra_body": {"seed": 1, "top_k": 40}},
        adapted=frozenset({"seed dropped", "top_k dropped"}),
    ),
    Endpoint(
        name="anthropic",
        judge=_anthropic,
        settings={"temperature": 0.5, "top_p": 0.9, "max_tokens": 100_000},
        adapted=frozenset({"max_tokens 100000 replaced by 8192", "top_p dropped"}),
    ),
    Endpoint(
        name="only_streams", answers=lambda text, received: streamed(text, reasoning="I stream."), thought="I stream."
    ),
    Endpoint(
        name="wants_streams",
        judge=_wants_streams,
        answers=lambda text, received: streamed(text, tokens=None),
        adapted=frozenset({"stream false replaced by true", "stream_options dropped"}),
        usage=False,
    ),
    Endpoint(
        name="responses_only",
        judge=_responses_only,
        answers=lambda text, received: response(text, thought="I respond."),
        settings={"temperature": 1.0, "max_tokens": 900, "effort": "low"},
        adapted=frozenset({"api chat replaced by responses", "temperature dropped"}),
        thought="I respond.",
    ),
    Endpoint(name="no_usage", answers=lambda text, received: answer(text, tokens=None), usage=False),
    Endpoint(
        name="think_tags",
        answers=lambda text, received: answer(f"<think>\n<DIFF> a draft\n</think>\n{text}"),
        thought="<DIFF> a draft",
    ),
    Endpoint(
        name="gateway_200",
        judge=_gateway,
        settings={"top_p": 0.9},
        adapted=frozenset({"top_p dropped"}),
    ),
]

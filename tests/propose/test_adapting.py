"""What a refusal means: real words are understood, and no words at all make the client ask without end."""

import json
import random
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.completion import Adaptation, CallEvent, CallFailed, Completion, Message, PatchKey
from evolve.core.config import ModelConfig
from evolve.propose.adapting import MOST, adapted, context_length, parse_error_body, understood
from evolve.propose.openai_llm import OpenAILLM, wanted
from evolve.propose.reply import Reply, Unreadable
from evolve.propose.retry import RetryPolicy
from evolve.propose.waking import WakingEvent
from tests.examples import part_of_the_examples
from tests.openai_server import OpenAIServer, Received, answer, raw, response, status, streamed
from tests.propose.asking import read

FAST = RetryPolicy(tries=3, first_wait_s=0.001, longest_wait_s=0.01)
ASK = [Message(role="user", content="Hello.")]
PLAIN = {"api": "chat", "stream": False}


def sent(**fields: Any) -> dict[str, Any]:
    return PLAIN | fields


def changes(document: object, status: int = 400, **fields: Any) -> list[str]:
    """What follows from an error for a request with these fields."""
    found = understood(parse_error_body(document), status, sent=sent(**fields), known=(), model="m")
    return [str(one) for one in found]


@pytest.mark.parametrize(
    ("message", "fields", "wanted"),
    [
        ("`temperature` is deprecated for this model.", {"temperature": 1}, ["temperature dropped"]),
        (
            "litellm.UnsupportedParamsError: gpt-5 models don't support temperature=0.2. To drop unsupported params "
            "set `litellm.drop_params = True`",
            {"temperature": 0.2},
            ["temperature dropped"],
        ),
        (
            "Invalid 'temperature': decimal above maximum value. Expected a value <= 1, but got 1.5 instead.",
            {"temperature": 1.5},
            ["temperature 1.5 replaced by 1.0"],
        ),
        ("temperature: range: 0..1", {"temperature": 1.2}, ["temperature 1.2 replaced by 1.0"]),
        (
            "max_tokens is too large: 200000. This model supports at most 16384 completion tokens, whereas you "
            "provided 200000.",
            {"max_tokens": 200_000},
            ["max_tokens 200000 replaced by 16384"],
        ),
        (
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            {"max_tokens": 9000},
            ["max_tokens 9000 replaced by 8192"],
        ),
        (
            "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the "
            "`context_window` for this model",
            {"max_tokens": 9000},
            ["max_tokens 9000 replaced by 8192"],
        ),
        (
            "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the "
            "messages, 8192 in the completion). Please reduce the length of the messages or completion.",
            {"max_tokens": 8192},
            ["max_tokens 8192 replaced by 6144"],
        ),
        (
            "This model's maximum context length is 4097 tokens. However, your messages resulted in 35569 tokens. "
            "Please reduce the length of the messages.",
            {"max_tokens": 500, "temperature": 1},
            [],
        ),
        (
            "parameter.enable_thinking must be set to false for non-streaming calls",
            {"temperature": 1},
            ["stream false replaced by true"],
        ),
        ("enable thinking can not be support when `stream=False`.", {}, ["stream false replaced by true"]),
        ("Streaming is not supported for this model", {"stream": True}, ["stream true replaced by false"]),
        (
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            {"stream": True, "stream_options": {}},
            ["stream_options dropped"],
        ),
        (
            "Unsupported legacy protocol: /v1/chat/completions is not supported. Please use /v1/responses.",
            {"temperature": 1},
            ["api chat replaced by responses"],
        ),
        (
            "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: "
            "'minimal', 'low', 'medium', and 'high'.",
            {"reasoning_effort": "none"},
            ["reasoning_effort none replaced by minimal"],
        ),
        ('"llama3.2" does not support thinking', {"reasoning_effort": "low"}, ["reasoning_effort dropped"]),
        ("The model `gpt-9` does not exist", {"temperature": 1, "max_tokens": 5}, []),
        ("max_tokens is too large", {"max_tokens": 100}, []),
        ("Your prompt was flagged. It says: the temperature of the sun", {"temperature": 1}, []),
    ],
)
def test_what_real_endpoints_say_is_understood(message: str, fields: dict[str, Any], wanted: list[str]) -> None:
    assert changes({"error": {"message": message, "type": "invalid_request_error"}}, **fields) == wanted
    nested = {"error": {"message": json.dumps({"error": {"message": message}}), "code": "400"}}
    assert changes(nested, **fields) == wanted


def test_a_refused_limit_is_asked_by_its_other_name_once() -> None:
    error = {"error": {"message": "Unsupported parameter", "param": "max_completion_tokens"}}
    first = understood(parse_error_body(error), 400, sent=sent(max_completion_tokens=9), known=(), model="m")
    assert [str(one) for one in first] == ["max_completion_tokens renamed to max_tokens"]
    error["error"]["param"] = "max_tokens"
    assert [
        str(one) for one in understood(parse_error_body(error), 400, sent=sent(max_tokens=9), known=first, model="m")
    ] == ["max_tokens dropped"]


def test_another_kind_of_failure_says_nothing_of_parameters() -> None:
    error = {"error": {"message": "temperature is not supported", "param": "temperature"}}
    for http in (401, 403, 429, 500, 502, 503):
        assert changes(error, http, temperature=1) == []


def test_the_context_is_read_from_a_refusal() -> None:
    llama = {"error": {"code": 400, "message": "the request exceeds", "n_prompt_tokens": 14429, "n_ctx": 8192}}
    assert context_length(parse_error_body(llama)) == 8192
    assert changes(llama, max_tokens=500) == []
    refusal = "the request exceeds the available context size (4096 tokens), try increasing it"
    assert context_length(parse_error_body({"error": {"message": refusal}})) == 4096


def test_a_number_without_end_in_a_refusal_is_none() -> None:
    for of in ("{} tokens in the messages", "your prompt has {} tokens"):
        refusal = "maximum context length is 8192 tokens, " + of.format("9" * 5000)
        assert changes({"error": {"message": refusal}}, max_tokens=500) == []


# -- whatever is said ----------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        *(
            "temperature",
            "top_p",
            "max_tokens",
            "max_completion_tokens",
            "reasoning_effort",
            "seed",
            "stream",
        ),
        *(
            "is not supported",
            "unsupported",
            "only the default",
            "must be set to true",
            "must be false",
            "v1/responses",
        ),
        *("too large", "at most 7", "<= 3", "'low'", "'high'", "values are", "context length is 900", "has 100 tokens"),
        *("cannot both", "use", "only streaming", "non-stream", "roles must alternate", "stream_options", ". ", "\n"),
        *("api", "role", "model", "messages", "0", "-1", "99999999999999999999", "not"),
    ]
)
ERRORS = st.recursive(
    st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=40) | st.none() | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "message", "detail", "loc", "param", "code", "n_ctx", "x"]), inner)
    ),
    max_leaves=8,
)
FIELDS = {
    "temperature": st.floats(0, 5),
    "top_p": st.floats(0.1, 1),
    "max_tokens": st.integers(1, 200_000),
    "reasoning_effort": st.sampled_from(["low", "xhigh", "odd"]),
    "seed": st.integers(),
}


@given(
    errors=st.lists(st.tuples(ERRORS, st.sampled_from([200, 400, 404, 422, 500, 501])), min_size=1, max_size=6),
    fields=st.fixed_dictionaries({}, optional=FIELDS),
    streams=st.booleans(),
)
def test_no_error_makes_the_client_ask_without_end_or_drop_what_was_not_sent(
    errors: list[tuple[object, int]], fields: dict[str, Any], streams: bool
) -> None:
    parameters = sent(**fields) | {"stream": streams}
    known: tuple[Adaptation, ...] = ()
    for asked in range(100):
        body = adapted(parameters, known)
        assert set(body) <= {*parameters, "max_completion_tokens", "max_tokens", "stream_options"}
        assert body["api"] in ("chat", "responses") and isinstance(body["stream"], bool)
        document, http = errors[asked % len(errors)]
        found = understood(parse_error_body(document), http, sent=body, known=known, model="m")
        assert {one.parameter for one in found} <= set(body)
        keys = {(one.parameter, one.value) for one in known}
        known += tuple(one for one in found if (one.parameter, one.value) not in keys)
        if not found or adapted(parameters, known) == body:
            break
    else:
        pytest.fail("asked 100 times")
    assert len(known) <= MOST


@part_of_the_examples(4)
@given(document=ERRORS, http=st.sampled_from([200, 400, 404, 422]))
def test_a_server_that_always_refuses_is_left_soon(document: object, http: int) -> None:
    events: list[CallEvent] = []
    settings = ModelConfig(
        name="m", model="m", api_key_env=None, temperature=2.0, max_tokens=999, effort="high", extra_body={"seed": 1}
    )
    body = json.dumps(document).encode("utf-8", "replace")
    with OpenAIServer(endpoint=lambda _: raw(body, status=http)) as server:
        llm = client(server.url, **{name: getattr(settings, name) for name in ("temperature", "max_tokens", "effort")})
        with pytest.raises(CallFailed):
            llm.complete(ASK, key=PatchKey(1, 0), observe=events.append)
        llm.close()
        assert len(server.requests) <= FAST.tries + MOST
    assert [event.call for event in events] == [index // 2 for index in range(len(events))]


# -- what is sent --------------------------------------------------------------------------------------------------


def client(url: str, **changes: Any) -> OpenAILLM:
    base: dict[str, Any] = {"name": "m", "model": "test", "base_url": url, "api_key_env": None, "timeout_s": 10.0}
    return OpenAILLM(ModelConfig(**{**base, **changes}), stopping=WakingEvent(), retry=FAST, environ={})


def test_one_value_of_a_list_is_drawn_for_each_request_by_its_key() -> None:
    events: list[CallEvent] = []
    with OpenAIServer(default=answer("ok")) as server:
        for _ in range(2):
            llm = client(server.url, temperature=[0.1, 0.5, 0.9], effort=["low", "high"])
            for number in range(12):
                llm.complete(ASK, key=PatchKey(number, 0), observe=events.append)
        drawn = [(request.json["temperature"], request.json["reasoning_effort"]) for request in server.requests]
    assert drawn[:12] == drawn[12:]
    assert {temperature for temperature, _ in drawn} == {0.1, 0.5, 0.9}
    assert {effort for _, effort in drawn} == {"low", "high"}
    output = [event.sampled for event in events if event.phase == "calling"]
    assert output == [{"temperature": temperature, "effort": effort} for temperature, effort in drawn]
    settings = ModelConfig(name="m", model="m", temperature=[0.1, 0.5, 0.9], effort=["low", "high"])
    rng = random.Random("0:patch/3/0:sampling")
    by_hand = wanted(settings, newer_limit=False, rng=rng)
    assert (by_hand["temperature"], by_hand["reasoning_effort"]) == drawn[3]


def test_a_value_of_a_list_that_is_refused_leaves_the_others() -> None:
    def behave(request: Any) -> Any:
        if request.get("reasoning_effort") == "minimal":
            return status(
                400, error="Unsupported value: 'minimal'. Supported values are: 'low' and 'high'.", param="effort"
            )
        return answer("ok")

    with OpenAIServer(default=behave) as server:
        llm = client(server.url, effort=["minimal", "high"])
        for number in range(12):
            llm.complete(ASK, key=PatchKey(number, 0), observe=lambda _: None)
        efforts = [request.json["reasoning_effort"] for request in server.requests]
    assert efforts.count("minimal") == 1
    assert {"low", "high"} <= set(efforts)


def test_many_at_once_meet_a_refusal_once() -> None:
    def behave(received: Received) -> Any:
        return status(400, error="temperature is not supported") if "temperature" in received.json else answer("ok")

    with OpenAIServer(endpoint=behave) as server:
        llm = client(server.url, temperature=0.5)
        done: list[Completion] = []

        def one(number: int) -> None:
            done.append(llm.complete(ASK, key=PatchKey(number, 0), observe=lambda _: None))

        threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(done) == 12
        assert len(server.requests) == 13


def test_the_responses_api_gets_its_own_fields() -> None:
    with OpenAIServer([response("hi", thought="hm")]) as server:
        llm = client(server.url, api="responses", max_tokens=50, effort="low", extra_body={"store": False})
        done = llm.complete(ASK, key=PatchKey(1, 0), observe=lambda _: None)
        (request,) = server.requests
    assert request.path == "/v1/responses"
    assert request.json == {
        "model": "test",
        "input": [{"role": "user", "content": "Hello."}],
        "max_output_tokens": 50,
        "reasoning": {"effort": "low"},
        "store": False,
    }
    assert (done.text, done.reasoning, done.finish_reason, done.usage.tokens_in) == ("hi", "hm", "stop", 100)


@pytest.mark.parametrize(
    ("status", "details", "reason"),
    [
        ("incomplete", {"reason": "max_output_tokens"}, "length"),
        ("incomplete", {"reason": "content_filter"}, "content_filter"),
    ],
)
def test_a_response_that_was_cut_off_says_so(status: str, details: dict[str, str], reason: str) -> None:
    reply = read(response("half", status=status, incomplete_details=details).body, "responses")
    assert not isinstance(reply, Unreadable) and reply.finish_reason == reason


def test_cached_tokens_of_a_response_are_counted() -> None:
    usage = {"input_tokens": 1000, "output_tokens": 10, "input_tokens_details": {"cached_tokens": 800}}
    reply = read(response("hi", usage=usage).body, "responses")
    assert not isinstance(reply, Unreadable)
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_cached) == (1000, 10, 800)


# -- streams -------------------------------------------------------------------------------------------------------


def test_a_stream_is_read_to_its_end() -> None:
    with OpenAIServer([streamed("x" * 300, reasoning_content="hm")]) as server:
        done = client(server.url, stream=True).complete(ASK, key=PatchKey(1, 0), observe=lambda _: None)
        assert server.requests[0].json["stream_options"] == {"include_usage": True}
    assert (done.text, done.reasoning, done.usage.tokens_out, done.usage.estimated) == ("x" * 300, "hm", 10, False)


def test_what_a_person_says_of_a_stream_is_sent_as_it_is() -> None:
    own = {"include_usage": False, "chunk_include_usage": True}
    with OpenAIServer([streamed("x")]) as server:
        client(server.url, stream=True, extra_body={"stream_options": own}).complete(
            ASK, key=PatchKey(1, 0), observe=lambda _: None
        )
        assert server.requests[0].json["stream_options"] == own


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("finish_reason", [None, "length"])
def test_a_stream_without_its_end_is_no_answer(done: bool, finish_reason: str | None) -> None:
    reply = read(streamed("half of it", done=done, finish_reason=finish_reason).body)
    if not done and finish_reason is None:
        assert isinstance(reply, Unreadable) and "broke off" in str(reply)
    else:
        assert not isinstance(reply, Unreadable) and reply.finish_reason == (finish_reason or "unknown")


def test_a_stream_that_is_cut_off_is_a_failed_call_and_asked_again() -> None:
    cut = streamed("half of it", done=False, finish_reason=None)
    events: list[CallEvent] = []
    with OpenAIServer([cut, streamed("all of it")]) as server:
        done = client(server.url, stream=True).complete(ASK, key=PatchKey(1, 0), observe=events.append)
    assert done.text == "all of it"
    assert [event.status for event in events] == ["calling", "bad_response", "calling", "stop"]


@given(at=st.integers(0, 2000))
def test_a_stream_that_is_cut_anywhere_is_whole_or_none(at: int) -> None:
    whole = streamed("some words that make an answer of some length, word by word", finish_reason="stop").body
    part, reply = read(whole[:at]), read(whole)
    assert isinstance(reply, Reply)
    assert isinstance(part, Unreadable) or part.text == reply.text


@given(body=st.binary(max_size=300))
def test_no_bytes_break_the_reader_of_streams(body: bytes) -> None:
    for api in ("chat", "responses"):
        read(b"data: " + body, api)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_events_without_data_are_no_part_of_a_stream(end: str) -> None:
    piece = 'data: {"choices": [{"delta": {"content": "%s"}}]}'
    lines = [
        "retry: 3000",
        "",
        "event: ping",
        "",
        "id: 1",
        piece % "a",
        "",
        "",
        ": hello",
        "",
        piece % "b",
        "",
        "data: [DONE]",
    ]
    reply = read(end.join(lines).encode())
    assert not isinstance(reply, Unreadable) and reply.text == "ab"


def test_an_error_within_a_stream_is_the_error() -> None:
    reply = read(b'data: {"error": {"message": "overloaded", "code": 502}}\n\n')
    assert isinstance(reply, Unreadable) and reply.error_body.status == 502


def events(*documents: dict[str, Any]) -> bytes:
    """A stream of the Responses API."""
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in documents).encode()


def test_a_streamed_response_is_the_one_at_its_end() -> None:
    whole = json.loads(response("hi", thought="hm").body)
    pieces = [{"type": "response.created", "response": whole | {"output": []}}]
    pieces.append({"type": "response.output_text.delta", "delta": "h"})
    reply = read(events(*pieces, {"type": "response.completed", "response": whole}), "responses")
    assert isinstance(reply, Reply)
    assert (reply.text, reply.reasoning, reply.finish_reason, reply.tokens_out) == ("hi", "hm", "stop", 10)
    broken = read(events(*pieces), "responses")
    assert isinstance(broken, Unreadable) and "broke off" in str(broken)


@pytest.mark.parametrize(
    "body",
    [
        events({"type": "error", "code": "502", "message": "overloaded"}),
        events({"type": "response.failed", "response": {"status": "failed", "error": {"message": "overloaded"}}}),
        b'{"error": {"message": "overloaded", "code": 502}, "output": null}',
        b'[{"error": {"message": "overloaded", "code": 502}}]',
    ],
)
def test_what_a_response_states_as_its_error_is_the_error(body: bytes) -> None:
    reply = read(body, "responses")
    assert isinstance(reply, Unreadable) and "overloaded" in str(reply)


def test_of_several_answers_the_first_is_read() -> None:
    pieces = [
        {"choices": [{"index": n, "delta": {"content": text}, "finish_reason": "stop"}]}
        for n, text in [(0, "a"), (1, "b")]
    ]
    reply = read("".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces).encode())
    assert isinstance(reply, Reply) and reply.text == "a"

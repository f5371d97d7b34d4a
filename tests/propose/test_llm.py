"""The LLM client against a server that misbehaves: every attempt is an event, and the key is shown nowhere."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.completion import ANSWER_LIMIT, CallEvent, CallFailed, Completion, Message, PatchKey
from evolve.core.config import ModelConfig
from evolve.propose.reply import Unreadable
from evolve.propose.retry import RetryPolicy
from tests.openai_server import Behaviour, OpenAIServer, answer, raw, refusal, status
from tests.propose.asking import ASK, KEY, ask, client, read


def test_an_answer_comes_with_tokens_cost_and_latency() -> None:
    outcome, events, server = ask([answer("hello", tokens=(1000, 500))], temperature=0.7, max_tokens=50)
    assert isinstance(outcome, Completion)
    assert (outcome.text, outcome.finish_reason) == ("hello", "stop")
    assert (outcome.usage.tokens_in, outcome.usage.tokens_out, outcome.usage.estimated) == (1000, 500, False)
    assert outcome.usage.cost_usd == pytest.approx(0.002 + 0.004)
    assert outcome.usage.latency_s > 0
    assert [(e.phase, e.status, e.http_status) for e in events] == [
        ("calling", "calling", None),
        ("answered", "stop", 200),
    ]
    assert events[1].usage.cost_usd == outcome.usage.cost_usd
    sent = server.requests[0]
    assert sent.json == {
        "model": "test-model",
        "messages": [{"role": "user", "content": ASK[0].content}],
        "temperature": 0.7,
        "max_tokens": 50,
    }
    assert sent.headers["authorization"] == f"Bearer {KEY}"


def test_the_estimate_stands_in_calling_before_the_request_is_sent() -> None:
    with OpenAIServer([answer("hello")]) as server:
        arrived: list[int] = []
        client(server.url).complete(ASK, key=PatchKey(1, 0), observe=lambda e: arrived.append(len(server.requests)))
        assert arrived == [0, 1]
    _, events, _ = ask([answer("hello")], max_tokens=1000)
    assert (events[0].usage.tokens_in, events[0].usage.tokens_out) == (100, 1000)
    assert events[0].usage.cost_usd == pytest.approx(100 * 2e-6 + 1000 * 8e-6)


def test_nothing_is_sent_when_the_event_cannot_be_written() -> None:
    def full(_: CallEvent) -> None:
        raise OSError("no space left")

    with OpenAIServer() as server:
        with pytest.raises(OSError, match="no space left"):
            client(server.url).complete(ASK, key=PatchKey(1, 0), observe=full)
        assert server.requests == []


@pytest.mark.parametrize(
    ("step", "finish_reason", "text"),
    [
        (answer("half a pa", finish_reason="length"), "length", "half a pa"),
        (answer(None, finish_reason="length"), "length", ""),
        (answer(None), "empty", ""),
        (answer("  \n"), "empty", ""),
        (answer(None, reasoning_content="let me think"), "empty", ""),
        (refusal("I cannot help with that."), "refusal", "I cannot help with that."),
        (answer("", finish_reason="content_filter"), "content_filter", ""),
        (answer("odd", finish_reason=None), "unknown", "odd"),
        (answer("prose without a patch"), "stop", "prose without a patch"),
        (answer("a\r\nb\r\n"), "stop", "a\r\nb\r\n"),
        (answer("```\n<NAME> x </NAME>\n```"), "stop", "```\n<NAME> x </NAME>\n```"),
        (answer("<think>\ndraft\n</think>\n\nreal"), "stop", "real"),
        (answer("draft without an opening tag</think>real"), "stop", "real"),
        (answer("<think>never ends"), "empty", ""),
        (answer("lone \ud800 surrogate"), "stop", "lone ? surrogate"),
    ],
)
def test_every_kind_of_answer_has_its_own_status(step: Behaviour, finish_reason: str, text: str) -> None:
    outcome, events, _ = ask([step])
    assert isinstance(outcome, Completion)
    assert (outcome.finish_reason, outcome.text) == (finish_reason, text)
    assert events[-1].status == finish_reason
    assert events[-1].usage.tokens_out == 10


@pytest.mark.parametrize(
    ("step", "text", "reasoning"),
    [
        (answer("real", reasoning_content="let me think"), "real", "let me think"),
        (answer("real", reasoning="let me think"), "real", "let me think"),
        (answer(None, reasoning_content="let me think"), "", "let me think"),
        (answer("<think>\ndraft\n</think>\n\nreal"), "real", "draft"),
        (answer("draft without an opening tag</think>real"), "real", "draft without an opening tag"),
        (answer("<think>never ends"), "", "never ends"),
        (answer("real", reasoning_content={"odd": 1}), "real", ""),
        (answer("real", reasoning_content=f"the key is {KEY}"), "real", "the key is [key removed]"),
        (answer("real"), "real", ""),
    ],
)
def test_what_a_model_thinks_is_kept_apart_from_what_it_answers(step: Behaviour, text: str, reasoning: str) -> None:
    outcome, _, _ = ask([step])
    assert isinstance(outcome, Completion)
    assert (outcome.text, outcome.reasoning) == (text, reasoning)


@pytest.mark.parametrize(("price_in", "price_out"), [(None, None), (2.0, None), (None, 8.0)])
def test_a_price_that_is_not_known_makes_an_unknown_cost_and_never_nothing(
    price_in: float | None, price_out: float | None
) -> None:
    priced = ModelConfig(name="m", model="m", price_in=price_in, price_out=price_out)
    assert priced.cost(100, 10) is None
    assert priced.cost(0, 0) == 0.0
    assert ModelConfig(name="m", model="m", price_in=0.0, price_out=0.0).cost(100, 10) == 0.0


def test_five_megabytes_of_answer_are_cut_and_say_so() -> None:
    outcome, events, _ = ask([answer("y" * 5_000_000, tokens=(5, 1_250_000))])
    assert isinstance(outcome, Completion)
    assert (outcome.finish_reason, len(outcome.text)) == ("oversize", ANSWER_LIMIT)
    assert outcome.usage.cost_usd == pytest.approx(10.00001)  # the whole of it is paid for
    assert events[-1].status == "oversize"


def test_a_body_without_end_is_not_read_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolve.propose.attempt.BODY_LIMIT", 100_000)
    outcome, events, _ = ask([answer("y" * 1_000_000)], RetryPolicy(tries=1))
    assert isinstance(outcome, CallFailed)
    assert outcome.reason == "bad_response"
    assert "larger than 100000 bytes" in events[-1].message


@pytest.mark.parametrize("usage", ["absent", "null", "words", "negative", "list"])
def test_missing_usage_is_estimated_and_flagged(usage: str) -> None:
    documents = {
        "absent": answer("z" * 40, tokens=None).body,
        "null": answer("z" * 40, tokens=None).body.replace(b'"id"', b'"usage": null, "id"'),
        "words": answer("z" * 40).body.replace(b'"prompt_tokens": 100', b'"prompt_tokens": "many"'),
        "list": answer("z" * 40, tokens=None).body.replace(b'"id"', b'"usage": [100, 10], "id"'),
        "negative": answer("z" * 40).body.replace(b"100", b"-100"),
    }
    outcome, events, _ = ask([raw(documents[usage])])
    assert isinstance(outcome, Completion)
    assert (outcome.usage.tokens_in, outcome.usage.tokens_out, outcome.usage.estimated) == (100, 10, True)
    assert "no usage" in events[-1].message


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, 7, {"type": "text", "text": "b"}]
    body = answer("PARTS").body.replace(b'"PARTS"', __import__("json").dumps(parts).encode())
    outcome, _, _ = ask([raw(body)])
    assert isinstance(outcome, Completion)
    assert outcome.text == "ab"


def test_more_parts_than_any_answer_has_are_not_read() -> None:
    for body in (b'{"choices": [' + b"[]," * 300_000 + b"[]]}", b"data: {}\n\n" * 300_000):
        assert "parts" in str(read(body))


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_with_a_reason(body: bytes) -> None:
    reply = read(body)
    assert isinstance(reply, Unreadable)
    assert str(reply)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["choices", "message", "content", "usage", "error", "finish_reason"]), inner
            )
        ),
        max_leaves=12,
    )
)
def test_no_document_at_all_raises(document: object) -> None:
    import json

    reply = read(json.dumps(document).encode())
    assert isinstance(reply, Unreadable) or reply.text.strip() or reply.finish_reason != "stop"


def test_a_server_that_wants_the_other_name_of_the_limit_gets_it() -> None:
    output = status(
        400,
        error="Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
        param="max_tokens",
        code="unsupported_parameter",
    )
    outcome, _, server = ask([output, answer("ok")], max_tokens=77)
    assert isinstance(outcome, Completion)
    assert server.requests[0].json["max_tokens"] == 77
    assert "max_tokens" not in server.requests[1].json
    assert server.requests[1].json["max_completion_tokens"] == 77


def test_many_threads_share_one_client() -> None:
    answers: list[Completion] = []
    with OpenAIServer(default=lambda request: answer(request["messages"][0]["content"])) as server:
        llm = client(server.url)

        def one(number: int) -> None:
            message = Message(role="user", content=str(number))
            answers.append(llm.complete([message], key=PatchKey(number, 0), observe=lambda _: None))

        threads = [threading.Thread(target=one, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.requests) == 16
    assert sorted(int(a.text) for a in answers) == list(range(16))

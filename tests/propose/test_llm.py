"""The LLM client against a server that misbehaves: every attempt is an event, and the key is shown nowhere."""

import dataclasses
import logging
import random
import subprocess
import sys
import threading
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from evolve.completion import ANSWER_LIMIT, CallEvent, CallFailed, Completion, Message, ModelSettings
from evolve.errors import InputError, MachineError
from evolve.propose.openai_llm import OpenAILLM
from evolve.propose.reply import Unreadable, read_reply
from evolve.propose.retry import RetryPolicy, retry_after
from tests.openai_server import (
    DROP,
    HANG,
    Behaviour,
    OpenAIServer,
    Step,
    answer,
    no_choices,
    raw,
    refusal,
    status,
)

KEY = "sk-test-2f9c1d7be04a4c55"
FAST = RetryPolicy(tries=4, first_wait_s=0.001, longest_wait_s=0.05)
ASK = [Message(role="user", content="x" * 400)]


def settings(url: str, **changes: object) -> ModelSettings:
    base: dict[str, object] = {
        "name": "m",
        "model": "test-model",
        "base_url": url,
        "api_key_env": "TEST_KEY",
        "timeout_s": 10.0,
        "price_in": 2.0,
        "price_out": 8.0,
    }
    return ModelSettings(**{**base, **changes})  # type: ignore[arg-type]


def client(
    url: str, retry: RetryPolicy = FAST, stopping: threading.Event | None = None, **changes: object
) -> OpenAILLM:
    stopping = stopping or threading.Event()
    return OpenAILLM(settings(url, **changes), stopping=stopping, retry=retry, environ={"TEST_KEY": KEY})


def ask(
    steps: list[Step], retry: RetryPolicy = FAST, **changes: object
) -> tuple[Completion | CallFailed, list[CallEvent], OpenAIServer]:
    """The outcome of one request, its events, and the server that was asked."""
    events: list[CallEvent] = []
    with OpenAIServer(steps) as server:
        llm = client(server.url, retry, **changes)
        outcome: Completion | CallFailed
        try:
            outcome = llm.complete(ASK, key="patch/1/0", observe=lambda e: e.phase == "waiting" or events.append(e))
        except CallFailed as failed:
            outcome = failed
        llm.close()
    assert [e.call for e in events] == [i // 2 for i in range(len(events))]
    assert [e.phase for e in events[::2]] == ["calling"] * len(server.requests)
    return outcome, events, server


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
        client(server.url).complete(ASK, key="k", observe=lambda e: arrived.append(len(server.requests)))
        assert arrived == [0, 1]
    _, events, _ = ask([answer("hello")], max_tokens=1000)
    assert (events[0].usage.tokens_in, events[0].usage.tokens_out) == (100, 1000)
    assert events[0].usage.cost_usd == pytest.approx(100 * 2e-6 + 1000 * 8e-6)


def test_nothing_is_sent_when_the_event_cannot_be_written() -> None:
    def full(_: CallEvent) -> None:
        raise OSError("no space left")

    with OpenAIServer() as server:
        with pytest.raises(OSError, match="no space left"):
            client(server.url).complete(ASK, key="k", observe=full)
        assert server.requests == []


@pytest.mark.parametrize(
    ("step", "reason", "http", "billed"),
    [
        (status(429, error="slow down"), "rate_limited", 429, False),
        (status(500), "server_error", 500, False),
        (status(503), "server_error", 503, False),
        (raw(b"<html>Bad gateway</html>", status=502), "server_error", 502, False),
        (DROP, "connection", None, True),
        (Behaviour(body=answer("x" * 1000).body, cut_after=100), "connection", None, True),
        (raw(b'{"choices": [{"mess'), "bad_response", 200, True),
        (raw(b"[" * 100_000), "bad_response", 200, True),
        (raw(b"null"), "bad_response", 200, True),
        (raw(b'{"error": {"message": "overloaded", "code": 502}}'), "bad_response", 200, True),
        (no_choices(), "bad_response", 200, True),
    ],
)
def test_a_passing_failure_is_asked_again(step: Behaviour, reason: str, http: int | None, billed: bool) -> None:
    outcome, events, server = ask([step, step, answer("at last")])
    assert isinstance(outcome, Completion)
    assert outcome.text == "at last"
    assert len(server.requests) == 3
    assert [e.status for e in events] == ["calling", reason, "calling", reason, "calling", "stop"]
    assert events[1].http_status == http
    # What the server may have worked on is counted, as an estimate; what it refused is not.
    assert (events[1].usage.cost_usd > 0) is billed
    assert events[1].usage.estimated is billed
    assert "asking again" in events[1].message


def test_a_server_that_never_answers_costs_one_timeout_per_attempt() -> None:
    outcome, events, server = ask([HANG, answer("at last")], timeout_s=0.3)
    assert isinstance(outcome, Completion)
    assert events[1].status == "timeout"
    assert events[1].usage.tokens_in == 100
    assert "0.3 s" in events[1].message
    assert len(server.requests) == 2


def test_the_timeout_is_a_deadline_for_the_whole_answer() -> None:
    slow = Behaviour(body=answer("x" * 1000).body, trickle_s=0.05)
    outcome, events, _ = ask([slow], RetryPolicy(tries=1), timeout_s=0.3)
    assert isinstance(outcome, CallFailed)
    # No single read took 0.3 s, and the whole answer would have taken a minute.
    assert outcome.reason == events[1].status == "timeout"


def test_the_last_failure_is_raised_with_what_to_do() -> None:
    outcome, events, server = ask([status(500, error="CUDA out of memory")] * 4)
    assert isinstance(outcome, CallFailed)
    assert outcome.reason == "server_error"
    assert "test-model" in str(outcome)
    assert server.url in str(outcome)
    assert "HTTP 500: CUDA out of memory (after 4 attempts)" in str(outcome)
    assert len(server.requests) == FAST.tries
    assert "asking again" not in events[-1].message


@pytest.mark.parametrize(
    ("step", "reason", "said"),
    [
        (status(401, error="bad key"), "auth", "TEST_KEY"),
        (status(403), "auth", "TEST_KEY"),
        (status(404, error="no such model"), "not_found", "no such model"),
        (status(400, error="context length exceeded"), "bad_request", "context length exceeded"),
        (status(422), "bad_request", "HTTP 422"),
        (status(429, code="insufficient_quota"), "quota", "credit"),
        (status(400, error="max_tokens is too large"), "bad_request", "too large"),
    ],
)
def test_a_lasting_failure_is_not_asked_again(step: Behaviour, reason: str, said: str) -> None:
    outcome, events, server = ask([step], max_tokens=100)
    assert isinstance(outcome, CallFailed)
    assert outcome.reason == reason
    assert said in str(outcome)
    assert len(server.requests) == 1
    assert (events[1].status, events[1].usage.cost_usd) == (reason, 0.0)


def test_a_server_that_does_not_exist_is_a_connection_failure_that_cost_nothing() -> None:
    with OpenAIServer() as gone:
        url = gone.url
    events: list[CallEvent] = []
    with pytest.raises(CallFailed, match="no connection") as failed:
        client(url).complete(ASK, key="k", observe=events.append)
    assert failed.value.reason == "connection"
    assert [e.usage.cost_usd for e in events if e.phase == "failed"] == [0.0] * FAST.tries


@pytest.mark.parametrize("http", [429, 503])
def test_what_a_server_asks_for_is_waited_for(http: int) -> None:
    patient = RetryPolicy(tries=2, first_wait_s=30.0, longest_wait_s=60.0)
    outcome, events, _ = ask([status(http, retry_after="0.02"), answer("ok")], patient)
    assert isinstance(outcome, Completion)
    assert events[1].message.endswith("asking again in 0.0 s")


def test_a_server_in_trouble_cannot_ask_for_more_than_the_longest_wait() -> None:
    capped = RetryPolicy(tries=2, first_wait_s=0.001, longest_wait_s=0.1)
    outcome, events, _ = ask([status(503, retry_after="3600"), answer("ok")], capped)
    assert isinstance(outcome, Completion)
    assert events[1].message.endswith("asking again in 0.1 s")


def test_slow_down_costs_no_try() -> None:
    limited = [status(429, retry_after="0.01")] * 6
    outcome, events, server = ask([*limited, status(500), answer("ok")], RetryPolicy(tries=2, first_wait_s=0.001))
    assert isinstance(outcome, Completion)
    assert [event.status for event in events[1::2]] == ["rate_limited"] * 6 + ["server_error", "stop"]
    assert len(server.requests) == 8


def test_a_wait_that_is_longer_than_anybody_waits_is_a_failure_at_once() -> None:
    outcome, _, server = ask([status(429, retry_after="3600"), answer("ok")])
    assert isinstance(outcome, CallFailed)
    assert outcome.reason == "rate_limited"
    assert len(server.requests) == 1


@pytest.mark.parametrize("told", [False, True], ids=["refused", "told that nothing is left"])
def test_a_long_wait_is_a_failure_of_those_behind_it_too(told: bool) -> None:
    """Of one that waits already, and of one that comes later: neither is sent."""
    waits, failed = threading.Event(), list[CallFailed]()
    none_left = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "11h"}
    long = dataclasses.replace(answer("ok"), headers=none_left) if told else status(429, retry_after="40000")
    with OpenAIServer([status(429, retry_after="1"), long]) as server:
        llm = client(server.url, RetryPolicy())

        def observe(event: CallEvent) -> None:
            if event.phase == "waiting":
                waits.set()

        def complete(key: str) -> None:
            try:
                llm.complete(ASK, key=key, observe=observe)
            except CallFailed as one:
                failed.append(one)

        threads = [threading.Thread(target=complete, args=("a",), daemon=True)]
        threads[0].start()
        assert waits.wait(60)
        threads.append(threading.Thread(target=complete, args=("b",), daemon=True))
        threads[1].start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        complete("c")
        assert len(server.requests) == 2
    assert [one.reason for one in failed] == ["rate_limited"] * (2 if told else 3)
    assert "not asked, since the endpoint wants to be left alone for" in str(failed[-1])
    assert "wait and resume" in str(failed[-1])


def test_retry_after_is_read_as_seconds_or_as_a_date() -> None:
    now = 1_700_000_000.0
    later = format_datetime(datetime.fromtimestamp(now, UTC) + timedelta(seconds=90), usegmt=True)
    assert retry_after(later, now=now) == pytest.approx(90)
    assert retry_after(later, now=now + 500) == 0
    assert retry_after("2.5", now=now) == 2.5
    for absent in (None, "", "soon", "-1", "nan", "inf", "9" * 400):
        assert retry_after(absent, now=now) is None


@examples(deadline=None)
@given(call=st.integers(0, 2000), seed=st.integers())
def test_waits_grow_with_jitter_and_stay_below_the_cap(call: int, seed: int) -> None:
    policy = RetryPolicy(first_wait_s=1.0, longest_wait_s=60.0)
    wait = policy.wait_s(call, retry_after_s=None, rng=random.Random(seed))
    full = min(60.0, 2.0 ** min(call, 10))
    assert full / 2 <= wait <= full


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
    priced = ModelSettings(name="m", model="m", price_in=price_in, price_out=price_out)
    assert priced.cost(100, 10) is None
    assert priced.cost(0, 0) == 0.0
    assert ModelSettings(name="m", model="m", price_in=0.0, price_out=0.0).cost(100, 10) == 0.0


def test_five_megabytes_of_answer_are_cut_and_say_so() -> None:
    outcome, events, _ = ask([answer("y" * 5_000_000, tokens=(5, 1_250_000))])
    assert isinstance(outcome, Completion)
    assert (outcome.finish_reason, len(outcome.text)) == ("oversize", ANSWER_LIMIT)
    assert outcome.usage.cost_usd == pytest.approx(10.00001)  # the whole of it is paid for
    assert events[-1].status == "oversize"


def test_a_body_without_end_is_not_read_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolve.propose.openai_llm.BODY_LIMIT", 100_000)
    outcome, events, _ = ask([answer("y" * 1_000_000)], RetryPolicy(tries=1))
    assert isinstance(outcome, CallFailed)
    assert outcome.reason == "bad_response"
    assert "larger than 100000 bytes" in events[-1].message


@pytest.mark.parametrize("usage", ["absent", "null", "strings", "negative"])
def test_missing_usage_is_estimated_and_flagged(usage: str) -> None:
    documents = {
        "absent": answer("z" * 40, tokens=None).body,
        "null": answer("z" * 40, tokens=None).body.replace(b'"id"', b'"usage": null, "id"'),
        "strings": answer("z" * 40).body.replace(b'"prompt_tokens": 100', b'"prompt_tokens": "100"'),
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


@examples(deadline=None)
@given(st.binary(max_size=200))
def test_no_body_at_all_raises(body: bytes) -> None:
    read_reply(body)


@examples(deadline=None, max_examples=60)
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

    reply = read_reply(json.dumps(document).encode())
    assert isinstance(reply, Unreadable) or reply.text.strip() or reply.finish_reason != "stop"


def test_a_server_that_wants_the_other_name_of_the_limit_gets_it() -> None:
    told = status(
        400,
        error="Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
        param="max_tokens",
        code="unsupported_parameter",
    )
    outcome, _, server = ask([told, answer("ok")], max_tokens=77)
    assert isinstance(outcome, Completion)
    assert server.requests[0].json["max_tokens"] == 77
    assert "max_tokens" not in server.requests[1].json
    assert server.requests[1].json["max_completion_tokens"] == 77


@pytest.mark.parametrize("waiting", [False, True], ids=["in a call", "between calls"])
def test_a_run_that_ends_does_not_wait_for_a_server(waiting: bool) -> None:
    stopping = threading.Event()
    events: list[CallEvent] = []
    reasons: list[str] = []

    def ends(_: object) -> Behaviour:
        stopping.set()
        return HANG

    def observe(event: CallEvent) -> None:
        if event.phase != "waiting":
            events.append(event)
        if event.phase == "failed":
            stopping.set()

    with OpenAIServer([status(429, retry_after="600") if waiting else ends]) as server:
        llm = client(server.url, RetryPolicy(tries=3, longest_wait_s=600), stopping, timeout_s=600.0)

        def ask_twice() -> None:
            for _ in range(2):
                try:
                    llm.complete(ASK, key="k", observe=observe)
                except CallFailed as failed:
                    reasons.append(failed.reason)

        thread = threading.Thread(target=ask_twice, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        assert reasons == ["cancelled", "cancelled"]
        assert len(server.requests) == 1
    assert [e.phase for e in events] == ["calling", "failed"]


def test_many_threads_share_one_client() -> None:
    answers: list[Completion] = []
    with OpenAIServer(default=lambda request: answer(request["messages"][0]["content"])) as server:
        llm = client(server.url)

        def one(number: int) -> None:
            message = Message(role="user", content=str(number))
            answers.append(llm.complete([message], key=f"k{number}", observe=lambda _: None))

        threads = [threading.Thread(target=one, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.requests) == 16
    assert sorted(int(a.text) for a in answers) == list(range(16))


# -- the key -------------------------------------------------------------------------------------------------------


def test_the_key_is_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    leaks: list[Step] = [
        status(401, error=f"Incorrect API key provided: {KEY}"),
        status(400, error=f"headers: Bearer {KEY}"),
        raw(f'{{"error": "your key is {KEY}"}}'.encode()),
        raw(f"not json {KEY}".encode()),
        answer(f"your key is {KEY}, and a patch"),
        refusal(f"not with {KEY}"),
        DROP,
    ]
    shown: list[str] = []
    for leak in leaks:
        outcome, events, _ = ask([leak], RetryPolicy(tries=1))
        shown += [repr(outcome), str(outcome), repr(events)]
        if isinstance(outcome, CallFailed):
            shown += traceback.format_exception(outcome)
            assert outcome.__cause__ is None
            assert outcome.__context__ is None
    llm = client("http://localhost:1/v1")
    shown += [repr(llm), str(llm), repr(llm.settings), caplog.text]
    assert "[key removed]" in "".join(shown)
    assert KEY not in "\n".join(shown)


def test_a_missing_key_names_the_variable_and_ends_with_3() -> None:
    for environ in ({}, {"TEST_KEY": ""}, {"TEST_KEY": "  "}):
        with pytest.raises(MachineError, match="TEST_KEY is not set") as missing:
            OpenAILLM(settings("http://h/v1"), stopping=threading.Event(), environ=environ)
        assert missing.value.exit_code == 3


def test_a_key_that_cannot_be_sent_is_refused_without_being_shown() -> None:
    for broken in ("sk-one\nsk-two", "sk-schlüssel"):
        with pytest.raises(MachineError, match="TEST_KEY") as refused:
            OpenAILLM(settings("http://h/v1"), stopping=threading.Event(), environ={"TEST_KEY": broken})
        assert broken not in str(refused.value)


def test_a_server_without_keys_gets_none_from_the_environment() -> None:
    environ = {"OPENAI_API_KEY": KEY}
    with OpenAIServer([answer("ok")]) as server:
        llm = OpenAILLM(settings(server.url, api_key_env=None), stopping=threading.Event(), environ=environ)
        llm.complete(ASK, key="k", observe=lambda _: None)
        assert KEY not in str(server.requests)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://h/v1", "http://", "http://h:99999/v1", "http://[/v1", ""])
def test_a_base_url_that_is_none_is_bad_input(url: str) -> None:
    with pytest.raises(InputError, match="base_url") as refused:
        client(url)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("url", ["http://user:geheim@h/v1", "http://h/v1?key=geheim"])
def test_a_secret_in_the_base_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InputError, match="api_key_env") as refused:
        client(url)
    assert "geheim" not in str(refused.value)


def test_no_environment_variable_redirects_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer() as other, OpenAIServer([answer("ok")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        client(server.url).complete(ASK, key="k", observe=lambda _: None)
        assert (len(other.requests), len(server.requests)) == (0, 1)


def test_openai_is_imported_when_it_is_first_needed() -> None:
    code = "import sys, evolve.propose.openai_llm; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

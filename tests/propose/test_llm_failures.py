"""Requests that fail: which are asked again, after which wait, and when it is enough."""

import dataclasses
import random
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from evolve.core.completion import CallEvent, CallFailed, Completion, PatchKey
from evolve.propose.retry import RetryPolicy, retry_after
from evolve.propose.waking import WakingEvent
from tests.openai_server import DROP, HANG, Behaviour, OpenAIServer, answer, no_choices, raw, status
from tests.propose.asking import ASK, FAST, ask, client


@pytest.mark.parametrize(
    ("step", "reason", "http", "billed"),
    [
        (status(429, error="slow down"), "rate_limited", 429, False),
        (status(500), "server_error", 500, False),
        (status(503), "server_error", 503, False),
        (raw(b"<html>Bad gateway</html>", status=502), "server_error", 502, False),
        (raw(b"\n<!DOCTYPE html><html>Sign in</html>"), "bad_response", 200, False),  # a proxy's, and no model's
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
    assert events[1].again_in_s is not None


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
    assert events[-1].again_in_s is None
    assert events[-1].tries == (FAST.tries, FAST.tries)


@pytest.mark.parametrize(
    ("step", "reason", "message"),
    [
        (status(401, error="bad key"), "auth", "TEST_KEY"),
        (status(403), "auth", "TEST_KEY"),
        (status(404, error="no such model"), "not_found", "no such model"),
        (status(400, error="context length exceeded"), "bad_request", "context length exceeded"),
        (status(400, error="maximum context length is 2048 tokens"), "bad_request", "lower the run's prompt_tokens"),
        (status(422), "bad_request", "HTTP 422"),
        (status(429, code="insufficient_quota"), "quota", "credit"),
        (status(400, error="max_tokens is too large"), "bad_request", "too large"),
    ],
)
def test_a_lasting_failure_is_not_asked_again(step: Behaviour, reason: str, message: str) -> None:
    outcome, events, server = ask([step], max_tokens=100)
    assert isinstance(outcome, CallFailed)
    assert outcome.reason == reason
    assert message in str(outcome)
    assert len(server.requests) == 1
    assert (events[1].status, events[1].usage.cost_usd) == (reason, 0.0)


def test_a_server_that_does_not_exist_is_a_connection_failure_that_cost_nothing() -> None:
    with OpenAIServer() as gone:
        url = gone.url
    events: list[CallEvent] = []
    with pytest.raises(CallFailed, match="no connection") as failed:
        client(url).complete(ASK, key=PatchKey(1, 0), observe=events.append)
    assert failed.value.reason == "connection"
    assert [e.usage.cost_usd for e in events if e.phase == "failed"] == [0.0] * FAST.tries


@pytest.mark.parametrize("http", [429, 503])
def test_what_a_server_asks_for_is_waited_for(http: int) -> None:
    patient = RetryPolicy(tries=2, first_wait_s=30.0, longest_wait_s=60.0)
    outcome, events, _ = ask([status(http, retry_after="0.02"), answer("ok")], patient)
    assert isinstance(outcome, Completion)
    assert events[1].again_in_s == 0.02


def test_a_server_in_trouble_cannot_ask_for_more_than_the_longest_wait() -> None:
    capped = RetryPolicy(tries=2, first_wait_s=0.001, longest_wait_s=0.1)
    outcome, events, _ = ask([status(503, retry_after="3600"), answer("ok")], capped)
    assert isinstance(outcome, Completion)
    assert events[1].again_in_s == 0.1


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


@pytest.mark.parametrize("output", [False, True], ids=["refused", "nothing is left"])
def test_a_long_wait_is_a_failure_of_those_behind_it_too(output: bool) -> None:
    """Of one that waits already, and of one that comes later: neither is sent."""
    waits, failed = threading.Event(), list[CallFailed]()
    none_left = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "11h"}
    long = dataclasses.replace(answer("ok"), headers=none_left) if output else status(429, retry_after="40000")
    with OpenAIServer([status(429, retry_after="1"), long]) as server:
        llm = client(server.url, RetryPolicy())

        def observe(event: CallEvent) -> None:
            if event.phase == "waiting":
                waits.set()

        def complete(key: PatchKey) -> None:
            try:
                llm.complete(ASK, key=key, observe=observe)
            except CallFailed as one:
                failed.append(one)

        threads = [threading.Thread(target=complete, args=(PatchKey(1, 0),), daemon=True)]
        threads[0].start()
        assert waits.wait(60)
        threads.append(threading.Thread(target=complete, args=(PatchKey(2, 0),), daemon=True))
        threads[1].start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        complete("c")
        assert len(server.requests) == 2
    assert [one.reason for one in failed] == ["rate_limited"] * (2 if output else 3)
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


@pytest.mark.parametrize("waiting", [False, True], ids=["in a call", "between calls"])
def test_a_run_that_ends_does_not_wait_for_a_server(waiting: bool) -> None:
    stopping = WakingEvent()
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
                    llm.complete(ASK, key=PatchKey(1, 0), observe=observe)
                except CallFailed as failed:
                    reasons.append(failed.reason)

        thread = threading.Thread(target=ask_twice, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        assert reasons == ["cancelled", "cancelled"]
        assert len(server.requests) == 1
    assert [e.phase for e in events] == ["calling", "failed"]

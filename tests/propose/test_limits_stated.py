"""What servers say of their limits, as they say it; and one limiter for all the models behind an endpoint."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.completion import CallEvent, Completion, Message, PatchKey
from evolve.core.config import ModelConfig
from evolve.propose.limiter import Limiters
from evolve.propose.openai_llm import EndpointKnowledge, OpenAILLM
from evolve.propose.retry import duration, stated_wait
from evolve.propose.waking import WakingEvent
from tests.openai_server import OpenAIServer, answer, raw, status

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("20ms", 0.02),
        ("2m59.56s", 179.56),
        ("1h2m3s", 3723.0),
        ("1d", 86400.0),
        ("7.66s", 7.66),
        ("12", 12.0),
        (str(NOW + 30), 30.0),
        (str(int((NOW + 30) * 1000)), 30.0),
        (str(NOW - 30), 0.0),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("3 apples", None),
        (None, None),
    ],
)
def test_every_form_of_a_duration_is_read(text: str | None, seconds: float | None) -> None:
    found = duration(text, now=NOW)
    assert found is None if seconds is None else found == pytest.approx(seconds)


@given(st.text())
def test_no_text_is_a_duration_below_nothing(text: str) -> None:
    found = duration(text, now=NOW)
    assert found is None or found >= 0


NONE_LEFT = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "60s"}


@pytest.mark.parametrize(
    ("headers", "refused", "wait"),
    [
        ({"retry-after-ms": "250", "retry-after": "1"}, True, 0.25),
        ({"retry-after": "2"}, True, 2.0),
        ({"retry-after": "2", **NONE_LEFT}, True, 2.0),
        ({"retry-after": "2"}, False, None),
        (NONE_LEFT, True, 60.0),
        (NONE_LEFT, False, 60.0),
        ({**NONE_LEFT, "x-ratelimit-limit-requests": "120"}, False, 0.5),  # one request of 120 is there again
        ({**NONE_LEFT, "x-ratelimit-remaining-requests": "1"}, False, None),
        ({"x-ratelimit-remaining-requests": "0"}, True, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, True, 360.0),
        (
            {
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "10s",
                "x-ratelimit-limit-tokens": "50000",
            },
            False,
            1.0,
        ),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(NOW + 5)}, True, 5.0),
        ({}, True, None),
    ],
)
def test_a_wait_is_what_the_server_says_it_is(headers: dict[str, str], refused: bool, wait: float | None) -> None:
    found = stated_wait(headers, now=NOW, refused=refused, tokens=5000)
    assert found is None if wait is None else found == pytest.approx(wait)


def test_the_models_behind_one_endpoint_wait_together_and_others_do_not() -> None:
    """A model must wait for a minute: the other model of that endpoint waits, a model elsewhere is asked."""
    limiters, stopping = Limiters(), WakingEvent()
    held, asked = threading.Event(), [Message(role="user", content="?")]
    waiting: list[str] = []

    def client(name: str, url: str, variable: str = "A") -> OpenAILLM:
        settings = ModelConfig(name=name, model=name, base_url=url, api_key_env=variable)
        limiter = limiters.of(settings)
        return OpenAILLM(
            settings, stopping=stopping, known=EndpointKnowledge(limiter=limiter), environ={"A": "a" * 9, "B": "b" * 9}
        )

    def observe(event: CallEvent) -> None:
        if event.phase == "waiting":
            waiting.append(event.model)
            if {"slow", "same"} <= set(waiting):
                held.set()

    def complete(name: str, url: str) -> None:
        with pytest.raises(Exception, match="the run is ending"):
            client(name, url).complete(asked, key=PatchKey(1, 0), observe=observe)

    with (
        OpenAIServer([status(429, retry_after="60")], default=answer("x")) as server,
        OpenAIServer(default=answer("y")) as elsewhere,
    ):
        slow = threading.Thread(target=complete, args=("slow", server.url))
        slow.start()
        while "slow" not in waiting and slow.is_alive():
            threading.Event().wait(0.01)
        same = threading.Thread(target=complete, args=("same", server.url + "/"))
        same.start()
        assert held.wait(60)
        for other in (client("other", elsewhere.url), client("key", server.url, "B")):
            assert isinstance(other.complete(asked, key=PatchKey(1, 0), observe=observe), Completion)
        stopping.set()
        slow.join(60)
        same.join(60)
        assert [request.json["model"] for request in server.requests] == ["slow", "key"]


def test_cached_tokens_are_counted_at_their_own_price() -> None:
    body = answer("x", tokens=(1000, 100)).body
    stated = body.replace(
        b'"prompt_tokens": 1000', b'"prompt_tokens_details": {"cached_tokens": 800}, "prompt_tokens": 1000'
    )
    costs = []
    for price_cached in (0.5, None):
        with OpenAIServer(default=raw(stated)) as server:
            settings = ModelConfig(
                name="m",
                model="m",
                base_url=server.url,
                api_key_env=None,
                price_in=2.0,
                price_out=8.0,
                price_cached=price_cached,
            )
            llm = OpenAILLM(settings, stopping=WakingEvent())
            usage = llm.complete([Message(role="user", content="?")], key=PatchKey(1, 0), observe=lambda _: None).usage
        assert (usage.tokens_in, usage.tokens_cached) == (1000, 800)
        costs.append(usage.cost_usd)
    assert costs == [pytest.approx((200 * 2 + 800 * 0.5 + 100 * 8) / 1e6), pytest.approx((1000 * 2 + 100 * 8) / 1e6)]


def test_without_a_limit_the_longest_but_one_in_twenty_is_reckoned_with() -> None:
    numbers = iter(range(1, 1000))
    with OpenAIServer(default=lambda _: answer("x", tokens=(10, next(numbers)))) as server:
        settings = ModelConfig(name="m", model="m", base_url=server.url, api_key_env=None)
        llm, expected = OpenAILLM(settings, stopping=WakingEvent()), list[int]()

        def observe(event: CallEvent) -> None:
            if event.phase == "calling":
                expected.append(event.usage.tokens_out)

        for number in range(41):
            llm.complete([Message(role="user", content="?")], key=str(number), observe=observe)
    assert expected[:20] == [2000] * 20
    assert (expected[20], expected[40]) == (19, 38)

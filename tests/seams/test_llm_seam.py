"""What every LLM promises, for each that there is."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evolve.core.completion import (
    FAILURE_REASONS,
    FINISH_REASONS,
    CallEvent,
    CallFailed,
    Message,
    PatchKey,
)
from evolve.core.config import ModelConfig
from evolve.propose.command_llm import CommandLLM
from evolve.propose.openai_llm import OpenAILLM
from evolve.propose.retry import RetryPolicy
from evolve.propose.scripted import ScriptedLLM
from evolve.propose.waking import WakingEvent
from evolve.seams import LLM
from tests.openai_server import OpenAIServer, answer, status
from tests.seams.plugins import loaded

ASK = [Message(role="system", content="be brief"), Message(role="user", content="hello")]


@contextmanager
def scripted(folder: Path) -> Iterator[LLM]:
    file = folder / "script.yaml"
    file.write_text(
        "answers: [{text: hi, tokens_in: 7, tokens_out: 2}, {text: cut, finish_reason: length}, {error: server_error}]"
    )
    yield ScriptedLLM(file)


@contextmanager
def over_http(folder: Path) -> Iterator[LLM]:
    texts = {"1": answer("hi", tokens=(7, 2)), "2": answer("cut", finish_reason="length"), "3": status(500)}
    with OpenAIServer(default=lambda request: texts[request["model"]]) as server:

        class ByKey:
            """The generation picks the behaviour, which a real server cannot know: it travels as the model."""

            name = "http"

            def estimate_usd(self, tokens_in):  # type: ignore[no-untyped-def]
                return tokens_in * 1e-6

            def complete(self, messages, *, key, observe):  # type: ignore[no-untyped-def]
                settings = ModelConfig(
                    name="http", model=str(key.generation), base_url=server.url, api_key_env=None, timeout_s=10
                )
                retry = RetryPolicy(tries=2, first_wait_s=0.001)
                llm = OpenAILLM(settings, stopping=WakingEvent(), retry=retry)
                return llm.complete(messages, key=key, observe=observe)

        yield ByKey()


@contextmanager
def somebody_elses(folder: Path) -> Iterator[LLM]:
    yield loaded(folder, "my_llm").Echo(ModelConfig(name="echo", model="x", api_key_env=None))


@contextmanager
def command(folder: Path) -> Iterator[LLM]:
    prices = {"price_in": 1.0, "price_out": 2.0}
    settings = ModelConfig(name="tool", model="tool", command=["sed", "s/hello/hi/"], api_key_env=None, **prices)
    yield CommandLLM(settings, stopping=WakingEvent())


@pytest.fixture(params=[scripted, over_http, somebody_elses, command])
def llm(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LLM]:
    with request.param(tmp_path) as made:
        yield made


@pytest.fixture(params=[scripted, over_http])
def failing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LLM]:
    """Those that can be made to fail: generation 2 is cut off, and 3 is a server error."""
    with request.param(tmp_path) as made:
        yield made


def test_an_answer_is_announced_and_reported(llm: LLM) -> None:
    events: list[CallEvent] = []
    done = llm.complete(ASK, key=PatchKey(1, 0), observe=events.append)
    assert done.text
    assert done.finish_reason == "stop"
    assert [e.phase for e in events] == ["calling", "answered"]
    assert events[1].status == "stop"
    assert events[1].usage == done.usage


def test_one_request_has_one_answer(llm: LLM) -> None:
    first, again = (llm.complete(ASK, key=PatchKey(1, 0), observe=lambda _: None) for _ in range(2))
    assert (again.text, again.usage.tokens_in, again.usage.cost_usd) == (
        first.text,
        first.usage.tokens_in,
        first.usage.cost_usd,
    )


def test_it_has_a_name_and_a_price(llm: LLM) -> None:
    assert llm.name
    assert 0 <= llm.estimate_usd(100) <= llm.estimate_usd(1000)


def test_tokens_and_cost_are_reported(failing: LLM) -> None:
    done = failing.complete(ASK, key=PatchKey(1, 0), observe=lambda _: None)
    assert (done.text, done.usage.tokens_in, done.usage.tokens_out) == ("hi", 7, 2)


def test_an_unusable_ending_is_an_answer_and_no_failure(failing: LLM) -> None:
    done = failing.complete(ASK, key=PatchKey(2, 0), observe=lambda _: None)
    assert done.finish_reason == "length"
    assert done.finish_reason in FINISH_REASONS


def test_a_failure_is_raised_after_its_event(failing: LLM) -> None:
    events: list[CallEvent] = []
    with pytest.raises(CallFailed) as failed:
        failing.complete(ASK, key=PatchKey(3, 0), observe=events.append)
    assert failed.value.reason == "server_error"
    assert failed.value.reason in FAILURE_REASONS
    assert [e.phase for e in events] == ["calling", "failed"] * (len(events) // 2)
    assert [e.call for e in events] == [index // 2 for index in range(len(events))]
    assert events[-1].status == "server_error"


def test_what_the_observer_raises_ends_the_call(llm: LLM) -> None:
    def refuse(_: CallEvent) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        llm.complete(ASK, key=PatchKey(1, 0), observe=refuse)


def test_it_may_be_asked_from_threads(llm: LLM) -> None:
    alone = llm.complete(ASK, key=PatchKey(1, 0), observe=lambda _: None).text
    texts: list[str] = []

    def one() -> None:
        texts.append(llm.complete(ASK, key=PatchKey(1, 0), observe=lambda _: None).text)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [alone] * 4

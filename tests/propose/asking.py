"""One request to a server of ours by the real client."""

import functools

import httpx2
import openai

from evolve.core.completion import CallEvent, CallFailed, Completion, Message, PatchKey
from evolve.core.config import ModelConfig
from evolve.propose.openai_llm import OpenAILLM
from evolve.propose.reply import Reply, Unreadable, read_reply
from evolve.propose.retry import RetryPolicy
from evolve.propose.waking import WakingEvent
from tests.openai_server import OpenAIServer, Step

KEY = "sk-test-2f9c1d7be04a4c55"
FAST = RetryPolicy(tries=4, first_wait_s=0.001, longest_wait_s=0.05)
ASK = [Message(role="user", content="x" * 400)]


def settings(url: str, **changes: object) -> ModelConfig:
    base: dict[str, object] = {
        "name": "m",
        "model": "test-model",
        "base_url": url,
        "api_key_env": "TEST_KEY",
        "timeout_s": 10.0,
        "price_in": 2.0,
        "price_out": 8.0,
    }
    return ModelConfig(**{**base, **changes})  # type: ignore[arg-type]


def client(url: str, retry: RetryPolicy = FAST, stopping: WakingEvent | None = None, **changes: object) -> OpenAILLM:
    stopping = stopping or WakingEvent()
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
            outcome = llm.complete(ASK, key=PatchKey(1, 0), observe=lambda e: e.phase == "waiting" or events.append(e))
        except CallFailed as failed:
            outcome = failed
        llm.close()
    assert [e.call for e in events] == [i // 2 for i in range(len(events))]
    assert [e.phase for e in events[::2]] == ["calling"] * len(server.requests)
    return outcome, events, server


@functools.cache
def _sdk() -> openai.OpenAI:
    return openai.OpenAI(api_key="none", base_url="http://127.0.0.1:9/v1")


def read(body: bytes, api: str = "chat") -> Reply | Unreadable:
    """What a body says as the 200 answer of an API, or why it says nothing."""
    answer = httpx2.Response(200, content=body, request=httpx2.Request("POST", "http://x/"))
    try:
        return read_reply(answer, api, _sdk())
    except Unreadable as fault:
        return fault

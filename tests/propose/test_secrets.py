"""Secrets in headers and queries come from the environment, and are shown nowhere; a misplaced key is refused."""

import logging
import traceback
from typing import Any

import pytest

from evolve.core.completion import CallEvent, CallFailed, Message, PatchKey
from evolve.core.config import ModelConfig, build_config
from evolve.core.errors import InputError, MachineError
from evolve.core.secrecy import looks_like_a_key
from evolve.propose.openai_llm import OpenAILLM
from evolve.propose.retry import RetryPolicy
from evolve.propose.waking import WakingEvent
from evolve.trust import named_things
from tests.openai_server import OpenAIServer, Received, answer, raw, status

KEY = "sk-test-2f9c1d7be04a4c55"
HEADER = "h/eader+7e04a4c552f9c1d7b"
QUERY = "query 9c1d7be04a4c55"
ENVIRON = {"TEST_KEY": KEY, "HEADER_KEY": HEADER, "QUERY_KEY": QUERY}
ASK = [Message(role="user", content="hello")]


def client(url: str, **changes: Any) -> OpenAILLM:
    base: dict[str, Any] = {"name": "m", "model": "test", "base_url": url, "api_key_env": "TEST_KEY", "timeout_s": 10.0}
    settings = ModelConfig.model_construct(**{**base, **changes})  # what no configuration may say is tried, too
    return OpenAILLM(settings, stopping=WakingEvent(), retry=RetryPolicy(tries=1), environ=ENVIRON)


def test_headers_and_query_are_sent_with_variables_put_in() -> None:
    with OpenAIServer(endpoint=lambda _: answer("ok")) as server:
        llm = client(
            server.url,
            api_key_env=None,
            headers={"api-key": "$HEADER_KEY", "X-Title": "evolve", "X-Auth": "Token ${HEADER_KEY}!"},
            query={"api-version": "2024-10-21", "key": "$QUERY_KEY"},
        )
        llm.complete(ASK, key=PatchKey(1, 0), observe=lambda _: None)
        (request,) = server.requests
    assert request.headers["api-key"] == HEADER
    assert (request.headers["x-title"], request.headers["x-auth"]) == ("evolve", f"Token {HEADER}!")
    assert request.query == {"api-version": "2024-10-21", "key": QUERY}
    assert "authorization" not in request.headers


def test_secrets_of_headers_and_query_are_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def repeats(received: Received) -> Any:
        repeated = f"you sent {received.headers} {dict(received.query)} {server.requests}"
        return [
            status(400, error=repeated),
            status(401, error=repeated),
            raw(repeated.encode()),
            raw(b"x" * 70 + HEADER.encode()),
            answer(repeated, reasoning_content=repeated),
        ][len(server.requests) - 1]

    shown: list[str] = []
    events: list[CallEvent] = []
    with OpenAIServer(endpoint=repeats) as server:
        llm = client(server.url, headers={"X-Other": "$HEADER_KEY"}, query={"key": "$QUERY_KEY"})
        for number in range(5):
            try:
                shown.append(repr(llm.complete(ASK, key=PatchKey(number, 0), observe=events.append)))
            except CallFailed as failed:
                shown += [str(failed), *traceback.format_exception(failed)]
        shown += [repr(llm), repr(llm.settings), repr(events), caplog.text, repr(llm._secrets)]
    output = "\n".join(shown)
    assert "[key removed]" in output
    for secret in (KEY, HEADER, QUERY, QUERY.replace(" ", "+"), QUERY.replace(" ", "%20"), HEADER[:20], KEY[:20]):
        assert secret not in output, secret


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(MachineError, match="NOT_THERE is not set"):
        client("http://h/v1", headers={"api-key": "$NOT_THERE"})


@pytest.mark.parametrize(
    "changes",
    [
        {"headers": {"X-Note": KEY}},
        {"headers": {KEY: "x"}},
        {"query": {"v": f"a{KEY}b"}},
        {"extra_body": {"user": {"deep": [KEY]}}},
        {"model": KEY},
        {"name": KEY},
        {"base_url": f"http://h/{KEY}/v1"},
        {"headers": {"X-Other": "$HEADER_KEY", "X-Note": HEADER}},
    ],
)
def test_a_literal_that_is_the_key_is_refused_and_not_repeated(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="not shown") as refused:
        client(changes.pop("base_url", "http://h/v1"), **changes)
    assert KEY not in str(refused.value) and HEADER not in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": KEY},
        {"name": KEY},
        {"base_url": f"http://h/v1/{KEY}"},
        {"headers": {"x-note": KEY}},
        {"headers": {"x-note": "Bearer 8fJ2kLm9QxR4tYv7WzA1bC3dE5"}},
        {"headers": {"Authorization": "geheim"}},
        {"headers": {"x-api-key": "geheim2$uperSecret99"}},
        {"headers": {"x-api-key": "$NAME-geheim"}},
        {"headers": {"Authorization": "Basic geheim=$X"}},
        {"headers": {"Authorization": "geheim $X"}},
        {"headers": {"Authorization": "Bearer geheim"}},
        {"headers": {"cookie": "session=geheim${X}"}},
        {"query": {"api_key": "geheim$$X"}},
        {"headers": KEY},
        {"query": {"key": "geheim"}},
        {"query": {"code": "0a1b2c3d4e5f60718293a4b5c6d7e8f9"}},
        {"extra_body": {"metadata": [{"k": KEY}]}},
        {"extra_body": {"model": "x"}},
        {"extra_body": {"geheim": float("nan")}},
        {"extra_body": {"geheim": {1, 2}}},
        {"api_key_env": KEY},
        {"effort": KEY},
        {"price_in": KEY},
        {KEY: 1},
        {"temperature": [0.1, KEY]},
    ],
)
def test_what_looks_like_a_key_is_refused_and_not_repeated(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError) as refused:
        build_config({"models": [{"model": "m"} | changes]}, origin="x.yaml")
    message = str(refused.value)
    assert (
        "geheim" not in message
        and "uperSecret99" not in message
        and KEY[3:] not in message
        and "8fJ2kLm9" not in message
        and "0a1b2c" not in message
    )
    if set(changes) & {"headers", "query"} and not isinstance(changes.get("headers"), str):
        assert "$NAME" in message


@pytest.mark.parametrize(
    "value", ["$NAME", "${NAME}", "$ONE${TWO}", "Bearer $NAME", "basic ${NAME}", "ApiKey $NAME", "Api-Key $NAME", ""]
)
def test_a_secret_that_is_named_is_accepted(value: str) -> None:
    (model,) = build_config({"models": [{"model": "m", "headers": {"x-api-key": value}}]}, origin="x.yaml").models
    assert model.headers == {"x-api-key": value}


@pytest.mark.parametrize(
    "name",
    [
        "hf.co/unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF:UD-Q4_K_XL",
        "accounts/fireworks/models/llama-v3p1-405b-instruct",
        "anthropic/claude-sonnet-4-5-20250929",
        "ft:gpt-4o-mini-2024-07-18:org::AbC123xy",
        "deepseek_r1_distill_qwen_32b_q4",
        "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf",
        "gpt-5-mini",
    ],
)
def test_names_of_models_look_like_no_key(name: str) -> None:
    assert not looks_like_a_key(name)


@pytest.mark.parametrize("headers", [{"X-Title": "ü"}, {"X Title": "a"}, {"X-Title": "a\nb"}, {"X-Title": 1}])
def test_headers_that_cannot_be_sent_are_refused(headers: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="headers: must map"):
        build_config({"models": [{"model": "m", "headers": headers}]}, origin="x.yaml")


def test_somebody_elses_run_says_which_variables_it_would_send() -> None:
    model = {"model": "m", "base_url": "http://evil/v1", "api_key_env": None, "headers": {"x": "$AWS_SECRET"}}
    (line, _) = named_things(build_config({"models": [model | {"query": {"k": "${OTHER}"}}]}, origin="x"))
    assert "$AWS_SECRET, $OTHER" in line

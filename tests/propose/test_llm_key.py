"""The key goes to the endpoint that it is for, and is shown nowhere."""

import logging
import subprocess
import sys
import traceback

import pytest

from evolve.core.completion import CallFailed, PatchKey
from evolve.core.errors import InputError, MachineError
from evolve.propose.openai_llm import OpenAILLM
from evolve.propose.retry import RetryPolicy
from evolve.propose.waking import WakingEvent
from tests.openai_server import DROP, OpenAIServer, Step, answer, raw, refusal, status
from tests.propose.asking import ASK, KEY, ask, client, settings


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
            OpenAILLM(settings("http://h/v1"), stopping=WakingEvent(), environ=environ)
        assert missing.value.exit_code == 3


def test_a_key_that_cannot_be_sent_is_refused_without_being_shown() -> None:
    for broken in ("sk-one\nsk-two", "sk-schlüssel"):
        with pytest.raises(MachineError, match="TEST_KEY") as refused:
            OpenAILLM(settings("http://h/v1"), stopping=WakingEvent(), environ={"TEST_KEY": broken})
        assert broken not in str(refused.value)


def test_a_server_without_keys_gets_none_from_the_environment() -> None:
    environ = {"OPENAI_API_KEY": KEY}
    with OpenAIServer([answer("ok")]) as server:
        llm = OpenAILLM(settings(server.url, api_key_env=None), stopping=WakingEvent(), environ=environ)
        llm.complete(ASK, key=PatchKey(1, 0), observe=lambda _: None)
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
        client(server.url).complete(ASK, key=PatchKey(1, 0), observe=lambda _: None)
        assert (len(other.requests), len(server.requests)) == (0, 1)


def test_openai_is_imported_when_it_is_first_needed() -> None:
    code = "import sys, evolve.propose.openai_llm; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

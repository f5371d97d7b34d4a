"""`evolve doctor` asks the models of a configuration what a run would ask them first."""

import json
from pathlib import Path

import pytest

from evaluator.check import Check, Finding
from evolve.apps.doctor.endpoints import check_models
from evolve.core.settings import configured
from tests.loop.climbing import KEY, configure, evolve, finish, model, patch
from tests.openai_server import Behaviour, OpenAIServer, Received, answer, raw, status


def checks_of(config: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Check]:
    """What doctor says of the models of a configuration, by name; the machine is not looked at."""
    monkeypatch.setenv("CLIMB_KEY", KEY)
    return {check.name: check for check in check_models(configured(config, models=None, endpoint={}))}


@pytest.mark.slow
def test_doctor_puts_the_first_question_of_a_run_to_each_model_when_shown_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts: list[str] = []

    def behave(received: Received) -> Behaviour:
        if received.path == "/v1/models":
            return raw(json.dumps({"data": [{"id": "m", "max_model_len": 33_000}]}).encode())
        prompts.append(received.json["messages"][0]["content"])
        if received.json["model"] == "other":
            return status(401, error="who are you?")
        if "temperature" in received.json:
            return status(400, error="Unsupported value: 'temperature' does not support 0.7 with this model.")
        return answer(patch(0.5), tokens=(9, 1))

    with OpenAIServer(endpoint=behave) as server:
        alone = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
        evolve(tmp_path, "doctor", environment=alone, code=None)
        assert server.requests == [], "a key alone asks nobody"
        models = [
            model(server.url, temperature=0.7, top_p=0.9, max_tokens=5000),
            model(server.url, model="other"),
            model(server.url, name="x", api_key_env="NONE"),
        ]
        config = configure(tmp_path, models=models)
        shown = evolve(tmp_path, "doctor", "--endpoint", config, code=1).stdout
        assert list(tmp_path.iterdir()) == [tmp_path / "config.yaml"]
        checks = checks_of(config, monkeypatch)
        finish(tmp_path, "run", config, "--name", "r", "--generations", "1", "--model", "m")
    assert checks["model m"].state is Finding.OK
    assert "9 tokens in, 1 out" in checks["model m"].detail
    parameters = checks["model m: parameters"]
    assert parameters.detail == "accepts top_p 0.9, max_tokens 5000; adapted: temperature dropped"
    assert parameters.settings == {"temperature": None}
    assert checks["model m: usage"].detail == "reported"
    context = checks["model m: context"]
    assert "33,000 tokens" in context.detail
    assert (context.state, context.settings) == (Finding.BROKEN, {"prompt_tokens": 28_000})
    assert checks["model m: patch"].state is Finding.OK
    assert checks["model m: cost"].detail == "0.000026 USD for this question"
    assert checks["model other"].state is Finding.BROKEN
    assert "CLIMB_KEY" in checks["model other"].fix
    assert checks["model x"].state is Finding.ABSENT
    assert "NONE is not set" in checks["model x"].fix
    assert "model m: parameters: put into the configuration: temperature: null" in shown
    assert len(set(prompts)) == 1, "what doctor asks is what a run asks first"


def test_doctor_says_why_an_answer_is_no_patch_and_what_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer(default=answer("I would rather not.", tokens=None)) as server:
        config = configure(tmp_path, models=[model(server.url, price_in=None, price_out=None)])
        checks = checks_of(config, monkeypatch)
    assert checks["model m: patch"].state is Finding.BROKEN
    assert "no SEARCH/REPLACE block" in checks["model m: patch"].detail
    assert (checks["model m: usage"].state, checks["model m: usage"].needed) == (Finding.ABSENT, False)
    assert checks["model m: cost"].detail == "price unknown"
    assert checks["model m: context"].detail.startswith("not stated; ")


def test_doctor_follows_no_redirect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer(endpoint=lambda received: answer("caught")) as other:
        away = Behaviour(status=307, headers={"Location": f"{other.url}/chat/completions"})
        with OpenAIServer(endpoint=lambda received: away) as server:
            config = configure(
                tmp_path, models=[model(server.url, api_key_env=None, headers={"api-key": "$CLIMB_KEY"})]
            )
            check = checks_of(config, monkeypatch)["model m"]
            assert server.requests[0].headers["api-key"]
        assert other.requests == []
    assert check.state is Finding.BROKEN
    assert f"the server redirects to '{other.url}/chat/completions'" in check.fix


def test_doctor_wants_a_model_to_ask(tmp_path: Path) -> None:
    assert "no model is named" in evolve(tmp_path, "doctor", "--endpoint", code=2).stderr
    assert "--endpoint" in evolve(tmp_path, "doctor", "--model", "m", code=2).stderr

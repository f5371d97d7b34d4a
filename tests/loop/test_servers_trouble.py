"""What a person sees of a model's server that refuses, fails or answers without a patch."""

from pathlib import Path

import yaml

from tests.loop.climbing import configure, evolve, model, patch, script
from tests.openai_server import OpenAIServer, answer, status

CURVE = str(Path(__file__).resolve().parents[1] / "data" / "curve")


def test_a_refusal_is_reported_at_once_and_accounted_for_at_the_end(tmp_path: Path) -> None:
    busy = status(429, retry_after="0.1", error="Rate limit reached for fake-8b")
    with OpenAIServer([busy], default=answer("I would raise RESTARTS.")) as server:
        ran = evolve(tmp_path, "run", configure(tmp_path, models=[model(server.url)], generations=3), "--yes", code=1)
    assert "m: HTTP 429: Rate limit reached for fake-8b; next try in 0 s" in ran.stdout
    assert "1 call: HTTP 429: Rate limit reached for fake-8b" in ran.stdout
    assert "answers in a row held no patch; the last begins: I would raise RESTARTS." in ran.stdout
    assert "proposals" in ran.stdout
    assert "3: 3 refused" in ran.stdout
    assert "--answer" in ran.stdout
    assert "export" not in ran.stdout
    assert "ended with: an answer without a patch" in ran.stderr


def test_a_server_that_wants_a_key_is_quoted_once(tmp_path: Path) -> None:
    with OpenAIServer(default=status(401, error="Incorrect API key")) as server:
        ran = evolve(tmp_path, "run", configure(tmp_path, models=[model(server.url)], generations=9), "--yes", code=1)
    assert ran.stdout.count("check the key in the environment variable") == 1
    assert "No model answered: HTTP 401: Incorrect API key" in ran.stdout


def test_no_model_is_asked_to_improve_a_program_that_never_answers(tmp_path: Path) -> None:
    initial = tmp_path / "broken.py"
    initial.write_text((Path(CURVE) / "initial.py").read_text().replace("return A", "return 1 / 0 + A"))
    with OpenAIServer(default=answer("no patch")) as server:
        config = configure(
            tmp_path, task=CURVE, initial=str(initial), models=[model(server.url)], generations=1, attempts=1
        )
        refused = evolve(tmp_path, "run", config, "--yes", code=2)
        assert server.requests == []
        evolve(tmp_path, "run", config, "--yes", "--fix-initial", code=1)
        assert len(server.requests) == 1
    assert "gives no valid answer (exception: ZeroDivisionError: division by zero" in refused.stderr
    assert "--fix-initial" in refused.stderr


def test_a_session_without_an_answer_fails_whatever_earlier_sessions_found(tmp_path: Path) -> None:
    config = configure(tmp_path, models=[script(tmp_path, [patch(0.5)])], generations=1)
    evolve(tmp_path, "run", config, "--name", "r")
    ran = evolve(tmp_path, "resume", "r", "--generations", "3", code=1)  # the script has no more answers
    assert "no model gave an answer in this session (why: " in ran.stderr and "show runs/r 3)" in ran.stderr
    assert "does the model answer?" not in ran.stdout, "answers come from a file: there is no endpoint to try"
    (tmp_path / "script.yaml").write_text(yaml.safe_dump({"answers": ["none", patch(0.5), patch(0.75)]}))
    evolve(tmp_path, "resume", "r", "--generations", "3")
    evolve(tmp_path, "resume", "r", "--generations", "3")  # nothing is left to be asked

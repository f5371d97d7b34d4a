"""What a newcomer types first: a model at a server, an unknown command or option, the name of a task."""

import shutil
from pathlib import Path

import pytest

from evaluator.errors import TaskError
from evaluator.task_files import load_task
from evolve.cli.main import main
from tests.loop.climbing import patch
from tests.openai_server import OpenAIServer, answer

CLIMB = Path(__file__).parent.parent / "data" / "climb"
SMALL = ("--task", CLIMB, "--generations", 2, "--parallel", 1, "--seed", 1)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def refused(capsys):
    """Runs a command that argparse refuses, and returns what it said."""

    def call(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        assert ended.value.code == 2
        return capsys.readouterr().err

    return call


def test_without_a_word_the_help_is_shown(capsys):
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert "evolve programs for a task" in capsys.readouterr().out


@pytest.mark.parametrize(("typed", "meant"), [("ls", "list"), ("resmue", "resume"), ("insight", "insights")])
def test_an_unknown_command_is_guessed(refused, typed, meant):
    output = refused(typed, "--json")
    assert f"there is no command '{typed}'; did you mean " in output
    assert f" {meant}?" in output


def test_nothing_is_guessed_where_nothing_is_similar(refused):
    assert "did you mean" not in refused("xyzzy")


def test_end_of_input_at_a_question_is_a_no(on_terminal):
    with OpenAIServer([]) as server:
        output = on_terminal("run", "--model", "m", "--base-url", server.url, "--name", "r", typed=b"\x04", code=130)
    assert "Go on? [y/N]" in output
    assert "Traceback" not in output
    assert server.requests == []
    assert not Path("runs/r").exists()


@pytest.mark.parametrize("command", ["run", "resume", "list"])
def test_an_unknown_option_names_the_help_of_the_command_that_was_used(refused, command):
    output = refused(command, "RUN", "--nosuch")
    assert "unrecognized arguments: --nosuch" in output
    assert f" {command} --help)" in output


def test_a_task_in_the_place_of_a_configuration_is_pointed_out(evolve):
    assert "run --task placement" in evolve("run", "placement", code=2)


def test_the_hint_of_a_task_folder_is_for_the_positional_argument_alone(evolve):
    shutil.copytree(CLIMB, "hill")
    assert "hill is the folder of a task" in evolve("run", "hill", code=2)
    (Path("hill") / "initial.py").unlink()
    output = evolve("run", "--task", "hill", code=2)
    assert "initial" in output
    assert "is the folder of a task" not in output


def test_a_model_at_a_server_needs_no_file_and_no_key(evolve, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not for this server")
    with OpenAIServer([answer(patch(0.5))], default=answer(patch(0.6, name="further"))) as server:
        evolve("run", *SMALL, "--model", "qwen", "--base-url", server.url, "--name", "r")
        assert {request.json["model"] for request in server.requests} == {"qwen"}
        assert not any("not for this server" in str(request.headers) for request in server.requests)
        before = len(server.requests)
        evolve("resume", "r", "--generations", 3, "--yes")
        assert len(server.requests) > before


def test_where_most_patches_are_refused_the_list_of_them_is_offered(evolve):
    without_place = answer(patch(0.5).replace("# next\n=======", "# no such line\n======="))
    words = ("--task", CLIMB, "--generations", 3, "--parallel", 1, "--set", "attempts=1", "--name", "r")
    with OpenAIServer([answer(patch(0.5))], default=without_place) as server:
        output = evolve("run", *words, "--model", "qwen", "--base-url", server.url)
    assert "3: 2 refused, 1 program\n" in output
    assert "evolve list runs/r --failed" in output.partition("Next:")[2]
    assert "no_match" in evolve("list", "r", "--failed")


def test_a_server_gets_the_key_that_is_named(evolve, monkeypatch):
    monkeypatch.setenv("OF_MY_SERVER", "a key for it")
    with OpenAIServer([], default=answer(patch(0.5))) as server:
        where = ("--base-url", server.url, "--api-key-env", "OF_MY_SERVER")
        evolve("run", *SMALL, "--model", "qwen", *where)
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer a key for it"}
        monkeypatch.delenv("OF_MY_SERVER")
        before = len(server.requests)
        assert "OF_MY_SERVER is not set" in evolve("run", *SMALL, "--model", "qwen", *where, code=3)
        assert len(server.requests) == before


def test_a_configured_model_may_be_asked_elsewhere(evolve):
    Path("run.yaml").write_text("models:\n  - {model: qwen, max_tokens: 77, base_url: 'http://127.0.0.1:9/v1'}\n")
    with OpenAIServer([], default=answer(patch(0.5))) as server:
        evolve("run", "run.yaml", *SMALL, "--model", "qwen", "--base-url", server.url)
        assert 77 in server.requests[0].json.values()


@pytest.mark.parametrize("words", [("run",), ("doctor", "--endpoint")])
def test_where_a_model_is_needs_its_name(evolve, words):
    assert "name the model too, with --model NAME" in evolve(*words, "--base-url", "http://localhost:1/v1", code=2)


def test_the_only_initial_program_of_a_folder_is_found(tmp_path):
    (tmp_path / "evaluate.py").write_text("")
    with pytest.raises(TaskError, match="there is no initial program"):
        load_task(str(tmp_path))
    (tmp_path / "initial.md").write_text("not a program")
    (tmp_path / "initial_program.py").write_text("A = 1\n")
    assert load_task(str(tmp_path)).initial.name == "initial_program.py"
    (tmp_path / "initial_program.py").rename(tmp_path / "initial.sh")
    assert load_task(str(tmp_path)).initial.name == "initial.sh"
    (tmp_path / "initial.c").write_text("int main() { return 0; }")
    with pytest.raises(TaskError, match=r"holds initial\.c, initial\.sh; name one in task\.yaml"):
        load_task(str(tmp_path))
    (tmp_path / "task.yaml").write_text("initial: initial.c\n")
    assert load_task(str(tmp_path)).initial.name == "initial.c"
    (tmp_path / "task.yaml").unlink()
    (tmp_path / "initial.py").write_text("A = 1\n")
    assert load_task(str(tmp_path)).initial.name == "initial.py"


def test_the_folder_of_a_task_may_be_renamed(evolve):
    shutil.copytree(CLIMB, "hill")
    text = Path("hill/task.yaml").read_text()
    Path("hill/task.yaml").write_text("".join(line for line in text.splitlines(True) if not line.startswith("name:")))
    evolve("run", "--task", "hill", *SMALL[2:], "--name", "r")
    Path("hill").rename("moved")
    assert "Equal" in evolve("replay", "r", "--task", "moved")
    evolve("resume", "r", "--task", "moved", "--generations", 3)
    evolve("show", "r", "best", "--instances", "--task", "moved")
    with (Path("moved") / "judge.py").open("a") as file:
        file.write("\nANOTHER = 1\n")
    assert "put `name: hill` into its task.yaml" in evolve("replay", "r", "--task", "moved", code=2)

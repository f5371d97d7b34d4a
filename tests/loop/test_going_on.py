"""What may be changed when a run is resumed, what may not, and from where."""

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.reader import RunReader
from evolve.loop.session import stored_config
from tests.loop.climbing import (
    ROOT,
    TASK,
    configure,
    count,
    events,
    evolve,
    finish,
    is_meta,
    meta_answer,
    model,
    opened,
    patch,
    script,
)
from tests.loop.killing import choices_found_again
from tests.openai_server import Behaviour, OpenAIServer, answer, status


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `r` of two generations, with a scripted model and one that is never asked."""
    folder = tmp_path_factory.mktemp("made")
    models = [script(folder, [patch(1 + n / 100) for n in range(9)]), model("http://127.0.0.1:9/v1", weight=0.0)]
    models[1]["api_key_env"] = None
    finish(folder, "run", configure(folder, models=models, generations=2), "--name", "r")
    return folder


@pytest.fixture
def ran(made: Path, tmp_path: Path) -> Path:
    """A copy of that folder, for a test to change."""
    return Path(shutil.copytree(made, tmp_path, dirs_exist_ok=True))


def refused(folder: Path, *words: str) -> str:
    """What is said to a session that must not begin, and that nothing was written."""
    run = folder / "runs" / "r"
    before = (run / "journal.jsonl").read_bytes(), (run / "run.yaml").read_bytes()
    output = evolve(folder, "resume", "r", *words, code=2).stderr
    assert output.count("\n") == 1, output
    assert ((run / "journal.jsonl").read_bytes(), (run / "run.yaml").read_bytes()) == before
    return output


def test_a_limit_below_what_has_begun_is_refused(ran: Path) -> None:
    assert "fewer than the 2 that the run has begun" in refused(ran, "--generations", "1")


FROZEN = ["search.elites=3", "search.kinds.diff=0.1", "search={elites: 3}", "seed=1", "suite=other", "initial=x.py"]


def test_what_makes_a_run_what_it_is_cannot_be_changed(ran: Path) -> None:
    for setting in [*FROZEN, "task=placement"]:
        output = refused(ran, "--set", setting)
        assert f"{setting.partition('=')[0]} is frozen" in output
        assert "start a new run" in output
    with opened(ran) as archive:
        assert archive.finished == "generations"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("patience=0", "patience"),
        ("patiance=3", "did you mean 'patience'?"),
        ("models.n.timeout_s=3", "there is no model 'n' (models: scripted, m)"),
        ("models.m.timeout=3", "did you mean 'models[0].timeout_s'?"),
        ("models=[]", "m, scripted would be gone"),
        ("models=[{model: gpt-5, api_key_env: null}]", "give it weight 0 instead"),
        ("models.m.name=other", "m would be gone"),
        ("models.scripted.weight=0", "every model has weight 0"),
        ("meta_model=n", "meta_model 'n' is not among the models"),
        ("prompts_dir=nowhere", "nowhere"),
        ("parallel", "must be KEY=VALUE"),
    ],
)
def test_a_setting_that_is_wrong_is_shown_in_one_sentence(ran: Path, setting: str, message: str) -> None:
    output = refused(ran, "--set", setting)
    assert message in output or message.replace("models[0]", "models[1]") in output


def test_what_may_be_changed_is_recorded_and_stays(ran: Path) -> None:
    settings = ["patience=50", "models.m.timeout_s=7", "meta_every=2", "models.scripted.price_in=1.5", "attempts=2"]
    words = [word for setting in settings for word in ("--set", setting)]
    finish(ran, "resume", "r", *words, "--generations", "4", "--workers", "2")
    event = next(event for event in events(ran) if event["event"] == "resumed")
    assert event["changed"] == {
        "patience": 50,
        "meta_every": 2,
        "attempts": 2,
        "generations": 4,
        "workers": 2,
        "models": None,  # a model may be named by a path
    }
    with opened(ran) as archive:
        now = stored_config(archive)
        assert archive.ended == 5
    assert count(ran, "summarised") == 2, "the new meta_every was in force"
    assert (now.patience, now.meta_every, now.attempts, now.generations, now.workers) == (50, 2, 2, 4, 2)
    assert [(one.shown_name, one.timeout_s, one.price_in) for one in now.models] == [
        ("scripted", 300.0, 1.5),
        ("m", 7.0, 2.0),
    ]
    text = (ran / "runs" / "r" / "run.yaml").read_text()
    for line in ("patience: 50", "meta_every: 2", "timeout_s: 7.0"):
        assert line in text
    finish(ran, "resume", "r", "--generations", "5")
    with opened(ran) as archive:
        assert stored_config(archive) == now.model_copy(update={"generations": 5})
    assert [event["changed"] for event in events(ran) if event["event"] == "resumed"][1:] == [{"generations": 5}]


def test_a_change_that_was_killed_between_event_and_file_is_finished(ran: Path) -> None:
    run = ran / "runs" / "r"
    before = (run / "run.yaml").read_text()
    finish(ran, "resume", "r", "--set", "patience=50")
    changed = (run / "run.yaml").read_text()
    (run / "run.yaml.new").write_text(changed)
    (run / "run.yaml").write_text(before)
    evolve(ran, "list", "r")
    assert (run / "run.yaml").read_text() == before, "a reader changes nothing"
    finish(ran, "resume", "r", "--generations", "3")
    assert not (run / "run.yaml.new").exists()
    with opened(ran) as archive:
        config = stored_config(archive)
        assert (config.patience, config.generations, archive.ended) == (50, 3, 4)


# -- models ------------------------------------------------------------------------------------------------------------


def two_models(url: str, **weights: float) -> list[dict[str, Any]]:
    return [model(url, model=name, api_key_env=None, weight=weight) for name, weight in weights.items()]


def test_a_model_without_weight_is_never_asked(tmp_path: Path) -> None:
    def behave(request: Any) -> Behaviour:
        prompt = request["messages"][0]["content"]
        return answer(meta_answer(prompt) if is_meta(request) else patch(1 + len(server.requests) / 1000))

    with OpenAIServer(default=behave) as server:
        models = two_models(server.url, first=0.0, second=1.0)
        finish(tmp_path, "run", configure(tmp_path, models=models, generations=6, meta_every=3), "--name", "r")
        assert {request.json["model"] for request in server.requests} == {"second"}
        assert count(tmp_path, "summarised") == 2
        words = ["--set", "models.second.weight=0", "--set", "models.first.weight=1", "--generations", "9"]
        finish(tmp_path, "resume", "r", *words)
        asked = [event["model"] for event in events(tmp_path) if event["event"] == "asked"]
        assert asked == ["second"] * 6 + ["first"] * 3


def test_what_was_cut_off_is_asked_of_a_model_that_still_has_weight(tmp_path: Path) -> None:
    """The model that was asked is gone for good. Without this the run could never go on."""
    gone = threading.Event()

    def behave(request: Any) -> Behaviour:
        if gone.is_set() and request["model"] == "first":
            return status(404, error="there is no such model any more")
        return answer(patch(1 + len(server.requests) / 1000))

    with OpenAIServer(default=behave) as server:
        models = two_models(server.url, first=1.0, second=0.0)
        config = configure(tmp_path, models=models, generations=3, parallel=2)
        finish(tmp_path, "run", config, "--name", "r")
        gone.set()
        finish(tmp_path, "resume", "r", "--generations", "8", code=1)
        with opened(tmp_path) as archive:
            assert archive.finished == "unreachable"
            left = [one.generation for one in archive.unfinished()]
            assert len(left) >= 5
        finish(tmp_path, "resume", "r", "--set", "models.first.weight=0", "--set", "models.second.weight=1")
    with opened(tmp_path) as archive:
        assert archive.finished == "generations"
        assert not archive.unfinished()
        assert {archive.find(str(number)).origin.model for number in left} == {"second"}
    again = [e for e in events(tmp_path) if e["event"] == "asked" and e.get("instead_of") == "first"]
    assert {event["generation"] for event in again} == set(left)


def test_a_model_may_be_added(ran: Path) -> None:
    with opened(ran) as archive:
        (scripted, _) = stored_config(archive).models
    with OpenAIServer(default=lambda _: answer(patch(1.5 + len(server.requests) / 1000))) as server:
        entries = [
            f"{{model: '{scripted.model}', weight: 0.0}}",
            "{model: m, api_key_env: null, weight: 0.0}",
            f"{{model: added, api_key_env: null, base_url: '{server.url}'}}",
        ]
        finish(ran, "resume", "r", "--generations", "4", "--set", f"models=[{', '.join(entries)}]")
    with opened(ran) as archive:
        assert [record.origin.model for record in archive.programs[1:]] == ["scripted"] * 2 + ["added"] * 2


# -- from anywhere -----------------------------------------------------------------------------------------------------


def test_a_run_begun_with_relative_paths_goes_on_from_any_folder(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    there.mkdir()
    shutil.copytree(TASK, here / "task")
    initial = (TASK / "initial.py").read_text().replace("OFFSET = 60", "OFFSET = 61")
    (here / "initial.py").write_text(initial)
    (here / "prompts").mkdir()
    template = (ROOT / "prompts" / "diff.j2").read_text()
    (here / "prompts" / "diff.j2").write_text(template.replace("improve", "improve and be bold"))
    script(here, [patch(1 + n / 100) for n in range(9)])
    keys = {"task": "task", "initial": "initial.py", "prompts_dir": "prompts"}
    configure(here, models=[{"model": "scripted:script.yaml"}], generations=2, **keys)
    finish(here, "run", "config.yaml", "--name", "r")
    finish(there, "resume", str(here / "runs" / "r"), "--generations", "5")
    finish(there, "resume", "../here/runs/r", "--generations", "6")
    with opened(here) as archive:
        assert archive.ended == 7
        assert "OFFSET = 61" in archive.files(archive.programs[0]).only
        for number in (1, 5, 6):
            (attempt,) = archive.attempts(number)
            assert attempt.prompt is not None and "be bold" in archive.text(attempt.prompt)
    assert choices_found_again(here)[1] == []
    journal = (here / "runs" / "r" / "journal.jsonl").read_text()
    assert str(tmp_path) not in journal, "paths of this machine stand in run.yaml alone"
    assert not (there / "runs").exists()


def test_a_task_that_was_moved_is_found_where_it_lies_now(tmp_path: Path) -> None:
    shutil.copytree(TASK, tmp_path / "task")
    finish(tmp_path, "run", configure(tmp_path, task="task", generations=2), "--name", "r")
    (tmp_path / "task").rename(tmp_path / "moved")
    assert str(tmp_path / "task") in evolve(tmp_path, "resume", "r", "--generations", "3", code=2).stderr
    finish(tmp_path, "resume", "r", "--generations", "3", "--task", "moved")
    finish(tmp_path, "resume", "r", "--generations", "4")
    with RunReader.open(tmp_path / "runs" / "r") as archive:
        assert archive.ended == 5
        assert stored_config(archive).task == str(tmp_path / "moved")

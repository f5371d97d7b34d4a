"""Whole runs with three models of different quality and price: who is asked, what each yielded, and who repairs."""

import json
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import evolve as api
from evolve.insights.yields import ModelYields, model_yields
from evolve.progress import Event, Progress
from evolve.review.catalogue import model_lines
from evolve.view.payload import run_document
from tests.loop.by_hand import through
from tests.loop.climbing import (
    configure,
    count,
    events,
    evolve,
    finish,
    in_fork,
    kill,
    model,
    opened,
    patch,
    wait_until,
)
from tests.loop.killing import choices_found_again
from tests.openai_server import Behaviour, OpenAIServer, answer

GENERATIONS = 45
PRICES = {"strong": 40.0, "fair": 8.0, "chatty": 8.0}
"""USD per million tokens, in and out."""


def behave(request: Any) -> Behaviour:
    """By the prompt alone, so that a question that is put again gets the same answer: `fair` improves on every second
    prompt, `strong` on two of three at five times the price, `chatty` never sends a patch."""
    name, prompt = request["model"], request["messages"][0]["content"]
    drawn = zlib.crc32(f"{name}{prompt}".encode())
    if name == "chatty":
        return answer("Let us talk about it.", tokens=(1000, 100))
    gains = drawn % 2 == 0 if name == "fair" else drawn % 3 < 2
    step = (drawn % 997 + 1) / 2000
    return answer(patch(step if gains else -step, name=f"by_{name}_{drawn % 997}"), tokens=(1000, 100))


def three(url: str, **keys: Any) -> list[dict[str, Any]]:
    return [
        model(url, model=name, api_key_env=None, price_in=price, price_out=price, **keys)
        for name, price in PRICES.items()
    ]


def configured(folder: Path, url: str, **keys: Any) -> str:
    search = {"elites": 5, "unguided": 0.0, "kinds": {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}}
    search |= {"models": "bandit"} | keys.pop("search", {})
    return configure(folder, models=three(url), generations=GENERATIONS, attempts=1, search=search, **keys)


@pytest.fixture(scope="module")
def chose(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chose")
    with OpenAIServer(default=behave) as server:
        through(folder, configured(folder, server.url))
    return folder


def asked(folder: Path) -> list[str]:
    """The model of each generation, as it was asked last."""
    found = {event["generation"]: event["model"] for event in events(folder) if event["event"] == "asked"}
    return [found[generation] for generation in sorted(found)]


def test_the_run_comes_to_ask_the_best_per_dollar(chose: Path) -> None:
    first, last = Counter(asked(chose)[:3]), Counter(asked(chose)[-20:])
    assert first == {"strong": 1, "fair": 1, "chatty": 1}
    assert last["fair"] >= 13
    assert last["chatty"] <= 4


def test_every_choice_follows_from_what_was_on_record(chose: Path) -> None:
    assert choices_found_again(chose) == (GENERATIONS, [])


def test_what_each_model_yielded_is_shown_alike_everywhere(chose: Path) -> None:
    listed = json.loads(evolve(chose, "list", "r", "--json").stdout)
    by_model = {one["model"]: one for one in listed["models"]}
    assert {name: one["asked"] for name, one in by_model.items()} == Counter(asked(chose))
    chatty, fair = by_model["chatty"], by_model["fair"]
    assert (chatty["answered"], chatty["applied"], chatty["gain"], chatty["calls_failed"]) == (chatty["asked"], 0, 0, 0)
    assert chatty["gain_per_usd"] == 0
    assert fair["cost_usd"] == pytest.approx(fair["asked"] * 1100 * 8e-6)
    assert fair["gain_per_usd"] == pytest.approx(fair["gain"] / fair["cost_usd"])
    assert sum(one["best"] for one in listed["models"]) == len(json.loads(_bests(chose))) - 1
    assert sum(one["cost_usd"] for one in listed["models"]) == pytest.approx(listed["cost_usd"])
    with opened(chose) as archive:
        page = run_document("r", archive)
    assert page["models"] == listed["models"]
    shown = {row["name"]: row for row in page["yields"] if row["by"] == "model"}
    assert {name: shown[name]["gain_per_usd"] for name in PRICES} == {n: by_model[n]["gain_per_usd"] for n in PRICES}
    table = evolve(chose, "list", "r").stdout
    row = next(line for line in table.splitlines() if line.startswith("fair "))
    assert row.split()[1:7] == [
        str(fair[key]) for key in ("asked", "answered", "applied", "correct", "improved", "best")
    ]


def _bests(folder: Path) -> str:
    return json.dumps(json.loads(evolve(folder, "list", "r", "--best", "--json").stdout)["programs"])


def test_the_live_screen_shows_what_the_record_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output: list[Progress] = []

    class Watch:
        def tell(self, event: Event, progress: Progress) -> None:
            output.append(progress)

        def tick(self, progress: Progress) -> None:
            pass

    with OpenAIServer(default=behave) as server:
        run = api.run(configured(tmp_path, server.url), name="r", listener=Watch(), generations=12)
    with opened(tmp_path) as archive:
        found = model_yields(archive)
        before_last = ModelYields().of_archive(archive)
    assert run.finished == "generations" and before_last == found
    assert sum(one.asked for one in output[-1].models) in (11, 12)  # the last one ends after the event
    assert {one.model for one in output[-1].models} == set(PRICES)
    lines = model_lines(found).splitlines()
    assert [line.partition(":")[0] for line in lines] == [one.model for one in found]
    assert model_lines(found[:1]) == ""


def test_show_tells_which_model_was_asked_and_why(chose: Path) -> None:
    assert "to learn more about it" in " ".join(evolve(chose, "show", "r", "1").stdout.split())
    shown = evolve(chose, "show", "r", str(GENERATIONS)).stdout
    record = json.loads(evolve(chose, "show", "r", str(GENERATIONS), "--json").stdout)
    assert record["picked"]["by"] == "bandit"
    assert f"asked {record['attempts'][0]['model']}, which may improve most for its cost" in " ".join(shown.split())


@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [(24,), pytest.param((9, 24, 35), marks=pytest.mark.nightly)])
def test_a_run_that_was_killed_asks_the_same_models(tmp_path: Path, killed_at: tuple[int, ...]) -> None:
    """With an answer written down, and with a question under way, whose loss costs nothing in the comparison."""
    chose = tmp_path / "whole"
    chose.mkdir()
    with OpenAIServer(default=behave) as server:
        finish(chose, "run", configured(chose, server.url), "--name", "r")
        process = in_fork(tmp_path, "run", configured(tmp_path, server.url), "--name", "r")
        for ended in killed_at:
            wait_until(lambda ended=ended: count(tmp_path, "asked") > ended, process)  # type: ignore[misc]
            kill(process)
            process = in_fork(tmp_path, "resume", "r")
        process.join(120)
        assert process.exitcode == 0, (tmp_path / "out.txt").read_text()
    assert asked(tmp_path) == asked(chose)
    with opened(tmp_path) as archive, opened(chose) as whole:
        assert archive.best is not None and whole.best is not None
        assert archive.best.commit == whole.best.commit


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (2, "Models are drawn by weight: search.models: bandit needs 3 models with a weight"),
        (3, "Models are chosen by improvement per cost (search.models: bandit)."),
    ],
)
def test_how_models_are_chosen_is_said(tmp_path: Path, models: int, said: str) -> None:
    with OpenAIServer(default=behave) as server:
        config = configure(tmp_path, models=three(server.url)[:models], generations=3, search={"models": "bandit"})
        assert said in evolve(tmp_path, "run", config, "--name", "r", code=None).stdout
    assert bool([event for event in events(tmp_path) if "picked" in event]) is (models == 3)


def test_the_repair_model_repairs_what_could_not_be_used(tmp_path: Path) -> None:
    """`chatty` never sends a patch; what it sends is repaired by `fair`, which writes what comes of it."""

    def mending(request: Any) -> Behaviour:
        if request["model"] == "fair":
            return answer(patch(1 + len(server.requests) / 1000), tokens=(1000, 100))
        return behave(request)

    with OpenAIServer(default=mending) as server:
        models = [one | {"weight": float(one["model"] == "chatty")} for one in three(server.url)]
        config = configure(tmp_path, models=models, generations=4, repair_model="fair")
        through(tmp_path, config)
    with opened(tmp_path) as archive:
        assert [record.origin.model for record in archive.programs[1:]] == ["fair"] * 4
        for generation in range(1, 5):
            first, second = archive.attempts(generation)
            assert (first.model, first.repair) == ("chatty", False)
            assert (second.model, second.repair) == ("fair", True)
    listed = json.loads(evolve(tmp_path, "list", "r", "--json").stdout)["models"]
    found = {one["model"]: (one["asked"], one["answered"], one["applied"], one["correct"]) for one in listed}
    assert found == {"chatty": (4, 4, 0, 0), "fair": (4, 4, 4, 4)}
    assert "the answer was given to fair for repair (repair_model)" in " ".join(
        evolve(tmp_path, "show", "r", "1").stdout.split()
    )

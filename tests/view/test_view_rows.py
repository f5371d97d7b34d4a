"""The table of runs: what it says of a run live, in a report and in the terminal is one thing."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.objective import BestKnown
from evolve.cli.main import main
from tests.view.looking import Looked, data_of
from tests.view.serving import serving

LISTED = BestKnown(value=23.5, score=23.5, where_from="a paper")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded_runs, make_evaluation) -> Path:
    """A folder with runs whose best is 22: one of each `bounded` (by 26), `listed` (23.5 is known), `both`, `neither`;
    each with 2 programs and a refusal."""
    for name in ("both", "bounded", "listed", "neither"):
        run = recorded_runs(name)
        known = LISTED if name in ("both", "listed") else None
        bound = {} if name in ("both", "bounded") else {"ceiling": None}
        verdicts = [replace(make_evaluation(score=score), best_known=known, **bound) for score in (20.0, 22.0)]
        initial = run.initial(evaluation=verdicts[0])
        run.propose(1, [initial], source="b = 1\n", evaluation=verdicts[1])
        run.ask(2, [initial])
        run.archive.refused(2, 0, reason="no_patch", message="There is no patch in it.", final=True)
        run.archive.stopped("generations")
        shutil.copytree(run.archive.folder, tmp_path / "runs" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_gap_is_to_the_bound_or_else_to_the_best_known_value_live_in_a_report_and_in_list(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "--json"]) == 0
    listed = {row["run"]: row for row in json.loads(capsys.readouterr().out)["runs"]}
    assert main(["report", *listed, "-o", "all.html"]) == 0
    with serving(folder, "--no-open") as served:
        live = {row["name"]: row for row in served.ask("/api/runs").json["runs"]}
        documents = {name: served.ask(f"/api/run/{name}").json for name in live}
    assert {row["name"]: row for row in data_of(folder / "all.html")["rows"]} == live
    found = {name: (row["gap"], row["target"]) for name, row in live.items()}
    assert found == {
        "both": (4.0, {"value": 26.0, "name": "ceiling"}),
        "bounded": (4.0, {"value": 26.0, "name": "ceiling"}),
        "listed": (1.5, {"value": 23.5, "name": "best known"}),
        "neither": (None, None),
    }
    assert found == {name: (document["gap"], document["target"]) for name, document in documents.items()}
    assert all(row["value_gap"] == live[name]["gap"] for name, row in listed.items() if name != "listed")
    assert {(live[name]["programs"], row["programs"], live[name]["generations"]) for name, row in listed.items()} == {
        (2, 2, 3)
    }


def test_the_table_the_first_screen_and_the_curve_of_a_run_tell_of_one_gap(folder: Path, chromium: Any) -> None:
    assert main(["report", "both", "listed", "-o", "two.html"]) == 0
    with serving(folder, "--no-open") as served:
        for address in (served.address, (folder / "two.html").as_uri()):
            looked = Looked(chromium, address)
            looked.open("#/")
            cells = "(name) => [...document.querySelectorAll('tr')].find((row) => row.cells[1]?.innerText === name)"
            shown = {name: looked.page.evaluate(f"{cells}.innerText", name).split("\t") for name in ("both", "listed")}
            tiles = {name: _tiles(looked, name) for name in shown}
            curve = looked.open("#/run/both?up=gap")
            looked.close()
            assert shown["both"][shown["both"].index("22") + 1] == "4"
            assert shown["listed"][shown["listed"].index("22") + 1] == "1.5"
            assert "gap to ceiling\n4\n15 % of 26\nto the best known 1.5 (23.500000, a paper)" in tiles["both"]
            assert "gap to best known\n1.5\n6.4 % of 23.500000, a paper" in tiles["listed"]
            assert "gap to the ceiling: up is nearer" in curve


def _tiles(looked: Looked, name: str) -> str:
    looked.open(f"#/run/{name}")
    return "\n".join(looked.page.locator(".tile").all_inner_texts())

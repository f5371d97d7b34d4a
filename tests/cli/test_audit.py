"""`evolve audit RUN`: every recorded program is scored again."""

import os
import shutil
from pathlib import Path

import pytest

from evolve.cli.main import main
from tests.journals import events_of, rewrite
from tests.loop.drawing import HALF, HONEST, TASK, configure

JOURNAL = Path("runs/mine/journal.jsonl")


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run with a held-out suite and fresh instances: 1 is better, 2 repeats it, 3 fails and 4 is the best."""
    folder = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        shutil.copytree(TASK, folder / "drawn")
        config = configure(folder, HALF, "pass", "index = 99", HONEST, task=str(folder / "drawn"))
        assert main(["run", config, "--name", "mine"]) == 0
    return folder


@pytest.fixture
def mine(begun, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(begun / "state"))
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115, PTH123
    shutil.copytree(begun / "runs", tmp_path / "runs")
    return tmp_path


def audits():
    return [event for event in events_of(JOURNAL) if event["event"] == "audited"]


def test_an_honest_run_holds_and_says_so_in_its_record(mine, evolve, evolve_json):
    document = evolve_json("audit", "mine")
    assert document["falls"] == 0
    assert len(document["claims"]) == 5
    (event,) = audits()
    assert {*event["holds"], *event["unjudged"]} == set(range(5))
    before = JOURNAL.read_bytes()
    assert "Equal" in evolve("rerun", "mine"), "an audit changes neither the fingerprint nor a rerun"
    assert JOURNAL.read_bytes() == before


def test_a_tampered_cost_held_out_score_and_fresh_check_fall(mine, evolve_json):
    def tamper(event):
        if "evaluation" in event and event["generation"] == 1:
            event["evaluation"]["costs"][0] = "1/7"
        if event["event"] == "held_out" and event["generation"] == 0:
            event["costs"][3] = "1"
        if event["event"] == "fresh":
            event.update(better=event["better"] - 1, worse=event["worse"] + 1)

    rewrite(JOURNAL, tamper)
    document = evolve_json("audit", "mine", code=1)
    whys = {claim["generation"]: claim["why"] for claim in document["claims"] if claim["verdict"] == "falls"}
    assert set(whys) == {0, 1, 4}
    assert "held-out suite" in whys[0]
    assert "1 instances have another exact cost" in whys[0]
    assert "instances: 0." in whys[1]
    assert "fresh instances" in whys[4]
    assert [fallen["generation"] for fallen in audits()[0]["falls"]] == [0, 1, 4]


def test_somebody_elses_run_is_audited_only_with_trust_and_gets_no_event(mine, evolve, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(mine / "state"))
    before = JOURNAL.read_bytes()
    assert "evolve audit runs/mine --task FOLDER" in evolve("audit", "mine", code=2)
    assert "hold and 0 fall" in evolve("audit", "mine", "--trust", "--workers", "2")
    assert JOURNAL.read_bytes() == before
    assert list((mine / "state" / "evolve" / "audits").iterdir()) == []

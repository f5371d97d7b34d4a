"""`evolve audit`: every claim of a run, of a result folder or of a file of answers is judged again."""

import json
import os
import shutil
from pathlib import Path

import pytest

from evolve.archive.reader import RunReader
from evolve.cli.main import main
from evolve.trust import own_audit
from tests.apps.results.hostile_folders import HOSTILE, SECRET, everything_in
from tests.journals import events_of, rewrite
from tests.loop.drawing import HALF, HONEST, TASK, configure
from tests.result_folders import (
    INITIAL,
    LOSES_MODELS,
    Made,
    three_hundred,
    variant,
    write_database,
    write_generations,
    write_openevolve,
)

CLIMB = Path(__file__).resolve().parents[1] / "data" / "climb"
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


def test_an_honest_run_holds_and_says_so_in_its_record(mine, evolve_json):
    document = evolve_json("audit", "mine")
    assert document["falls"] == 0
    assert len(document["claims"]) == 5
    (event,) = audits()
    assert {*event["holds"], *event["unjudged"]} == set(range(5))
    with RunReader.open(Path("runs/mine")) as reader:
        assert own_audit(reader) == reader.audited
    rewrite(JOURNAL, lambda event: event["event"] == "audited" and event.update(t=event["t"] + 1))
    with RunReader.open(Path("runs/mine")) as reader:
        assert reader.audited is not None
        assert own_audit(reader) is None  # a forged one is not shown as ours


@pytest.mark.slow
def test_an_audit_changes_neither_the_fingerprint_nor_a_rerun(mine, evolve, evolve_json):
    before = evolve_json("list", "mine")["fingerprint"]
    evolve("audit", "mine")
    assert len(audits()) == 1
    assert evolve_json("list", "mine")["fingerprint"] == before
    assert "Equal" in evolve("rerun", "mine")


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


def test_what_a_value_and_its_gap_are_read_by_is_compared_too(mine, evolve_json):
    def tamper(event):
        if "evaluation" in event and event["generation"] == 1:
            event["evaluation"]["objective"]["metric"] = "optimality"
        if "evaluation" in event and event["generation"] == 2:
            event["evaluation"]["metric_bound"] = 2.9
        if event["event"] == "held_out" and event["generation"] == 0:
            event.update(gap=0.0, value_gap=0.0)

    rewrite(JOURNAL, tamper)
    document = evolve_json("audit", "mine", code=1)
    whys = {claim["generation"]: claim["why"] for claim in document["claims"] if claim["verdict"] == "falls"}
    assert whys == {
        0: "on the held-out suite: gap: recorded 0.0, measured 2.2198351592268546",
        1: "the metric of its value: recorded optimality, measured combined_score",
        2: "the metric_bound of its value: recorded 2.9, measured None",
    }


def test_a_record_that_an_alteration_keeps_from_being_judged_falls(mine, evolve_json):
    changes = {0: {"evaluator_version": "another"}, 1: {"self_judged": True}, 2: {"spread": [1.0, 2.0]}}
    rewrite(
        JOURNAL,
        lambda event: "evaluation" in event and event["evaluation"].update(changes.get(event["generation"], {})),
    )
    document = evolve_json("audit", "mine", code=1)
    whys = {claim["generation"]: claim["why"] for claim in document["claims"] if claim["verdict"] == "falls"}
    assert set(whys) == {0, 1, 2}
    assert "names evaluator version another, and 3-" in whys[0]
    assert "calls the score self-judged or random, and a judge makes it" in whys[1]


def test_a_held_out_score_by_another_evaluator_is_not_passed_over(mine, evolve_json):
    def tamper(event):
        if event["event"] == "created":
            event["identity"]["held_out"] = "another"
        if event["event"] == "held_out" and event["generation"] == 4:
            event.update(costs=["1"] * 10)

    rewrite(JOURNAL, tamper)
    claims = evolve_json("audit", "mine")["claims"]
    why = "its score on the held-out suite was not judged: another evaluator or suite made it"
    assert [claim["why"] for claim in claims if claim["verdict"] == "holds"] == [why, why, "", "", why]


def test_somebody_elses_run_is_audited_only_with_trust_and_gets_no_event(mine, evolve, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(mine / "state"))
    before = JOURNAL.read_bytes()
    assert "evolve audit runs/mine --task FOLDER" in evolve("audit", "mine", code=2)
    assert "That fall: 0." in evolve("audit", "mine", "--trust", "--workers", "2")
    assert JOURNAL.read_bytes() == before
    assert list((mine / "state" / "evolve" / "audits").iterdir()) == []


def test_a_result_folder_is_audited_without_being_imported(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    made = [Made(number=0, code=INITIAL), Made(number=1, code=variant(1), parent="id-000")]
    made += [Made(number=2, code=variant(2), score=99.0), Made(number=3, code=variant(3), score=float("nan"))]
    write_generations(tmp_path / "results", [*made, Made(number=4, code=LOSES_MODELS, score=24.5)])
    before = sorted(tmp_path.rglob("*"))
    document = evolve_json("audit", "results", "--task", "placement", code=1)
    assert [claim["verdict"] for claim in document["claims"]] == ["holds", "holds", "falls", "falls", "falls"]
    assert "above the proven bound 26.25" in document["claims"][2]["why"]
    assert (document["holds"], document["falls"], document["unjudged"]) == (2, 3, 0)
    assert document["system"] == "ShinkaEvolve"
    assert sorted(tmp_path.rglob("*")) == before
    assert "evolve audit results --task TASK" in evolve("audit", "results", code=2)
    assert "--trust does not apply" in evolve("audit", "results", "--task", "placement", "--trust", code=2)


@pytest.mark.parametrize("stated", [".38", "3.8e-1", "+0.38", "0.38 "])
def test_a_stated_value_is_any_finite_number(tmp_path, evolve_json, stated):
    (tmp_path / "answer.json").write_text("[1, 1]")
    document = evolve_json("audit", tmp_path / "answer.json", "--task", "erdos_overlap", "--claimed", stated, code=1)
    assert document["claims"][0]["claimed"] == 0.38


@pytest.mark.parametrize("stated", ["nan", "inf", "1e400", "1e-999999999", "0e-999999999", "x", ""])
def test_a_stated_value_that_is_no_finite_number_is_refused(tmp_path, evolve, stated):
    (tmp_path / "answer.json").write_text("[1, 1]")
    with pytest.raises(SystemExit):
        evolve("audit", tmp_path / "answer.json", "--task", "erdos_overlap", "--claimed", stated)


def test_a_pipe_is_called_a_pipe_and_a_name_is_quoted_once(tmp_path, evolve, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    assert "pipe is a named pipe; name the folder of a run" in evolve("audit", "pipe", code=2)
    assert "there is no run 'a\\nb'" in evolve("audit", "a\nb", code=2)
    Path("a.json").write_text(r'{"a\\b": [1], "a\\b": [1]}')
    assert r"the key 'a\b' is there twice" in evolve("audit", "a.json", "--task", "erdos_overlap", code=2)


def test_a_name_that_no_file_can_have_and_a_folder_that_may_not_be_looked_into_are_refused(tmp_path, evolve):
    assert "there is no run" in evolve("audit", "x" * 300, code=2)
    closed = tmp_path / "results"
    closed.mkdir()
    (closed / "journal.jsonl").symlink_to("x" * 300)
    assert "is no result folder" in evolve("audit", closed, "--task", "placement", code=2)


def write_both(folder, made):
    write_generations(folder, made)
    write_database(folder / "programs.sqlite", made, wal=True)


@pytest.mark.slow
def test_the_audit_of_an_imported_run_judges_what_its_folder_claims(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    made = [Made(number=0, code=INITIAL), Made(number=1, code=variant(1), parent="id-000")]
    made += [Made(number=2, code=variant(2), score=99.0, parent="id-000")]
    write_generations(tmp_path, [*made, Made(number=3, code=variant(3), score=float("nan"))])
    evolve("import", tmp_path, "--name", "theirs", "--task", "placement")
    document = evolve_json("audit", "theirs", code=1)
    assert [claim["verdict"] for claim in document["claims"]] == ["holds", "holds", "falls", "falls"]
    assert document["claims"][2]["claimed"] == 99.0
    assert "the recorded score is nan" in document["claims"][3]["why"]


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_generations, write_openevolve, write_both])
def test_every_claim_of_three_hundred_programs_gets_its_verdict(write, tmp_path, evolve_json):
    write(tmp_path / "results", three_hundred())
    document = evolve_json("audit", tmp_path / "results", "--task", "placement", code=1)
    assert len(document["claims"]) == 300
    assert document["holds"] + document["falls"] + document["unjudged"] == 300
    whys = [claim["why"] for claim in document["claims"] if claim["verdict"] == "falls"]
    assert sum("above the proven bound" in why for why in whys) == 30
    assert sum("of 16 models" in why for why in whys) == 30


def test_an_answer_is_judged_exactly_and_against_what_is_stated_for_it(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    circles = [[0.1 + 0.2 * (i % 5), 0.1 + 0.2 * (i // 5), 0.1001] for i in range(25)] + [[0.2, 0.2, 0.001]]
    Path("answer.json").write_text(json.dumps({"values": circles}))
    words = ["audit", "answer.json", "--task", "circle_packing"]
    document = evolve_json(*words, code=1)
    (claim,) = document["claims"]
    assert (claim["program"], claim["generation"], claim["verdict"]) == ("values", None, "falls")
    assert claim["claimed"] == pytest.approx(25 * 0.1001 + 0.001)
    assert "valid only with a tolerance of 0.0002 or more" in claim["why"]
    assert document["answers"][0]["valid"] is False
    exact = document["answers"][0]["digits"]
    assert exact in evolve(*words, "--claimed", exact)
    assert evolve_json(*words, "--claimed", "3.0", code=1)["claims"][0]["claimed"] == 3.0
    assert "there is no key 'nothing'" in evolve(*words, "--key", "nothing", code=2)


def test_a_run_without_a_program_is_refused_in_a_sentence(recorded_runs, bring, evolve):
    bring(recorded_runs("nothing").archive.reader)
    assert "cut off before its first program" in evolve("audit", "nothing", code=2)


@pytest.mark.nightly
@pytest.mark.parametrize("name", HOSTILE)
def test_the_audit_of_a_hostile_folder_does_no_harm(name, tmp_path, monkeypatch, capfd):
    folder, outside = tmp_path / "results", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "secret.py").write_text(f"{SECRET} = 1\n")
    (outside / "secret.json").write_text(f'{{"id": "{SECRET}", "code": "{SECRET}", "combined_score": 4711.0}}')
    HOSTILE[name](folder, outside)
    monkeypatch.chdir(outside)
    before = everything_in(tmp_path)
    for form in ([], ["--json"]):
        code = main(["audit", str(folder), "--task", str(CLIMB), *form])
        out, err = capfd.readouterr()
        assert code in (0, 1, 2, 3)
        assert SECRET not in out + err
        assert {letter for letter in out + err if letter not in "\n\t" and not letter.isprintable()} == set()
    assert everything_in(tmp_path) == before

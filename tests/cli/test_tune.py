"""`evolve tune`: better numbers for a program are searched, and recorded as its child."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from evolve.archive.archive import Archive
from evolve.archive.reader import RunReader
from evolve.cli.main import main
from evolve.review.generation_view import COLUMNS, GenerationReader
from tests.journals import events_of
from tests.script_folders import make_folder

BARE = "def place(n):\n    return [[i / n, i * i / n % 1] for i in range(n)]\n"
NOISY = """\
# EVOLVE-BLOCK-START
import json, random
RATE = 0.5
LEVEL = 3.5
def result():
    return json.dumps({"correct": True, "combined_score": LEVEL + RATE * random.random()})
# EVOLVE-BLOCK-END
"""
KINDS = [w for kind in ("diff", "full", "cross", "fix") for w in ("--set", f"search.kinds.{kind}=0")]
TUNED = ["--set", "search.kinds.tune=1", "--set", "search.tune_evaluations=10", "--set", "parallel=1"]


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A folder with the task `mine`, as `evolve new` makes it, and the run `r` of it, with one proposal."""
    place = tmp_path_factory.mktemp("begun")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["new", "mine"]) == 0
        assert main(["run", "--task", "mine", "--generations", "1", "--parallel", "1", "--name", "r"]) == 0
    return place


@pytest.fixture
def run(begun, tmp_path, monkeypatch):
    """The run `r` in a folder of the test's own, which holds a copy of its task, too."""
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "runs"):
        shutil.copytree(begun / name, name)
    return Path("runs/r")


def test_what_is_found_is_a_child_that_every_reader_shows(run, evolve, evolve_json):
    found = evolve_json("tune", "r", "0", "--evaluations", 30)
    assert found["gained"] is True
    assert found["generation"] == 2
    assert found["evaluations"] == 30
    assert {one["label"] for one in found["numbers"]} >= {"STEP", "SHIFT", "LOWEST", "HIGHEST"}
    program = next(one for one in evolve_json("list", "r")["programs"] if one["generation"] == 2)
    assert program["patch_kind"] == "tune"
    assert program["model"] == "tuner"
    assert program["combined_score"] == found["score"] > found["score_before"]
    shown = evolve_json("show", "r", "2")
    assert shown["tuning_evaluations"] == 30
    assert shown["attempts"][0]["tuning"]["evaluations"] == 30
    assert "evaluations" in evolve("show", "r", "2")
    steps = evolve_json("lineage", "r", "2")["steps"]
    assert [step["generation"] for step in steps] == [0, 2]
    assert "numbers searched in 30 evaluations" in steps[1]["description"]
    assert "-STEP = 0.3" in evolve("diff", "r", "0", "2") or "-LOWEST = 0.2" in evolve("diff", "r", "0", "2")
    assert "Equal" in evolve("replay", "r", "2")
    assert ",30," in evolve("export", "r", "--csv")
    evolve("report", "r", "-o", "report.html")
    with RunReader.open(run) as archive:
        facts = GenerationReader(archive).view(2).to_json(COLUMNS)
        assert [facts[key] for key in ("kind", "model", "tuning_evaluations")] == ["tune", "tuner", 30], "on its page"
        assert archive.spent.calls == 0
        before = archive.attempts(1)[-1].usage.latency_s, archive.attempts(2)[-1].usage.latency_s
        assert before[0] == 0 < before[1], "how long the search took, which is work"


def test_the_run_goes_on_with_it(run, evolve, evolve_json):
    evolve("tune", "r", "best", "--evaluations", 40)
    tuned = evolve_json("list", "r")
    assert tuned["finished"] == "generations"
    evolve("resume", "r", "--generations", 5)
    after = evolve_json("list", "r")["programs"]
    assert {one["generation"] for one in after} >= {0, 2}
    best = next(one for one in tuned["programs"] if one["generation"] == 2)
    assert any(best["commit"] in one["parents"] for one in after), "the best is refined, and that is it"


def test_a_seed_finds_the_same_whatever_the_number_of_workers(run, evolve, evolve_json):
    source = ["tune", "mine/initial.py", "--task", "mine", "--evaluations", 25, "--seed", 3]
    assert evolve_json(*source, "--workers", 1) == evolve_json(*source, "--workers", 3)


def test_a_file_is_tuned_and_written_and_scores_what_was_said(run, evolve, evolve_json):
    found = evolve_json("tune", "mine/initial.py", "--task", "mine", "--evaluations", 25, "-o", "better.py")
    assert found["holds"] is True
    assert Path("better.py").read_text() == found["source"]
    (row,) = evolve_json("score", "better.py", "--task", "mine")
    assert row["combined_score"] == found["score"] > found["score_before"]
    output = evolve("tune", "mine/initial.py", "--task", "mine", "--evaluations", 25, "-o", "better.py", code=2)
    assert "exists already" in output


def test_where_nothing_is_better_nothing_is_recorded_and_the_output_says_so(run, evolve):
    Path("mine/initial.py").write_text("UNUSED = 3.5\n\n\n" + BARE)
    evolve("run", "--task", "mine", "--generations", 1, "--name", "bare", code=1)
    before = list(events_of(Path("runs/bare/journal.jsonl")))
    output = evolve("tune", "bare", "0", code=1)
    assert "1 number searched in 2 evaluations" in output
    assert "nothing was recorded" in output
    assert list(events_of(Path("runs/bare/journal.jsonl"))) == before
    assert "No better program" in evolve("tune", "mine/initial.py", "--task", "mine", code=1)


def test_what_cannot_be_tuned_is_said_in_one_sentence(run, evolve):
    Path("bare.py").write_text(BARE)
    sorting = Path(__file__).parent.parent / "data" / "sorting"
    for words, sentence in (
        (["bare.py", "--task", "mine"], "no number to tune"),
        (["r"], "name its program too"),
        (["r", "77"], "77"),
        (["nothing", "best"], "there is no run"),
        (["r", "best", "--evaluations", 9], "too few for a search"),
        (["r", "best", "--evaluations", 999_999_999_999], "100000 at most"),
        (["r", "best", "--suite", "x"], "--suite is for a FILE"),
        ([sorting / "initial.py", "--task", sorting], "is a speed"),
    ):
        output = evolve("tune", *words, code=2)
        assert sentence in output
        assert len(output.strip().splitlines()) == 1


def test_a_file_whose_score_has_chance_in_it_is_measured_twice_and_refused(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    make_folder(tmp_path / "noisy", initial=NOISY)
    words = ["tune", "noisy/initial.py", "--task", "noisy", "--evaluations", 10]
    output = evolve(*words, "-o", "better.py", code=2)
    assert "noisy/initial.py: its score is another one at each measurement (3." in output
    assert "chance" in output
    assert not Path("better.py").exists()


def test_what_varies_only_once_it_works_does_not_hold(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    failing = NOISY.replace('"correct": True', '"correct": LEVEL > 4').replace(
        ": LEVEL +", ": 1.0 if LEVEL < 4 else 2 +"
    )
    make_folder(tmp_path / "noisy", initial=failing)
    words = ["tune", "noisy/initial.py", "--task", "noisy", "--evaluations", 10]
    found = evolve_json(*words, "-o", "better.py", code=1)
    assert found["gained"] is True
    assert found["holds"] is False
    assert not Path("better.py").exists()
    assert "another one at each measurement" in evolve(*words, code=1)


def test_a_program_of_a_run_whose_score_has_chance_in_it_is_refused(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    make_folder(tmp_path / "noisy", initial=NOISY)
    evolve("run", "--task", "noisy", "--generations", 2, "--parallel", 1, "--name", "r")
    before = list(events_of(Path("runs/r/journal.jsonl")))
    output = evolve("tune", "r", "0", "--evaluations", 10, code=2)
    assert "generation 0: the score of the initial program is another one at each measurement" in output
    assert list(events_of(Path("runs/r/journal.jsonl"))) == before


def test_while_another_process_writes_the_run_it_is_left_alone(run, evolve):
    with Archive.open(run):
        assert "is being written by process" in evolve("tune", "r", "best", code=2)


def test_ctrl_c_keeps_what_was_found(run, started, evolve_json):
    command = [sys.executable, "-m", "evolve", "tune", "r", "0", "--evaluations", "5000"]
    process = started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "score" in line, "better numbers were found"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "generation 2" in out
    shown = evolve_json("show", "r", "2")
    assert 0 < shown["tuning_evaluations"] < 5000
    assert shown["correct"] is True


def test_in_a_run_the_kind_tune_asks_no_model(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    evolve("new", "mine")
    Path("answers.yaml").write_text("answers: []\n")
    settings = {"tune": 1, "diff": 0, "full": 0, "cross": 0, "fix": 0}
    kinds = [word for key, value in settings.items() for word in ("--set", f"search.kinds.{key}={value}")]
    words = ["run", "--task", "mine", "--model", "scripted:answers.yaml", "--generations", 1, "--name", "r", *kinds]
    evolve(*words, "--set", "search.tune_evaluations=20", "--set", "parallel=1")
    shown = evolve_json("show", "r", "1")
    assert shown["patch_kind"] == "tune"
    assert shown["tuning_evaluations"] == 20
    (answered,) = [event for event in events_of(Path("runs/r/journal.jsonl")) if event["event"] == "answered"]
    assert answered["tuning"]["evaluations"] == 20
    assert not [event for event in events_of(Path("runs/r/journal.jsonl")) if event["event"] == "called"]


def test_a_run_of_a_task_that_measures_speed_has_no_kind_tune(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    sorting = Path(__file__).parent.parent / "data" / "sorting"
    output = evolve("run", "--task", sorting, "--generations", 1, "--set", "search.kinds.tune=1", code=2)
    assert "search.kinds.tune" in output
    assert "speed" in output


def test_a_run_whose_initial_score_has_chance_in_it_has_no_kind_tune(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    make_folder(tmp_path / "noisy", initial=NOISY)
    output = evolve("run", "--task", "noisy", "--generations", 1, "--name", "r", *KINDS, *TUNED, code=2)
    assert "search.kinds.tune is not 0: the score of the initial program is another one at each measurement" in output
    assert not Path("runs/r").exists()


def test_in_a_run_a_parent_whose_score_has_chance_in_it_is_not_searched(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    failing = NOISY.replace("True", "False")
    make_folder(tmp_path / "noisy", initial=failing)
    old, new = (next(line for line in text.splitlines() if "correct" in line) for text in (failing, NOISY))
    change = f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"
    Path("answers.yaml").write_text(yaml.safe_dump({"answers": [f"<NAME> chance </NAME>\n<DIFF>\n{change}\n</DIFF>"]}))
    words = ["run", "--task", "noisy", "--model", "scripted:answers.yaml", "--generations", 2, "--name", "r"]
    evolve(*words, "--fix-initial", *KINDS, *TUNED)
    shown = evolve_json("show", "r", "2")
    assert shown["status"] == "refused"
    (attempt,) = shown["attempts"]
    assert attempt["reason"] == "no_gain"
    assert "another one at each measurement" in attempt["message"]
    assert attempt["tuning"]["evaluations"] == 0
    assert "generation 1: its score is another one" in evolve("tune", "r", "1", "--evaluations", 10, code=2)

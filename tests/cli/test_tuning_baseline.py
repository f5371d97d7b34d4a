"""`run` and `resume` with `--tuning-baseline K`: what tuning the initial program's numbers alone reaches."""

import os
import signal
from pathlib import Path

import pytest

from evolve.archive.reader import RunReader
from evolve.cli.main import main
from evolve.view.payload import run_document
from tests.journals import events_of, rewrite
from tests.loop.climbing import configure, in_fork, patch, script, wait_until
from tests.script_folders import make_folder

STEPS = [patch(n) for n in (-1, 3, -2, 2.5, 1, 4)]
BARE = "# EVOLVE-BLOCK-START\ndef guess(n):\n    return n\n# EVOLVE-BLOCK-END\n"


def journal(name):
    return list(events_of(Path("runs") / name / "journal.jsonl"))


def baselines(name):
    return [event for event in journal(name) if event["event"] == "tuning_baseline"]


@pytest.fixture
def begun(tmp_path, monkeypatch, evolve):
    """The words that begin a run of three proposals by a scripted model."""
    monkeypatch.chdir(tmp_path)
    return ["run", configure(tmp_path, models=[script(tmp_path, STEPS)], generations=3)]


def test_it_is_shown_with_the_best_and_rerun_finds_another_value(begun, evolve, evolve_json):
    text = (
        "Tuning only the initial program's numbers, with the evaluations of 12 proposals, reaches 21; "
        "the best reaches 11.3093."
    )
    assert text in evolve(*begun, "--name", "r", "--tuning-baseline", 12)
    assert [event["event"] for event in journal("r")[-2:]] == ["stopped", "tuning_baseline"]
    (event,) = baselines("r")
    taken = {"evaluations": 12, "numbers": 1, "dropped": 0, "changed": 1}
    assert (event["proposals"], event["value"], event["tuning"]) == (12, 21.0, taken)
    listed = evolve_json("list", "r")
    assert listed["tuning_baseline"] == taken | {"proposals": 12, "value": 21.0, "text": text}
    assert {one["generation"] for one in listed["programs"]} == {0, 1, 2, 3}, "it is no program of the run"
    with RunReader.open(Path("runs/r")) as archive:
        assert run_document("r", archive)["tuning_baseline"]["text"] == text
    rewrite(Path("runs/r/journal.jsonl"), lambda one: one.update(value=1.5) if one["event"] == event["event"] else None)
    parted = evolve_json("rerun", "r", code=1)["parted"]
    assert (parted["event"], parted["recorded"], parted["found"]) == ("tuning_baseline", "value 1.5", "value 21.0")


def test_a_run_goes_on_from_it_as_if_it_had_never_been_made(begun, evolve, evolve_json):
    evolve(*begun, "--name", "plain", "--generations", 5)
    evolve(*begun, "--name", "tuned", "--tuning-baseline", 12)
    evolve("resume", "tuned", "--generations", 5, "--tuning-baseline", 12)
    assert len(baselines("tuned")) == 1, "what is on record is not made again"
    plain, tuned = evolve_json("list", "plain"), evolve_json("list", "tuned")
    assert plain["fingerprint"] == tuned["fingerprint"], "so no prompt, parent or best rests on it"
    assert plain["tuning_baseline"] is None
    assert evolve_json("rerun", "tuned")["equal"] is True


def test_an_initial_program_without_numbers_is_said_to_have_none(begun, tmp_path, evolve):
    (tmp_path / "bare.py").write_text(BARE)
    output = evolve(*begun, "--name", "r", "--set", "initial=bare.py", "--tuning-baseline", 10, code=1)
    assert "The initial program has no numbers to tune." in output
    assert baselines("r")[0]["tuning"]["evaluations"] == 0


def test_what_cannot_be_measured_is_said_before_anything_is_asked(begun, tmp_path, evolve):
    assert "--tuning-baseline 9: too few" in evolve(*begun, "--name", "r", "--tuning-baseline", 9, code=2)
    assert not Path("runs").exists()
    noisy = "# EVOLVE-BLOCK-START\nimport json, random\nRATE = 0.5\ndef result():\n"
    noisy += '    return json.dumps({"correct": True, "combined_score": RATE * random.random()})\n# EVOLVE-BLOCK-END\n'
    make_folder(tmp_path / "noisy", initial=noisy)
    output = evolve("run", "--task", "noisy", "--generations", 1, "--name", "n", "--tuning-baseline", 10, code=2)
    assert "--tuning-baseline: of the initial program its score is another one at each measurement" in output
    assert not Path("runs").exists()
    assert main(["run", "--task", "noisy", "--generations", "1", "--name", "n"]) in (0, 1)
    before = journal("n")
    assert "of the initial program its score" in evolve("resume", "n", "--tuning-baseline", 10, code=2)
    assert journal("n") == before, "nothing is written of a session that cannot do what it was asked"


def test_a_task_whose_score_is_a_speed_is_refused_before_a_folder_is_made(begun, evolve):
    sorting = Path(__file__).parents[1] / "data" / "sorting"
    ran = evolve("run", "--task", sorting, "--name", "fast", "--generations", "1", "--tuning-baseline", "10", code=2)
    assert "--tuning-baseline: the score of task 'sorting' is a speed" in ran
    assert not Path("runs").exists()


def test_after_ctrl_c_it_is_not_on_record_and_can_be_made_later(begun, tmp_path, evolve):
    sums = "".join(f"    n += {number}.5 - {number}.4\n" for number in range(3, 40))
    (tmp_path / "many.py").write_text(BARE.replace("    return n", f"{sums}    return n"))
    process = in_fork(
        tmp_path, *begun, "--set", "initial=many.py", "--generations", "1", "--name", "r", "--tuning-baseline", "90000"
    )
    out = tmp_path / "out.txt"
    wait_until(lambda: out.exists() and "Tuning the initial program's numbers" in out.read_text(), process)
    os.kill(process.pid, signal.SIGINT)
    process.join(60)
    output = out.read_text()
    assert process.exitcode == 130
    assert "Finished: the limit of" in output
    assert "the tuning baseline is not on record: it was interrupted. To measure it: " in output
    assert f"resume {Path('runs/r')} --tuning-baseline 90000" in output
    assert not baselines("r")
    assert "with the evaluations of 10 proposals, reaches" in evolve("resume", "r", "--tuning-baseline", 10, code=1)

"""Runs that did not go straight: whatever happened to them is on record, and comes again."""

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.journals import rewrite
from tests.loop.climbing import TASK, configure, count, events, evolve, finish, opened, patch, script
from tests.loop.killing import META, kill_and_resume, offline, scripted
from tests.loop.rerun.calling import rerun
from tests.script_folders import make_folder

INITIAL = "# EVOLVE-BLOCK-START\nOFFSET = 60\n# next\n\n\ndef guess(n):\n    return n + OFFSET\n# EVOLVE-BLOCK-END\n"
SORTING = TASK.parent / "sorting"


def equal(folder: Path, *words: str) -> Any:
    output = rerun(folder, "r", *words)
    with opened(folder) as archive:
        assert output["fingerprint"] == {"recorded": archive.fingerprint(), "found": archive.fingerprint()}
    assert output["equal"]
    return output


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("make", "parallel"), [(scripted, 4), (offline, 3)])
def test_a_run_that_was_killed(tmp_path: Path, make: Callable[..., str], parallel: int, kills: int) -> None:
    chance = random.Random(f"rerun:{parallel}")
    config = make(tmp_path, parallel=parallel)
    killed = kill_and_resume(tmp_path, config, kills=kills, group=False, seconds=(0.5, 2.0), chance=chance)
    assert killed.wrong == []
    equal(tmp_path)


def test_islands_with_copies_between_them(tmp_path: Path) -> None:
    search = {"strategy": "islands", "elites": 4, "islands": 3, "migrate_every": 2}
    finish(tmp_path, "run", configure(tmp_path, generations=16, parallel=2, search=search), "--name", "r")
    equal(tmp_path)


@pytest.mark.slow
def test_the_offline_proposer_on_a_task_that_ships_with_held_out_and_fresh_instances(tmp_path: Path) -> None:
    evolve(tmp_path, "run", "--task", "placement", "--generations", "4", "--parallel", "2", "--name", "r", code=None)
    assert count(tmp_path, "held_out") >= 2
    evolve(tmp_path, "note", "r", "best", "remember this one")
    evolve(tmp_path, "resume", "r", "--generations", "6", code=None)
    output = equal(tmp_path)
    assert output["verdicts"]["exact"] == count(tmp_path, "evaluated") >= 2  # fewer where it is solved early
    assert count(tmp_path, "noted") == 1


@pytest.mark.slow
def test_settings_that_were_changed_on_the_way(tmp_path: Path) -> None:
    answers: list[Any] = [patch(1 + n / 100, name=f"step_{n}") for n in range(1, 25)]
    answers[3] = ["no", "nor this", patch(1.5)]
    answers[14] = ["no", "nor this", patch(1.5)]
    models = [script(tmp_path, answers, [META] * 9)]
    config = configure(tmp_path, models=models, generations=8, meta_every=4, attempts=2)
    finish(tmp_path, "run", config, "--name", "r")
    more = ["--generations", "24", "--parallel", "3", "--set", "attempts=3", "--set", "meta_every=5"]
    finish(tmp_path, "resume", "r", *more)
    assert {event["final"] for event in events(tmp_path) if event["event"] == "refused"} == {False, True}
    output = equal(tmp_path)
    assert output["questions_as_recorded"] == 0


@pytest.mark.slow
def test_a_rescored_run_is_compared_from_its_judge_on(tmp_path: Path) -> None:
    task = tmp_path / "task"
    shutil.copytree(TASK, task)
    models = [script(tmp_path, [patch(1 + n / 100) for n in range(1, 9)])]
    finish(tmp_path, "run", configure(tmp_path, task=str(task), models=models, generations=4), "--name", "r")
    (task / "judge.py").write_text((task / "judge.py").read_text() + "\n# changed\n")
    before = rerun(tmp_path, "r", code=1)
    assert before["parted"]["what"] == "what scores its programs differs"
    evolve(tmp_path, "resume", "r", "--rescore", "--generations", "8")
    assert count(tmp_path, "rescored") >= 1
    output = equal(tmp_path)
    assert output["verdicts"]["as_recorded"] == 5
    assert output["verdicts"]["exact"] == 4
    assert "5 verdicts stand as recorded: the judge was replaced" in evolve(tmp_path, "rerun", "r").stdout


@pytest.mark.slow
def test_where_the_clock_is_the_score_verdicts_agree_within_their_spread(tmp_path: Path) -> None:
    evolve(tmp_path, "run", configure(tmp_path, task=str(SORTING), generations=2), "--name", "r", code=None)
    assert count(tmp_path, "evaluated") >= 2
    output = rerun(tmp_path, "r", code=None)
    if output["equal"]:  # a busy machine may measure a speed beyond the spread
        assert output["verdicts"]["within"] >= 1
    else:
        assert output["parted"]["what"] in ("its verdict differs", "what became of it differs")


def test_a_self_judged_program_is_compared_by_what_its_script_says(tmp_path: Path) -> None:
    evaluate = """
import importlib.util, json, sys, time
spec = importlib.util.spec_from_file_location("program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
far = abs(program.guess(0))
json.dump({"correct": True, "combined_score": -far, "private": {"t": time.time()}}, open(sys.argv[2], "w"))
"""
    initial = (
        "# EVOLVE-BLOCK-START\nOFFSET = 60\n# next\n\n\ndef guess(n):\n    return n + OFFSET\n# EVOLVE-BLOCK-END\n"
    )
    task = make_folder(tmp_path / "task", evaluate=evaluate, initial=initial, entry_point="guess")
    models = [script(tmp_path, [patch(1), patch(2), patch(3)])]
    finish(tmp_path, "run", configure(tmp_path, task=str(task), models=models, generations=3), "--name", "r")
    output = equal(tmp_path)
    assert output["verdicts"]["within"] >= 3


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `r` of eight generations."""
    folder = tmp_path_factory.mktemp("small")
    models = [script(folder, [patch(1 + n / 100) for n in range(1, 9)])]
    finish(folder, "run", configure(folder, models=models, generations=8), "--name", "r")
    return folder


def copied(small: Path, folder: Path) -> Path:
    (folder / "runs").mkdir()
    shutil.copytree(small / "runs" / "r", folder / "runs" / "r")
    return folder / "runs" / "r" / "journal.jsonl"


def test_a_score_that_was_raised_is_found(small: Path, tmp_path: Path) -> None:
    def raise_it(event: dict[str, Any]) -> None:
        if event["event"] == "evaluated" and event["generation"] == 5:
            event["evaluation"]["combined_score"] += 1.0
            event["evaluation"]["metrics"]["mean_distance"] = 0.0

    rewrite(copied(small, tmp_path), raise_it)
    parted = rerun(tmp_path, "r", code=1)["parted"]
    assert (parted["generation"], parted["what"]) == (5, "its verdict differs")
    assert "combined_score" in parted["recorded"]
    assert parted["recorded"] != parted["found"]


def test_a_question_that_nobody_chose_is_found(small: Path, tmp_path: Path) -> None:
    with opened(small) as archive:
        other = archive.programs[1].commit

    def ask_of_another(event: dict[str, Any]) -> None:
        if event["event"] in ("asked", "evaluated") and event["generation"] == 6:
            event["parents"] = [other]

    rewrite(copied(small, tmp_path), ask_of_another)
    parted = rerun(tmp_path, "r", code=1)["parted"]
    assert (parted["generation"], parted["what"]) == (6, "its choice differs")
    assert other[:8] in parted["recorded"]
    output = evolve(tmp_path, "rerun", "r", code=1).stdout
    assert "The rerun differs from generation 6 on: its choice differs." in output


def test_another_prompt_template_is_found_with_its_first_line(small: Path, tmp_path: Path) -> None:
    copied(small, tmp_path)
    templates = tmp_path / "templates"
    shutil.copytree(Path(__file__).resolve().parents[3] / "prompts", templates)
    template = templates / "diff.j2"
    template.write_text("A word before all others.\n" + template.read_text())
    models = [script(tmp_path, [patch(1 + n / 100) for n in range(1, 4)])]
    config = configure(tmp_path, models=models, generations=3, prompts_dir=str(templates))
    finish(tmp_path, "run", config, "--name", "own")
    template.write_text(template.read_text().replace("A word", "Another word"))
    parted = rerun(tmp_path, "own", code=1)["parted"]
    assert (parted["generation"], parted["what"]) == (1, "its prompt differs")
    assert parted["recorded"] == "line 1: A word before all others."
    assert parted["found"] == "line 1: Another word before all others."


def test_somebody_elses_run_is_asked_about_before_its_code_is_used(small: Path, tmp_path: Path) -> None:
    copied(small, tmp_path)
    nobody = {"XDG_STATE_HOME": str(tmp_path / "nobody")}
    refused = evolve(tmp_path, "rerun", "r", code=2, environment=nobody).stderr
    assert f"task folder {TASK}" in refused
    assert "rerun" in refused and "--trust" in refused
    assert "scripted" not in refused, "its models are not used"
    evolve(tmp_path, "rerun", "r", "--trust", environment=nobody)
    evolve(tmp_path, "rerun", "r", "--task", str(TASK), environment=nobody)


@pytest.mark.slow
def test_ctrl_c_ends_it_and_leaves_nothing(small: Path, tmp_path: Path) -> None:
    slow = "OFFSET -= 1 + 0 * sum(i % 3 for i in range(4_000_000))"
    models = [script(tmp_path, [patch(f"{slow}  # {n}") for n in range(1, 5)])]
    finish(tmp_path, "run", configure(tmp_path, models=models, generations=3), "--name", "r")
    place = tmp_path / "temporary"
    place.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "evolve", "rerun", "r"],
        cwd=tmp_path,
        env=environment_with(TMPDIR=str(place)),
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not list(place.glob("evolve-rerun-*/run")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert not list(place.glob("evolve-rerun-*"))


def environment_with(**more: str) -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(TASK.parents[2]), **more}

"""Whole runs of a task with an evaluator script: what reaches a model, what is recorded, and going on after a kill."""

import json
import random
import re
import subprocess
from pathlib import Path

import pytest

from tests.loop.climbing import configure, evolve, finish, opened, patch, script
from tests.loop.killing import META, kill_and_resume, offline, run_through
from tests.script_folders import make_folder

FEEDBACK, ARTIFACT, PRIVATE = "feedback-5a1c", "artifact-77be", "private-e0d3"
EVALUATE = f"""
import importlib.util, json, sys

spec = importlib.util.spec_from_file_location("program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
far = abs(program.guess(0))
found = {{
    "correct": far < 1000,
    "combined_score": -far,
    "metrics": {{"far": far}},
    "feedback": f"{FEEDBACK}: {{far}} away",
    "artifacts": {{"compiler": "{ARTIFACT}"}},
    "private": {{"hidden": "{PRIVATE}", "far": far}},
}}
json.dump(found, open(sys.argv[2], "w"))
"""
INITIAL = "# EVOLVE-BLOCK-START\nOFFSET = 60\n# next\n\n\ndef guess(n):\n    return n + OFFSET\n# EVOLVE-BLOCK-END\n"


@pytest.fixture(scope="module")
def scripted_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `r`: three gains, one program that the script cannot run, one that it calls incorrect; and
    insights reports by a model."""
    folder = tmp_path_factory.mktemp("scripted")
    task = make_folder(folder / "task", evaluate=EVALUATE, initial=INITIAL, entry_point="guess")
    answers = [patch(1), patch("OFFSET = None"), patch(2), patch("OFFSET = 5000"), patch(3), patch(4)]
    config = configure(
        folder, task=str(task), models=[script(folder, answers, [META] * 3)], generations=6, meta_every=3
    )
    finish(folder, "run", config, "--name", "r")
    return folder


def objects(folder: Path) -> bytes:
    """Every object of a run's git: programs, prompts, answers, documents."""
    git = ["git", "-C", str(folder / "runs" / "r" / "programs.git")]
    ran = subprocess.run([*git, "cat-file", "--batch-all-objects", "--batch"], capture_output=True, check=True)
    return ran.stdout


def prompts(folder: Path) -> dict[int, str]:
    with opened(folder) as archive:
        found = {number: archive.attempts(number)[-1].prompt for number in archive.statuses if number}
        return {number: archive.text(blob) for number, blob in found.items() if blob is not None}


def test_feedback_and_artifacts_reach_the_prompt(scripted_run: Path) -> None:
    first = prompts(scripted_run)[1]
    assert f"| {FEEDBACK}: 60 away" in first
    assert "| compiler:" in first
    assert f"| {ARTIFACT}" in first
    assert "- combined_score = -60 (self-judged)" in first
    assert "- far = 60" in first
    assert "- correct, as its script says" in first
    assert "its score is self-judged" in first
    assert "600 s of CPU, 300 s of time, 2048 MB of memory" in first


def test_a_prompt_tells_why_a_script_could_not_score(scripted_run: Path) -> None:
    with opened(scripted_run) as archive:
        failed = [archive.evaluation(program) for program in archive.programs if not program.correct]
    crashed, refused = failed
    assert "TypeError" in crashed.detail
    assert crashed.feedback.startswith("evaluate.py ended with status 1: TypeError")
    assert refused.detail == f"evaluate.py says that the program is not correct: {FEEDBACK}: 5000 away"
    assert any("(exited)" in text and "TypeError" in text for text in prompts(scripted_run).values())


def test_what_is_private_is_recorded_and_in_no_prompt_and_no_document(scripted_run: Path) -> None:
    stored = objects(scripted_run)
    assert FEEDBACK.encode() in stored  # else this search could not find anything
    assert ARTIFACT.encode() in stored
    assert PRIVATE.encode() not in stored
    for path in (scripted_run / "runs" / "r" / "meta").glob("*.md"):
        assert PRIVATE not in path.read_text()
    with opened(scripted_run) as archive:
        assert archive.evaluation(archive.programs[0]).private == {"hidden": PRIVATE, "far": 60}
    assert PRIVATE in evolve(scripted_run, "show", "r", "0").stdout
    shown = json.loads(evolve(scripted_run, "show", "r", "0", "--json").stdout)
    assert shown["private"] == {"hidden": PRIVATE, "far": 60}


def test_every_insights_report_says_that_scores_are_self_judged(scripted_run: Path) -> None:
    with opened(scripted_run) as archive:
        reports = list(archive.meta.reports.values())
    assert reports
    for report in reports:
        assert "self-judged" in report.warning
    stored = objects(scripted_run).decode("utf-8", "replace")
    assert "correct, combined_score = -59 (self-judged)" in stored  # the prompt for the summaries
    assert re.search(r"# The best program so far \(generation \d, combined_score = -\d+, self-judged\)", stored)


def test_no_place_of_this_machine_is_recorded(scripted_run: Path) -> None:
    assert str(scripted_run).encode() not in objects(scripted_run)
    with opened(scripted_run) as archive:
        for program in archive.programs:
            assert str(scripted_run) not in json.dumps(archive.evaluation(program).to_json())
            assert "/evolve-scratch" not in json.dumps(archive.evaluation(program).to_json())


def test_it_is_said_wherever_a_score_is(scripted_run: Path) -> None:
    listed = json.loads(evolve(scripted_run, "list", "r", "--json").stdout)
    assert [program["self_judged"] for program in listed["programs"]] == [True] * len(listed["programs"])
    (row,) = json.loads(evolve(scripted_run, "list", "--json").stdout)["runs"]
    assert row["self_judged"] is True
    for words in (
        ["list"],
        ["list", "r"],
        ["list", "r", "--best"],
        ["list", "r", "--all"],
        ["show", "r", "best"],
        ["lineage", "r", "best"],
        ["insights", "r"],
        ["replay", "r"],
    ):
        assert "self-judged" in evolve(scripted_run, *words).stdout, words
    assert "self-judged" in (scripted_run / "out.txt").read_text()


def test_replay_asks_the_script_again(scripted_run: Path) -> None:
    for program in ("0", "2", "best"):
        replay = json.loads(evolve(scripted_run, "replay", "r", program, "--json").stdout)
        assert (replay["equal"], replay["recorded"]["self_judged"], replay["replayed"]["self_judged"]) == (
            True,
            True,
            True,
        )
    (scripted_run / "task" / "evaluate.py").write_text(EVALUATE.replace("-far,", "-far - 1,"))
    try:
        ran = evolve(scripted_run, "replay", "r", code=1)
        assert "The evaluator has changed: version" in ran.stdout
    finally:
        (scripted_run / "task" / "evaluate.py").write_text(EVALUATE)


@pytest.mark.slow
def test_a_killed_run_that_went_on_is_the_run_that_was_not_killed(tmp_path: Path) -> None:
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        make_folder(tmp_path / name / "task", evaluate=EVALUATE, initial=INITIAL, entry_point="guess")
    keys = {"parallel": 1, "generations": 8}
    whole, seconds = run_through(
        tmp_path / "whole", offline(tmp_path / "whole", task=str(tmp_path / "whole" / "task"), **keys)
    )
    config = offline(tmp_path / "killed", task=str(tmp_path / "killed" / "task"), **keys)
    killed = kill_and_resume(
        tmp_path / "killed", config, kills=1, group=True, seconds=seconds, chance=random.Random("scripts")
    )
    assert killed.wrong == []
    with opened(tmp_path / "killed") as archive:
        assert archive.fingerprint() == whole
        best = archive.best
        assert best is not None
        assert best.self_judged
        assert best.combined_score > -60


def test_scores_too_large_to_add_up_are_refused_and_the_run_goes_on_and_can_be_resumed(tmp_path: Path) -> None:
    evaluate = EVALUATE.replace('"combined_score": -far', '"combined_score": -far if far < 70 else -1.7e308')
    task = make_folder(tmp_path / "task", evaluate=evaluate, initial=INITIAL, entry_point="guess")
    answers = [patch("OFFSET = 80"), patch("OFFSET = 90"), patch("OFFSET = 75"), patch(1)]
    config = configure(
        tmp_path, task=str(task), models=[script(tmp_path, answers, [META] * 3)], generations=4, meta_every=2
    )
    finish(tmp_path, "run", config, "--name", "r")
    finish(tmp_path, "resume", "r", "--generations", "4")
    with opened(tmp_path) as archive:
        assert archive.best is not None
        assert archive.best.combined_score == -59
        assert sum(not program.correct for program in archive.programs) == 3

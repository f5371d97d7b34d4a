"""A run that was begun can go on, whatever was wrong: its task's code, its limits, where things lie, or Ctrl-C."""

import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from evolve.archive.archive import Archive
from evolve.archive.events import Status
from evolve.archive.ranking import rank_key
from evolve.archive.records import EndedGeneration
from evolve.loop.session import Session
from evolve.search.population import Population
from tests.loop.climbing import (
    ROOT,
    TASK,
    configure,
    count,
    events,
    evolve,
    forked,
    in_fork,
    opened,
    patch,
    script,
    wait_until,
)
from tests.search.programs import program

PRINTED = re.compile(r"(?:\S*/)?(?:evolve|python\S* -m evolve) (resume [^#\n]*)")


def resume_that_is_printed(message: str) -> list[str]:
    """The words of the command that goes on, as it stands at the end of a run."""
    found = PRINTED.search(message)
    assert found is not None, message
    return found[1].split()


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A copy of the task `climb` that a test may break and repair."""
    folder = tmp_path / "mine"
    shutil.copytree(TASK, folder)
    return folder


def breaking(task: Path, tmp_path: Path, after: int) -> str:
    """Make the judge fail after that many calls; what it was before."""
    judge = task / "judge.py"
    whole = judge.read_text()
    calls = tmp_path / "calls"
    line = f'    with open({str(calls)!r}, "a+") as f:\n        f.write("x")\n        f.seek(0)\n'
    line += f'        if len(f.read()) > {after}:\n            raise RuntimeError("boom")\n'
    judge.write_text(whole.replace("def judge(instance, answer):\n", "def judge(instance, answer):\n" + line, 1))
    return whole


def test_after_a_limit_the_printed_command_goes_on(tmp_path: Path) -> None:
    config = configure(tmp_path, patience=3, generations=40)
    first = evolve(tmp_path, "run", config, "--name", "r")
    assert "the last 3 proposals brought no better program" in first.stdout
    with opened(tmp_path) as archive:
        ended = archive.ended
    again = evolve(tmp_path, *resume_that_is_printed(first.stdout))
    assert "the last 3 proposals" not in again.stdout
    with opened(tmp_path) as archive:
        assert archive.ended > ended
    assert events(tmp_path)[-1]["event"] == "stopped"
    assert count(tmp_path, "resumed", changed={"patience": 6}) == 1


def test_patience_counts_what_has_ended_and_not_what_is_in_flight(tmp_path: Path) -> None:
    evolve(tmp_path, "run", configure(tmp_path, patience=5, parallel=4, generations=60), "--name", "r")
    with opened(tmp_path) as archive:
        assert archive.finished in ("patience", "generations")
        assert archive.finished == "generations" or archive.ended_since_best >= 5


def test_a_judge_that_fails_leaves_answers_and_can_be_repaired(tmp_path: Path, task: Path) -> None:
    whole = breaking(task, tmp_path, after=12)
    ran = evolve(tmp_path, "run", configure(tmp_path, task=str(task), generations=8), "--name", "r", code=2)
    assert "judge(): raised RuntimeError: boom" in ran.stdout, "said at once"
    assert "judge.py line" in ran.stderr
    assert "Traceback" not in ran.stderr + ran.stdout
    with opened(tmp_path) as archive:
        assert archive.finished == "task"
        left = archive.unfinished()
        assert len(left) == 3, "three in a row, and it stops"
        assert all(generation.answer is not None for generation in left)
        before = {record.generation: record.combined_score for record in archive.programs}
    (task / "judge.py").write_text(whole)
    assert resume_that_is_printed(ran.stderr) == ["resume", "runs/r", "--rescore"]
    refused = evolve(tmp_path, "resume", "r", code=2)
    assert refused.stderr.count("\n") == 1
    assert "--rescore" in refused.stderr
    evolve(tmp_path, *resume_that_is_printed(refused.stderr))
    with opened(tmp_path) as archive:
        assert not archive.unfinished()
        assert archive.ended == 9
        rescored = {event["generation"] for event in events(tmp_path) if event["event"] == "rescored"}
        assert 0 in rescored
        again = rescored & before.keys()
        assert all(archive.find(str(generation)).combined_score == before[generation] for generation in again)
        assert archive.best is not None
        assert not archive.best.stale


def test_under_another_judge_both_scores_stay_and_only_new_ones_are_compared(tmp_path: Path, task: Path) -> None:
    evolve(tmp_path, "run", configure(tmp_path, task=str(task), generations=6), "--name", "r")
    with opened(tmp_path) as archive:
        old = {record.generation: record.combined_score for record in archive.programs}
    judge = task / "judge.py"
    judge.write_text(judge.read_text().replace("return 4 +", "return 8 +"))
    evolve(tmp_path, "resume", "r", "--rescore", "--generations", "8")
    evaluated = {
        e["generation"]: e["evaluation"]["combined_score"] for e in events(tmp_path) if e["event"] == "evaluated"
    }
    assert {generation: evaluated[generation] for generation in old} == old, "the first score stays on record"
    with opened(tmp_path) as archive:
        fresh = [record for record in archive.programs if not record.stale]
        assert {record.generation for record in fresh} >= {0}
        assert all(record.combined_score != old.get(record.generation) for record in fresh)
        assert archive.best in fresh
        certificate = archive.answers(archive.best)
        assert certificate is not None
        assert len(certificate) == len(archive.evaluation(archive.best).results)
        assert all(archive.answers(record) is None for record in archive.programs if record.stale)
        assert archive.best == min((record for record in fresh if record.correct), key=rank_key)
        assert archive.ended == 9
    evolve(tmp_path, "replay", "r")


def test_ctrl_c_does_not_wait_for_candidates_and_loses_nothing(tmp_path: Path, task: Path) -> None:
    """A candidate that would run for ten minutes: the run ends, its answer stays, and resume judges it."""
    settings = task / "task.yaml"
    settings.write_text(
        settings.read_text().replace(
            "cpu_per_instance_s: 2, cpu_total_s: 5", "cpu_per_instance_s: 600, cpu_total_s: 600"
        )
    )
    models = [script(tmp_path, [patch("while True: pass", "endless")])]
    config = configure(tmp_path, task=str(task), models=models, generations=1)
    process = in_fork(tmp_path, "run", config, "--name", "r")
    wait_until(lambda: count(tmp_path, "answered") == 1, process)
    subprocess.run(["kill", "-INT", str(process.pid)], check=True)
    process.join(60)
    assert process.exitcode == 130
    assert "Interrupted" in (tmp_path / "out.txt").read_text()
    with opened(tmp_path) as archive:
        assert archive.statuses[1] is Status.ANSWERED
        assert archive.finished == "interrupted"


def interrupted_twice(*_: object) -> None:
    """A session that gets Ctrl-C twice as soon as it runs."""
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)


def interrupt_sessions() -> None:
    Session.run = interrupted_twice  # type: ignore[method-assign,assignment]


def test_a_second_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    words = ["run", configure(tmp_path), "--name", "r"]
    ran = forked(tmp_path, words, {**os.environ, "PYTHONPATH": str(ROOT)}, interrupt_sessions)
    assert ran.returncode == 130
    assert "everything on record is kept" in ran.stderr
    assert "resume runs/r" in ran.stderr


def test_a_moved_task_is_named_to_replay_and_resume(tmp_path: Path, task: Path) -> None:
    evolve(tmp_path, "run", configure(tmp_path, task=str(task), generations=3), "--name", "r")
    task.rename(tmp_path / "elsewhere")
    lost = evolve(tmp_path, "replay", "r", code=2).stderr
    assert lost.count("\n") == 1
    assert "--task FOLDER" in lost
    assert "Equal" in evolve(tmp_path, "replay", "r", "--task", "elsewhere").stdout
    evolve(tmp_path, "resume", "r", "--task", "elsewhere", "--generations", "4")
    evolve(tmp_path, "replay", "r")
    for command in ("replay", "resume"):
        assert "the run is of 'climb'" in evolve(tmp_path, command, "r", "--task", "placement", code=2).stderr


def test_two_runs_of_one_name_are_two(tmp_path: Path) -> None:
    names: list[Path] = []

    def begin() -> None:
        made = Archive.create(
            tmp_path / "run", config_text="", identity={"task": "placement", "suite": "adrs"}, numbered=True
        )
        names.append(made.folder)
        made.close()

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(path.name for path in names) == ["run", "run-2", "run-3", "run-4", "run-5", "run-6"]


def test_a_run_that_has_nothing_to_propose_says_so_at_once_and_how_it_mostly_ended(tmp_path: Path, task: Path) -> None:
    initial = task / "initial.py"
    initial.write_text(initial.read_text().replace("OFFSET = 60\n", "").replace("n + OFFSET", "n"))
    ran = evolve(tmp_path, "run", configure(tmp_path, task=str(task), generations=4), "--name", "r", code=1)
    assert ran.stdout.count("There is nothing to propose") == 1
    assert "--model" in ran.stdout
    assert "not one proposal succeeded; 4 of 4 ended with: refused: nothing" in ran.stderr


def test_a_run_from_an_initial_program_that_fails_says_what_to_repair(tmp_path: Path, task: Path) -> None:
    initial = task / "initial.py"
    initial.write_text(initial.read_text().replace("return ", "return None and "))
    ran = evolve(tmp_path, "run", configure(tmp_path, task=str(task), generations=3), "--name", "r", code=1)
    assert f"doctor --task {task}" in ran.stdout
    assert "3 of 3 ended with: invalid_output" in ran.stderr
    assert "The initial program fails, too" in ran.stderr


def test_while_nothing_is_correct_the_nearest_failure_is_repaired() -> None:
    population = Population(elites=3)
    failures = [program(0, 0.1, correct=False), program(1, 0.6, correct=False), program(2, 0.6, correct=False)]
    for record in failures:
        ended = EndedGeneration(generation=record.generation, status=Status.EVALUATED, parent=None, program=record)
        population.ended(ended)
    assert population.nearest == failures[1]


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    """A pipe would never end, a device neither."""
    os.mkfifo(tmp_path / "pipe")
    for words in (
        ["run", "/dev/zero"],
        ["run", str(tmp_path / "pipe")],
        ["run", "--model", f"scripted:{tmp_path / 'pipe'}"],
        ["run", "--set", f"initial={tmp_path / 'pipe'}"],
        ["doctor", "--endpoint", str(tmp_path / "pipe")],
    ):
        output = evolve(tmp_path, *words, code=2).stderr
        assert output.count("\n") == 1
        assert "is not a file" in output


def test_a_run_without_its_objects_does_not_hide_the_others(tmp_path: Path) -> None:
    for name in ("whole", "broken"):
        evolve(tmp_path, "run", configure(tmp_path, generations=2), "--name", name)
    shutil.rmtree(tmp_path / "runs" / "broken" / "programs.git" / "objects")
    for words in (["list", "broken"], ["show", "broken", "best"], ["replay", "broken"], ["resume", "broken"]):
        assert "lacks programs.git/objects" in evolve(tmp_path, *words, code=2).stderr
    assert "whole" in evolve(tmp_path, "list", code=None).stdout


def leave_room_for(largest: int) -> None:
    """No file may grow beyond that size: the kernel's limit stands in for a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))


def test_after_a_full_disk_the_printed_command_goes_on(tmp_path: Path) -> None:
    evolve(tmp_path, "run", configure(tmp_path, generations=1), "--name", "r")
    room = (tmp_path / "runs" / "r" / "journal.jsonl").stat().st_size + 3000
    words = ("resume", "r", "--generations", "8")
    full = forked(tmp_path, words, os.environ | {"PYTHONPATH": str(ROOT)}, partial(leave_room_for, room))
    assert full.returncode == 3
    assert "journal.jsonl: cannot be written (File too large)" in full.stderr
    assert "Traceback" not in full.stderr
    with opened(tmp_path) as archive:
        ended = archive.ended
    evolve(tmp_path, *resume_that_is_printed(full.stderr))
    with opened(tmp_path) as archive:
        assert archive.ended > ended

"""Claims about `evolve run` and `evolve resume`, each made by the command itself in a folder of its own."""

import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.loop.climbing import ROOT, configure, events, evolve, patch, script, start, wait_until

Started = Callable[..., subprocess.Popen[Any]]
EVOLVE = [sys.executable, "-m", "evolve"]
CURVE = str(Path(__file__).resolve().parent.parent / "data" / "curve")
"""A task that no run solves, so that a run lasts until its limit, and scores in a few milliseconds."""


def listing(folder: Path, name: str) -> dict:
    return json.loads(evolve(folder, "list", name, "--json").stdout)


def git(folder: Path, name: str, *words: str) -> str:
    git_dir = folder / "runs" / name / "programs.git"
    return subprocess.run(
        ["git", "--git-dir", str(git_dir), *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_two_runs_with_one_seed_are_equal_and_another_seed_is_not(tmp_path: Path) -> None:
    prints, bests = [], []
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        folder = tmp_path / name
        folder.mkdir()
        options = ("--task", CURVE, "--generations", "3", "--parallel", "1", "--set", "workers=1", "--seed", seed)
        evolve(folder, "run", "--name", name, *options)
        prints.append(listing(folder, name)["fingerprint"])
        bests.append(git(folder, name, "rev-parse", "best"))
    assert prints[0] == prints[1] != prints[2]
    assert bests[0] == bests[1]


def check_record(folder: Path, name: str) -> dict:
    """What holds of every record, however it came to be."""
    listed = listing(folder, name)
    programs = {program["commit"]: program for program in listed["programs"]}
    generations = [program["generation"] for program in listed["programs"]]
    assert len(programs) == len(generations) == len(set(generations))
    for program in programs.values():
        commit = program["commit"]
        assert git(folder, name, "rev-parse", f"gen/{program['generation']}") == commit
        assert git(folder, name, "log", "-1", "--format=%P", commit).split() == program["parents"]
        assert all(programs[parent]["generation"] < program["generation"] for parent in program["parents"])
    confirmed = [program for program in programs.values() if program["correct"] and not program["provisional"]]
    best = max(confirmed, key=lambda p: (p["combined_score"], -p["generation"]))
    assert git(folder, name, "rev-parse", "best") == best["commit"]
    git(folder, name, "fsck", "--strict")
    return listed


def test_several_proposals_in_flight_make_a_correct_record(tmp_path: Path) -> None:
    evolve(tmp_path, "run", "--name", "four", "--task", CURVE, "--generations", "20", "--parallel", "4")
    check_record(tmp_path, "four")


@pytest.mark.parametrize(
    ("most", "generations"),
    [pytest.param(1, "40", marks=pytest.mark.slow), pytest.param(8, "120", marks=pytest.mark.nightly)],
)
def test_a_run_killed_anywhere_and_resumed_is_the_run_that_was_not(
    tmp_path: Path, started: Started, most: int, generations: str
) -> None:
    options = ("--task", CURVE, "--generations", generations, "--parallel", "1", "--seed", "1", "--set", "workers=1")
    evolve(tmp_path, "run", "--name", "whole", *options)
    moments = random.Random(0)
    running = started(
        [*EVOLVE, "run", "--name", "killed", *options], cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True
    )
    while not (tmp_path / "runs" / "killed" / "journal.jsonl").exists():
        assert running.poll() is None
        time.sleep(0.01)
    kills = 0
    while kills < most:
        time.sleep(moments.uniform(0.0, 0.3))
        if running.poll() is not None:
            break
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        kills += 1
        running = started(
            [*EVOLVE, "resume", "killed"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        time.sleep(0.4)  # interpreter and evaluator start-up, in which nothing is written
    _, printed = running.communicate(timeout=120)
    assert running.returncode == 0, printed
    assert kills > 0
    assert listing(tmp_path, "killed")["fingerprint"] == listing(tmp_path, "whole")["fingerprint"]
    assert git(tmp_path, "killed", "rev-parse", "best") == git(tmp_path, "whole", "rev-parse", "best")
    git(tmp_path, "killed", "gc", "--quiet", "--prune=now")
    assert check_record(tmp_path, "killed")["fingerprint"] == listing(tmp_path, "whole")["fingerprint"]
    evolve(tmp_path, "show", "killed", "best", "--code")


def test_ctrl_c_ends_cleanly_and_tells_how_to_go_on(tmp_path: Path) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    words = ["run", "--name", "stopped", "--task", CURVE, "--generations", "100000"]
    given = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = start(tmp_path, words, given, out=out, err=err, prepare=os.setsid)
    wait_until(lambda: [event["event"] for event in events(tmp_path, "stopped")].count("evaluated") >= 4, running)
    second = evolve(tmp_path, "resume", "stopped", code=2)
    assert "evolve: " in second.stderr
    assert str(running.pid) in second.stderr
    # A terminal sends Ctrl-C to every process of the group, evaluator and git included.
    os.killpg(running.pid, signal.SIGINT)
    running.join(60)
    assert running.exitcode == 130, err.read_text()
    assert "evolve resume runs/stopped" in out.read_text()
    assert "Traceback" not in err.read_text()
    check_record(tmp_path, "stopped")
    known = len(listing(tmp_path, "stopped")["programs"])
    evolve(tmp_path, "resume", "stopped", "--generations", str(known + 3))
    assert len(check_record(tmp_path, "stopped")["programs"]) > known
    assert "Traceback" not in second.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--set", "generation=3"], 2, "did you mean 'generations'"),
        (["--set", "seed=x"], 2, "seed"),
        (["--set", "novalue"], 2, "KEY=VALUE"),
        (["missing.yaml"], 2, "missing.yaml"),
        (["--task", "plasment"], 2, "plasment"),
        (["--suite", "adrz"], 2, "adrs"),
        (["--set", "initial=missing.py"], 2, "missing.py"),
        (["--set", "initial=half_block.py"], 2, "EVOLVE-BLOCK-START without"),
        (["--set", "initial=no_entry.py"], 2, "compute_model_placement"),
        (["--set", "initial=large.py"], 2, "65536"),
        (["--set", "initial=broken.py"], 2, "broken.py"),
        (["--set", "initial=raises.py"], 2, "does not load"),
        (["--name", "../x"], 2, "--name"),
        (["--name", "taken"], 2, "exists"),
        (["--name", "a\nb"], 2, "--name"),
        (["--name", "x" * 300], 2, "--name"),
        (["twice.yaml"], 2, "stands twice"),
        (["--generations", "many"], 2, "--generations"),
        (["--parallel", "0"], 2, "parallel"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(tmp_path: Path, words: list[str], code: int, says: str) -> None:
    block = "# EVOLVE-BLOCK-START\n{}\n# EVOLVE-BLOCK-END\n"
    entry = "def compute_model_placement(gpu_num, models):\n    return {}"
    (tmp_path / "twice.yaml").write_text("seed: 1\nseed: 2\n")
    (tmp_path / "half_block.py").write_text(f"# EVOLVE-BLOCK-START\n{entry}")
    (tmp_path / "no_entry.py").write_text(block.format("x = 1"))
    (tmp_path / "broken.py").write_text(block.format("def f(:"))
    (tmp_path / "raises.py").write_text(block.format(f"1 / 0\n{entry}"))
    (tmp_path / "large.py").write_text(block.format(f"{entry}\n{'#' * 70_000}"))
    (tmp_path / "runs" / "taken").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    ran = evolve(tmp_path, "run", *words, code=code)
    assert says in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert "Traceback" not in ran.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_an_initial_program_that_does_not_load_tells_with_which_command_to_see_more(tmp_path: Path) -> None:
    (tmp_path / "raises.py").write_text("# EVOLVE-BLOCK-START\n1 / 0\ndef solve(x):\n    pass\n# EVOLVE-BLOCK-END\n")
    task = (tmp_path / "my task").resolve()
    shutil.copytree(CURVE, task)
    entry = re.search(r"entry_point: (\w+)", (task / "task.yaml").read_text())[1]
    (tmp_path / "raises.py").write_text((tmp_path / "raises.py").read_text().replace("solve", entry))
    ran = evolve(tmp_path, "run", "--task", "my task", "--set", "initial=raises.py", code=2)
    pasted = re.search(r"\(more: (.*)\)", ran.stderr)[1]
    again = subprocess.run(["sh", "-c", pasted], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "ZeroDivisionError" in again.stdout, pasted + again.stderr


def test_the_first_evaluation_is_announced_on_a_terminal(on_terminal, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    screen = on_terminal("run", "--task", CURVE, "--generations", "1", "--name", "r")
    assert screen.startswith("scoring the initial program ...\r\x1b[KEvolving")


def test_a_file_named_runs_is_reported(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    ran = evolve(tmp_path, "run", "--task", CURVE, "--generations", "1", code=2)
    assert "runs is not a folder" in ran.stderr
    assert (tmp_path / "runs").read_text() == "a file"


def test_resume_refuses_what_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "runs" / "else").mkdir(parents=True)
    (tmp_path / "runs" / "else" / "notes.txt").write_text("not a run")
    assert "else" in evolve(tmp_path, "resume", "else", code=2).stderr
    assert "nothing" in evolve(tmp_path, "resume", "nothing", code=2).stderr


def test_a_journal_damaged_in_the_middle_is_named_with_its_line(tmp_path: Path) -> None:
    evolve(tmp_path, "run", "--name", "hurt", "--task", CURVE, "--generations", "3", "--parallel", "1")
    journal = tmp_path / "runs" / "hurt" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([lines[0], "{broken\n", *lines[2:]]))
    for command in (["resume", "hurt"], ["list", "hurt"]):
        ran = evolve(tmp_path, *command, code=2)
        assert "journal.jsonl" in ran.stderr
        assert "2" in ran.stderr


def test_a_run_whose_every_proposal_fails_says_so_and_ends_with_1(tmp_path: Path) -> None:
    answers = [patch(f"OFFSET = [{number}]", name=f"a_list_{number}") for number in range(4)]
    config = configure(tmp_path, models=[script(tmp_path, answers)], generations=4)
    ran = evolve(tmp_path, "run", config, "--name", "none", code=1)
    assert "not one proposal succeeded; 4 of 4 ended with: exception: TypeError: " in ran.stderr
    assert "\\n" not in ran.stderr
    programs = listing(tmp_path, "none")["programs"]
    assert [program["outcome"] for program in programs] == ["ok", *["exception"] * 4]


def test_a_configuration_that_was_changed_is_not_gone_on_with(tmp_path: Path) -> None:
    evolve(tmp_path, "run", "--name", "frozen", "--task", CURVE, "--generations", "3", "--parallel", "1")
    config = tmp_path / "runs" / "frozen" / "run.yaml"
    text = config.read_text()
    for changed in ("", text.replace("seed: 0", "seed: 9")):
        config.write_text(changed)
        ran = evolve(tmp_path, "resume", "frozen", "--generations", "6", code=2)
        assert "run.yaml" in ran.stderr
    config.write_text(text)
    evolve(tmp_path, "resume", "frozen", "--generations", "6")


def test_a_resumed_run_with_a_wider_limit_is_the_run_that_had_it_from_the_start(tmp_path: Path) -> None:
    options = ("--task", CURVE, "--parallel", "1")
    evolve(tmp_path, "run", "--name", "short", "--generations", "3", *options)
    evolve(tmp_path, "resume", "short", "--generations", "6")
    evolve(tmp_path, "run", "--name", "long", "--generations", "6", *options)
    assert listing(tmp_path, "short")["fingerprint"] == listing(tmp_path, "long")["fingerprint"]


@pytest.mark.slow
def test_a_run_begins_with_what_is_asked_the_bound_and_the_best_known_value(tmp_path: Path) -> None:
    ran = evolve(tmp_path, "run", "--name", "r", "--task", "erdos_overlap", "--generations", "1")
    _, asked, limits, *_ = ran.stdout.splitlines()
    assert asked.startswith("Task: Find a step function that overlaps as little as possible with its complement")
    assert limits == (
        "overlap: smaller is better; proven bound 0.379005, best known 0.380870 (Together AI (600 heights), 2026-03)."
    )
    assert "Task: " not in evolve(tmp_path, "resume", "r", "--generations", "2").stdout


def test_every_command_that_a_run_ends_with_can_be_pasted(tmp_path: Path) -> None:
    ran = evolve(tmp_path, "run", "--name", "two words", "--task", CURVE, "--generations", "3", "--parallel", "1")
    assert ran.stdout.splitlines()[1] == "Task: Come near a curve that nobody can hit with a polynomial."
    steps = ran.stdout.partition("Next:\n")[2].splitlines()
    commands = [shlex.split(line, comments=True) for line in steps]
    assert {"resume", "lineage", "show", "replay", "export"} <= {command[3] for command in commands}
    for line, command in zip(steps, commands, strict=True):
        assert "  # " in line
        assert [shutil.which(command[0]), *command[1:3]] == EVOLVE, "by its path, or by its name where PATH has it"
        evolve(tmp_path, *command[3:])
    assert len(listing(tmp_path, "two words")["programs"]) > 4
    assert (tmp_path / "best.py").exists()


def test_output_that_cannot_be_written_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [*EVOLVE, "run", "--print-config"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    assert ran.returncode == 3
    assert ran.stderr == "evolve: the output cannot be written (No space left on device)\n"


def test_a_reader_that_goes_away_ends_a_run_truthfully_and_resumably(tmp_path: Path, started: Started) -> None:
    command = [*EVOLVE, "run", "--name", "piped", "--task", CURVE, "--generations", "400"]
    running = started(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    assert running.wait(timeout=60) == 141
    assert "Traceback" not in running.stderr.read()
    evolve(tmp_path, "resume", "piped", "--generations", "5", code=None)
    check_record(tmp_path, "piped")

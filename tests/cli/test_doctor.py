import os
from pathlib import Path

import pytest

from evaluator.check import Finding
from evaluator.sandbox import landlock
from evolve.apps.doctor.machine import check_disk, check_git, check_runs, healthy

CURVE = str(Path(__file__).resolve().parent.parent / "data" / "curve")


def test_a_machine_that_runs_these_tests_is_well(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    document = evolve_json("doctor")
    assert document["ok"] is True
    assert {"python", "git", "disk", "runs", "evaluation", "sandbox"} <= {check["name"] for check in document["checks"]}
    for check in document["checks"]:
        assert set(check) == {"name", "state", "detail", "fix", "needed"}
    checks = {check["name"]: check for check in document["checks"]}
    assert "21.891622 (ceiling 26.255972" in checks["evaluation"]["detail"]
    assert "level" in checks["sandbox"]["detail"]
    assert {"scripts", "scripts: limits", "scripts: seccomp"} <= checks.keys()
    assert "network" in checks["scripts: seccomp"]["detail"]
    assert not Path("runs").exists()


def test_without_git_doctor_says_that_it_is_needed_and_no_run_is_begun(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    git = check_git()
    assert (git.state, git.needed) == (Finding.ABSENT, True)
    assert not healthy([git])
    assert evolve("run", "--task", CURVE, "--name", "r", code=3).startswith("evolve: git is not installed, and")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_reported(tmp_path):
    tmp_path.chmod(0o500)
    assert check_runs(tmp_path / "runs").state is Finding.BROKEN


def test_runs_that_are_a_file_are_reported(tmp_path):
    (tmp_path / "runs").write_text("")
    check = check_runs(tmp_path / "runs")
    assert check.state is Finding.BROKEN
    assert str(tmp_path / "runs") in check.detail


def test_the_checks_leave_nothing_behind(tmp_path):
    (tmp_path / "runs").mkdir()
    assert check_runs(tmp_path / "runs").state is Finding.OK
    assert check_disk(tmp_path / "runs").state is Finding.OK
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(landlock.version() < landlock.SCOPED_SINCE, reason="no Landlock with scopes")
def test_what_fails_and_is_not_needed_is_a_warning_and_the_last_sentence_counts_it(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    output = evolve("doctor").splitlines()
    assert output[-1] == "Usable, with 2 warnings: bubblewrap, scripts: bubblewrap."
    assert any("No permissions to create a new namespace" in line for line in output)


def test_what_is_tried_is_said_on_a_terminal_meanwhile(on_terminal):
    screen = on_terminal("doctor", "--task", CURVE, code=1)
    assert screen.startswith("scoring the initial program and small changes of it ...\r")
    assert "sensitive: 12 small variations of" in screen


def test_a_script_of_another_name_is_asked_to_be_named(tmp_path, evolve):
    program = tmp_path / "initial.sh"
    program.write_text("A=1\n")
    (tmp_path / "evaluate.sh").write_text("")
    assert "with `script: FILE` for a script of another name" in evolve("score", program, "--task", tmp_path, code=2)
    (tmp_path / "task.yaml").write_text("description: none\n")
    assert "`script: FILE` names another script" in evolve("score", program, "--task", tmp_path, code=2)


@pytest.mark.slow
def test_each_worker_of_a_local_cluster_is_checked_and_an_evaluation_there(tmp_path, monkeypatch, evolve_json):
    monkeypatch.chdir(tmp_path)
    document = evolve_json("doctor", "--workers", "dask:local:2", "--task", CURVE)
    assert document["ok"] is True
    names = ["cluster", "worker local-1", "worker local-2", "evaluation there"]
    assert [check["name"] for check in document["checks"]] == names
    assert "sandbox level" in document["checks"][1]["detail"]
    assert "has the same verdict on" in document["checks"][3]["detail"]


@pytest.mark.slow
def test_where_no_scheduler_answers_doctor_says_how_to_start_a_worker(tmp_path, monkeypatch, evolve_json):
    monkeypatch.chdir(tmp_path)
    document = evolve_json("doctor", "--workers", "dask://127.0.0.1:1", "--task", CURVE, code=1)
    (check,) = document["checks"]
    assert check["state"] == "broken"
    assert "127.0.0.1:1" in check["detail"]
    assert check["fix"].endswith("evolve worker dask://127.0.0.1:1")

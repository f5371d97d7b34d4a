import os
from pathlib import Path

import pytest

from evolve.doctor.machine import State, check_disk, check_git, check_runs


def test_a_machine_that_runs_these_tests_is_well(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    told = evolve_json("doctor")
    assert told["ok"] is True
    assert {"python", "git", "disk", "runs", "evaluation", "sandbox"} <= {check["name"] for check in told["checks"]}
    for check in told["checks"]:
        assert set(check) == {"name", "state", "detail", "fix", "needed"}
    checks = {check["name"]: check for check in told["checks"]}
    assert "21.891622 (ceiling 26.255972" in checks["evaluation"]["detail"]
    assert "level" in checks["sandbox"]["detail"]
    assert not Path("runs").exists()


def test_without_git_it_ends_with_1_and_says_what_to_install(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    told = evolve_json("doctor", code=1)
    assert told["ok"] is False
    git = next(check for check in told["checks"] if check["name"] == "git")
    assert git["state"] == "absent"
    assert "apt install git" in git["fix"]


def test_a_git_that_fails_is_broken_and_says_why(tmp_path, monkeypatch):
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\necho 'fatal: out of order' >&2\nexit 128\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    check = check_git()
    assert check.state is State.BROKEN
    assert "out of order" in check.detail


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    tmp_path.chmod(0o500)
    assert check_runs(tmp_path / "runs").state is State.BROKEN


def test_runs_that_are_a_file_are_told(tmp_path):
    (tmp_path / "runs").write_text("")
    check = check_runs(tmp_path / "runs")
    assert check.state is State.BROKEN
    assert str(tmp_path / "runs") in check.detail


def test_the_checks_leave_nothing_behind(tmp_path):
    (tmp_path / "runs").mkdir()
    assert check_runs(tmp_path / "runs").state is State.OK
    assert check_disk(tmp_path / "runs").state is State.OK
    assert list((tmp_path / "runs").iterdir()) == []

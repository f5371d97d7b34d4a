"""How well programs must be confined is said on the command line, and never comes to less without a word."""

import sys
from pathlib import Path

import pytest

from evaluator.sandbox import bubblewrap, levels
from evaluator.sandbox.options import Confinement
from evolve.cli.main import main

TASK = str(Path(__file__).parent.parent / "data" / "curve")
SCORE = ("score", f"{TASK}/initial.py", "--task", TASK)
RUN = ("run", "--task", TASK, "--generations", "1")


@pytest.fixture
def unconfined(monkeypatch):
    """A machine whose kernel has no system call filter for us."""
    monkeypatch.setattr(levels, "_options", lambda reasons: [Confinement(layers=("limits", "privileges"))])


def test_the_level_is_in_every_verdict(evolve_json):
    document = evolve_json(*SCORE, "--require-level", "standard")
    assert document[0]["sandbox"] in ("standard", "strong")


def test_a_level_that_is_not_reached_ends_with_3_and_the_way_to_it(evolve, monkeypatch):
    monkeypatch.setattr(bubblewrap, "find", lambda: None)
    printed = evolve(*SCORE, "--require-level", "strong", code=3)
    assert "strong is required" in printed
    assert "apt-get install bubblewrap" in printed


@pytest.mark.parametrize("command", [SCORE, RUN], ids=["score", "run"])
def test_without_a_sandbox_nothing_runs(evolve, unconfined, monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    assert "--unsafe-no-sandbox" in evolve(*command, code=3)
    assert not (tmp_path / "runs").exists()


def test_unless_that_is_asked_for_and_then_there_is_a_banner(capsys, unconfined, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for command in (SCORE, (*RUN, "--parallel", "1", "--name", "r")):
        assert main([*command, "--unsafe-no-sandbox"]) == 0
        assert "SANDBOX LEVEL NONE" in capsys.readouterr().err


def test_users_of_other_systems_learn_where_it_runs(evolve, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "this is macOS: run evolve in a Linux container" in evolve(*SCORE, code=3)

"""How well programs must be confined is said on the command line, and never comes to less without a word."""

import sys
from pathlib import Path

import pytest

from evaluator.sandbox import bubblewrap, levels
from evaluator.sandbox.options import Confinement
from evolve.cli.main import main

INITIAL = Path(__file__).parent.parent.parent / "programs" / "placement" / "initial.py"


@pytest.fixture
def unconfined(monkeypatch):
    """A machine whose kernel has no system call filter for us."""
    monkeypatch.setattr(levels, "_options", lambda reasons: [Confinement(layers=("limits", "privileges"))])


def test_the_level_is_in_every_verdict(evolve_json):
    told = evolve_json("score", INITIAL, "--require-level", "standard")
    assert told[0]["sandbox"] in ("standard", "strong")


def test_a_level_that_is_not_reached_ends_with_3_and_the_way_to_it(evolve, monkeypatch):
    monkeypatch.setattr(bubblewrap, "find", lambda: None)
    told = evolve("score", INITIAL, "--require-level", "strong", code=3)
    assert "strong is required" in told
    assert "apt-get install bubblewrap" in told


@pytest.mark.parametrize("command", [("score", str(INITIAL)), ("run", "--generations", "1")], ids=["score", "run"])
def test_without_a_sandbox_nothing_runs(evolve, unconfined, monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    assert "--unsafe-no-sandbox" in evolve(*command, code=3)
    assert not (tmp_path / "runs").exists()


def test_unless_that_is_asked_for_and_then_there_is_a_banner(capsys, unconfined, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for command in (("score", str(INITIAL)), ("run", "--generations", "1", "--parallel", "1", "--name", "r")):
        assert main([*command, "--unsafe-no-sandbox"]) == 0
        assert "SANDBOX LEVEL NONE" in capsys.readouterr().err


def test_other_systems_are_told_where_it_runs(evolve, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "this is macOS: run evolve in a Linux container" in evolve("score", INITIAL, code=3)

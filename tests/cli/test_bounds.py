"""Claims about `evolve bounds`."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import evaluator
from evolve.cli.main import main

PLACEMENT = Path(evaluator.__file__).parent / "tasks" / "placement"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the placement task that a test may tamper with."""
    folder = tmp_path / "evaluator" / "tasks" / "placement"
    shutil.copytree(PLACEMENT, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_the_ceiling_of_the_published_suite_is_proven(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bounds", "placement"]) == 0
    shown = capsys.readouterr().out
    assert "every optimum proven; no program can score above 26.255972" in shown
    assert "8 GPUs, 16 models" in shown


def test_a_subset_is_verified_instance_by_instance(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ortools")
    assert main(["bounds", "placement", "--verify", "--instances", "0-2,17", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["holds"] is True
    assert [check["instance"] for check in document["checks"]] == [0, 1, 2, 17]


@pytest.mark.parametrize("bound", ["1/30", "1/20"])
def test_a_tampered_bound_is_refuted_and_its_instance_named(
    copy: Path, capsys: pytest.CaptureFixture[str], bound: str
) -> None:
    pytest.importorskip("ortools")
    path = copy / "bounds" / "adrs.json"
    document = json.loads(path.read_text())
    document["bounds"][3]["lower_bound"] = bound
    path.write_text(json.dumps(document))
    assert main(["bounds", str(copy), "--verify", "--instances", "2-4"]) == 1
    shown = capsys.readouterr().out
    assert "instance 3: WRONG" in shown
    assert "1 of 3 bounds" in shown


def test_without_the_solver_there_is_one_sentence_and_exit_3(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "ortools"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ortools", None)
    assert main(["bounds", "placement", "--suite", "tight", "--verify"]) == 3
    shown = capsys.readouterr().err
    assert "bounds" in shown
    assert len(shown.strip().splitlines()) == 1


@pytest.mark.parametrize("chosen", ["x", "3-", "99", "1,,2", "5-2", "0-999999999999", "9" * 5000, ""])
def test_instances_that_are_none_are_refused(capsys: pytest.CaptureFixture[str], chosen: str) -> None:
    assert main(["bounds", "placement", "--instances", chosen]) == 2
    assert "--instances" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--limit", "5"], ["--verify", "--limit", "nan"], ["--verify", "--limit", "-1"]])
def test_a_limit_that_means_nothing_is_refused(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(["bounds", "placement", *words]) == 2
    assert "--limit" in capsys.readouterr().err


@pytest.mark.parametrize("suite", ["adrs", "fleet"])
def test_bounds_fit_a_terminal_of_80_columns(on_terminal: Callable[..., str], suite: str) -> None:
    shown = on_terminal("bounds", "placement", "--suite", suite, width=80, NO_COLOR="1", TERM="dumb")
    assert all(len(line.rstrip()) <= 80 for line in shown.splitlines())
    assert all(len(line.split()) >= 5 for line in shown.splitlines()[3:])


def test_the_exact_solver_is_a_peer_of_the_programs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ortools")
    program = str(PLACEMENT.parents[2] / "programs" / "placement" / "initial.py")
    assert main(["score", program, "--baseline", "exact", "--suite", "adrs", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["program"] for row in rows[1:]] == ["exact solver, 1 s per instance", "exact solver, 10 s per instance"]
    assert all(row["combined_score"] <= row["ceiling"] + 1e-6 and row["sandbox"] == "harness" for row in rows[1:])
    assert rows[2]["combined_score"] > rows[0]["combined_score"]


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf"])
def test_a_time_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], limit: str) -> None:
    assert main(["bounds", "placement", "--verify", "--limit", limit]) == 2
    assert "--limit" in capsys.readouterr().err


def test_proving_nothing_is_no_success(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A solver that settles no bound, of a task of one's own."""
    (copy / "exact.py").write_text(
        "from evaluator.task import BoundCheck\n"
        "def verify(instance, *, limit_s):\n"
        "    return BoundCheck(instance=instance.index, holds=None, detail='no idea')\n"
    )
    assert main(["bounds", str(copy), "--verify", "--instances", "0-1"]) == 1
    assert "2 of 2 bounds wrong or not settled" in capsys.readouterr().out

"""Claims about the tables of programs/README.md: they show what the evaluator computes now, and nothing that was typed.

Scored again are suites that take a second or two. The others, and all of circle packing (its SciPy baseline takes
minutes), are held to their judge, instances, bounds and best known values; `python docs/tables.py --check` scores all.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import evolve
from evaluator.task_files import built_in_tasks, load_task

ROOT = Path(__file__).resolve().parent.parent
CHEAP = ["autocorrelation", "placement/adrs", "placement/adrs-holdout", "placement/tight", "txn_scheduling/published"]


def tables(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, folder / "docs" / "tables.py", *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=300)


def kept(folder: Path) -> Any:
    return json.loads((folder / "programs" / "measured.json").read_text(encoding="utf-8"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """What the command reads and writes, where it may do so."""
    for path in [*(ROOT / "docs").glob("*.py"), ROOT / "programs" / "README.md", ROOT / "programs" / "measured.json"]:
        (tmp_path / path.relative_to(ROOT)).parent.mkdir(exist_ok=True)
        shutil.copy(path, tmp_path / path.relative_to(ROOT))
    return tmp_path


def changed(folder: Path, task: str, suite: str, **values: Any) -> None:
    """Write other values for a suite."""
    data = kept(folder)
    data[task]["suites"][suite] |= values
    (folder / "programs" / "measured.json").write_text(json.dumps(data), encoding="utf-8")


@pytest.mark.slow
def test_the_tables_show_what_the_evaluator_computes_now() -> None:
    ran = tables(ROOT, "--check", *CHEAP)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr


def test_every_suite_of_every_task_has_a_row() -> None:
    page = (ROOT / "programs" / "README.md").read_text(encoding="utf-8")
    for name in built_in_tasks():
        table = page.partition(f"<!-- begin: table {name} -->")[2].partition("<!-- end -->")[0]
        rows = [row.split("|")[1].split("`")[1] for row in table.splitlines() if row.startswith("| `")]
        assert sorted(rows) == sorted(load_task(name).suites)


@pytest.mark.slow
def test_a_number_that_was_typed_is_found(copy: Path) -> None:
    changed(copy, "autocorrelation", "first", bound=1.5)
    programs = kept(copy)["placement"]["suites"]["adrs"]["programs"]
    changed(copy, "placement", "adrs", programs=programs | {"naive": {"value": 20.0, "failed": 0}})
    ran = tables(copy, "--check", "placement/adrs")
    assert ran.returncode == 1
    differing = [line.split(": ")[1] for line in ran.stdout.splitlines()]
    assert differing == ["autocorrelation/first.bound", "placement/adrs.programs.naive.value"]


@pytest.mark.slow
def test_a_complete_program_is_scored_again_only_when_it_changed(copy: Path) -> None:
    name = "families/bottleneck_descent"
    found = kept(copy)["placement"]["suites"]["adrs"]["families"]
    changed(copy, "placement", "adrs", families=found | {name: found[name] | {"program": "another", "score": 1.0}})
    checked = tables(copy, "--check", "placement/adrs")
    assert checked.stdout.split(": ")[1:3] == [
        f"placement/adrs.{name}",
        "program changed since it was measured (make tables)\n",
    ]
    ran = tables(copy, "placement/adrs", "--runs", copy / "none")
    assert (ran.returncode, ran.stderr.split()) == (0, ["placement/adrs", name]), ran.stderr
    again = kept(copy)["placement"]["suites"]["adrs"]["families"]
    assert again.pop(name)["score"] == found.pop(name)["score"]
    assert again == found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of seed 0, the same under the name of seed 1, and one of seed 2 that is cut short."""
    folder = tmp_path_factory.mktemp("searched")
    words = [sys.executable, "-m", "evolve", "run", "--task", "placement", "--parallel", "1", "--name"]
    for rest in (["placement-adrs-0"], ["placement-adrs-2", "--seed", "2", "--generations", "1"]):
        subprocess.run([*words, *rest], cwd=folder, capture_output=True, check=True, timeout=300)
    shutil.copytree(folder / "runs" / "placement-adrs-0", folder / "runs" / "placement-adrs-1")
    return folder / "runs"


def offline(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = kept(folder)["placement"]["suites"]["adrs"]["offline"]
    return found


def row_of(folder: Path, suite: str) -> str:
    page = (folder / "programs" / "README.md").read_text(encoding="utf-8")
    return next(row for row in page.splitlines() if row.startswith(f"| `{suite}`"))


@pytest.mark.nightly
def test_a_finished_run_is_what_the_offline_column_shows_and_no_other_is(copy: Path, runs: Path) -> None:
    changed(copy, "placement", "adrs", offline=[])
    ran = tables(copy, "placement/adrs", "--runs", runs)
    assert ran.returncode == 0, ran.stderr
    assert "placement-adrs-1: not used: seed is 0, not 1" in ran.stderr
    assert "placement-adrs-2: not used: generations is 1, not 100" in ran.stderr
    (result,) = offline(copy)
    with evolve.open_run(runs / "placement-adrs-0") as run:
        assert run.best is not None
        assert (result["seed"], result["value"]) == (0, run.best["combined_score"])
        assert result["held_out"]["value"] == run.best["held_out"]
        assert result["programs"] == len(run.programs)
    assert f"| {result['value']:.6g} (one seed) |" in row_of(copy, "adrs")
    assert f"| {result['held_out']['value']:.6g} (one seed) |" in row_of(copy, "adrs-holdout")


@pytest.mark.nightly
def test_a_kept_result_stays_unless_it_is_of_another_evaluator_or_other_instances(copy: Path, runs: Path) -> None:
    changed(copy, "placement", "adrs", offline=[])
    elsewhere: list[str | Path] = ["placement/adrs", "--runs", copy / "none"]
    assert tables(copy, "placement/adrs", "--runs", runs).returncode == 0
    (result,) = offline(copy)
    assert tables(copy, *elsewhere).returncode == 0
    assert offline(copy) == [result]
    keys = ("evaluator_version", "suite_digest", "initial")
    others = [result | {key: "another", "seed": seed} for seed, key in enumerate(keys)]
    changed(copy, "placement", "adrs", offline=others)
    ran = tables(copy, *elsewhere)
    assert ran.returncode == 0, ran.stderr
    assert [f"is refused: {key} changed since it was measured" in ran.stderr for key in keys] == [True] * 3
    assert offline(copy) == []
    assert "| not measured |" in row_of(copy, "adrs")
    held_out = result["held_out"] | {"evaluator_version": "another"}
    changed(copy, "placement", "adrs", offline=[result | {"held_out": held_out}])
    assert tables(copy, *elsewhere).returncode == 0
    assert offline(copy) == [result | {"held_out": None}]


def test_what_is_no_task_is_said_in_a_sentence(copy: Path) -> None:
    ran = tables(copy, "--check", "placement/tihgt")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "no suite 'tihgt'" in ran.stderr

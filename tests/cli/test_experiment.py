"""Claims about `evolve experiment`, each made by the command itself in a folder of its own."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.loop import climbing

CURVE = str(Path(__file__).resolve().parent.parent / "data" / "curve")
EVOLVE = [sys.executable, "-m", "evolve"]


@pytest.fixture
def plan(tmp_path):
    """Writes `sizes.yaml`: two configurations of a task that scores in a few milliseconds and that no run solves."""

    def write(*, attempts=4, seeds=2, **base):
        document = {
            "base": {"task": CURVE, **base},
            "configurations": {"few": {"search.elites": 2}, "many": {"search.elites": 30}},
            "seeds": seeds,
            "budget": {"attempts": attempts},
        }
        (tmp_path / "sizes.yaml").write_text(yaml.safe_dump(document))
        return tmp_path

    return write


def evolve(folder: Path, *words: str, code: int = 0) -> str:
    return climbing.evolve(folder, *words, code=code).stdout


def run_experiment(folder: Path, *words: str, code: int = 0) -> dict:
    return json.loads(evolve(folder, "experiment", "sizes.yaml", "--json", *words, code=code))


def fingerprints(folder: Path) -> dict[str, str]:
    return {
        run.name: json.loads(evolve(folder, "list", str(run), "--json"))["fingerprint"]
        for run in sorted((folder / "runs" / "sizes").glob("*-s*"))
    }


def test_every_run_has_the_same_budget_and_is_the_run_that_it_would_be_alone(plan):
    folder = plan(attempts=2, seeds=[1])
    output = run_experiment(folder)
    assert [(run["run"], run["done"], run["proposals"]) for run in output["runs"]] == [
        ("few-s1", True, 2),
        ("many-s1", True, 2),
    ]
    (judge,) = output["comparison"]["judges"]
    assert [group["label"] for group in judge["groups"]] == ["few", "many"]
    assert judge["differences"] == [{"key": "search.elites", "values": {"few": 2, "many": 30}}]
    settings = ["--set", "search.elites=2", "--set", "workers=1", "--generations", "2", "--parallel", "1"]
    evolve(folder, "run", "--task", CURVE, "--seed", "1", "--name", "alone", *settings)
    alone = json.loads(evolve(folder, "list", "alone", "--json"))["fingerprint"]
    assert fingerprints(folder)["few-s1"] == alone


@pytest.mark.slow
def test_it_goes_on_after_a_kill_and_to_more_seeds_and_a_larger_budget(plan, started):
    folder = plan(attempts=8, seeds=1)
    process = started([*EVOLVE, "experiment", "sizes.yaml"], cwd=folder, stdout=subprocess.PIPE)
    journals = [folder / "runs" / "sizes" / f"{name}-s0" / "journal.jsonl" for name in ("few", "many")]
    deadline = time.monotonic() + 60
    while not all(journal.exists() and journal.read_bytes().count(b"\n") > 20 for journal in journals):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    process.stdout.close()
    for journal in journals:  # the runs end by themselves, since nobody is there any more
        _until_free(journal.parent)
    output = run_experiment(folder)
    assert [run["proposals"] for run in output["runs"]] == [8] * 2
    before = fingerprints(folder)
    plan(attempts=9, seeds=2)
    output = run_experiment(folder)
    assert [run["proposals"] for run in output["runs"]] == [9] * 4
    assert output["runs"][0]["done"]
    assert before.keys() < fingerprints(folder).keys()


def _until_free(run: Path) -> None:
    from evolve.archive.journal import is_held

    deadline = time.monotonic() + 60
    while is_held(run):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_ctrl_c_ends_the_runs_under_way_and_says_how_to_go_on(plan, started):
    folder = plan(attempts=100_000)
    process = started([*EVOLVE, "experiment", "sizes.yaml"], cwd=folder, stdout=subprocess.PIPE, text=True)
    journal = folder / "runs" / "sizes" / "few-s0" / "journal.jsonl"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 20):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "nothing is lost" in output
    assert "experiment sizes.yaml" in output.partition("Next:")[2]
    run = json.loads(evolve(folder, "experiment", "sizes.yaml", "--table", "--json"))["runs"][0]
    assert (run["finished"], run["done"]) == ("interrupted", False)


def test_the_table_alone_runs_nothing(plan):
    folder = plan()
    assert [run["finished"] for run in run_experiment(folder, "--table")["runs"]] == [None] * 4
    assert not (folder / "runs").exists()


def test_a_run_that_cannot_begin_is_said_and_the_others_go_on(plan):
    folder = plan(attempts=1, seeds=1)
    file = folder / "sizes.yaml"
    document = yaml.safe_load(file.read_text())
    document["configurations"]["few"]["models"] = [{"model": "a", "api_key_env": "NO_SUCH_KEY_IS_SET"}]
    file.write_text(yaml.safe_dump(document))
    runs = run_experiment(folder, code=3)["runs"]
    assert ["NO_SUCH_KEY_IS_SET" in (run["error"] or "") for run in runs] == [True, False]
    assert [run["done"] for run in runs] == [False, True]

"""Runs whose programs `evolve tune` tuned, between their sessions."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.journals import rewrite, sealed
from tests.loop.climbing import configure, events, evolve, finish, opened, patch, script
from tests.loop.rerun.calling import rerun
from tests.loop.rerun.tampering import change_answer


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `r`: a session, two programs tuned, a note, another session, and one program more."""
    folder = tmp_path_factory.mktemp("tuned")
    models = [script(folder, [patch(1 + n / 100) for n in range(1, 9)])]
    finish(folder, "run", configure(folder, models=models, generations=3), "--name", "r")
    evolve(folder, "tune", "r", "0", "--evaluations", "12", code=None)
    evolve(folder, "note", "r", "best", "by hand")
    evolve(folder, "tune", "r", "2", "--evaluations", "15", code=None)
    finish(folder, "resume", "r", "--generations", "8")
    evolve(folder, "tune", "r", "7", "--evaluations", "20", code=None)
    asked = [(event["generation"], event["kind"]) for event in events(folder) if event["event"] == "asked"]
    assert [number for number, kind in asked if kind == "tune"] == [4, 5, 9]
    return folder


def copied(tuned: Path, folder: Path) -> Path:
    (folder / "runs").mkdir()
    shutil.copytree(tuned / "runs" / "r", folder / "runs" / "r")
    return folder / "runs" / "r" / "journal.jsonl"


def equal(folder: Path) -> Any:
    output = rerun(folder, "r")
    with opened(folder) as archive:
        assert output["fingerprint"] == {"recorded": archive.fingerprint(), "found": archive.fingerprint()}
        assert output["verdicts"]["exact"] == len(archive.programs)
    return output


@pytest.mark.slow
def test_what_was_tuned_by_hand_is_judged_again_and_counted_as_recorded(tuned: Path) -> None:
    output = equal(tuned)
    assert (output["questions"], output["questions_as_recorded"], output["tuned"]) == (9, 3, 3)
    printed = evolve(tuned, "rerun", "r").stdout
    assert "3 questions of the command `tune` stand as recorded" in printed
    assert "models or prompts were changed" not in printed


@pytest.mark.nightly
def test_a_run_that_ships_with_its_held_out_and_fresh_instances(tmp_path: Path) -> None:
    words = ["--suite", "skewed", "--generations", "6", "--parallel", "1", "--seed", "0"]
    evolve(tmp_path, "run", *words, "--name", "r", code=None)
    evolve(tmp_path, "tune", "r", "best", "--evaluations", "20", code=None)
    assert [event["kind"] for event in events(tmp_path) if event["event"] == "asked"][6:] == ["tune"]
    evolve(tmp_path, "resume", "r", "--generations", "8", code=None)
    assert equal(tmp_path)["tuned"] == 1


def test_a_run_that_was_killed_and_then_tuned(tuned: Path, tmp_path: Path) -> None:
    journal = copied(tuned, tmp_path)
    kept = [event for event in events(tmp_path) if event["event"] not in ("stopped", "noted")]
    journal.write_bytes(sealed({**event, "seq": number} for number, event in enumerate(kept)))
    assert equal(tmp_path)["tuned"] == 3


@pytest.mark.parametrize(
    "last",
    [pytest.param("asked", marks=pytest.mark.slow), "answered", pytest.param("evaluated", marks=pytest.mark.slow)],
)
def test_a_command_that_was_killed_while_it_recorded(tuned: Path, tmp_path: Path, last: str) -> None:
    journal = copied(tuned, tmp_path)
    kept = events(tmp_path)
    end = next(n for n, event in enumerate(kept) if event["event"] == last and event["generation"] == 9)
    journal.write_bytes(sealed(kept[: end + 1]))
    finish(tmp_path, "resume", "r", "--generations", "9")
    with opened(tmp_path) as archive:
        assert archive.find("9").origin.model == "tuner"
    equal(tmp_path)


def test_a_change_of_what_was_found_or_scored_is_found(tuned: Path, tmp_path: Path) -> None:
    journal = copied(tuned, tmp_path)
    with opened(tmp_path) as archive:
        source = archive.files(archive.find("4")).only
    number = source.split("OFFSET = ")[1].split("\n")[0]
    change_answer(tmp_path / "runs" / "r", 4, f"OFFSET = {number}\n", f"OFFSET = {number}1\n")
    parted = rerun(tmp_path, "r", code=1)["parted"]
    assert (parted["generation"], parted["what"]) == (4, "its program differs")
    shutil.rmtree(tmp_path / "runs")
    copied(tuned, tmp_path)

    def raise_it(event: dict[str, Any]) -> None:
        if event["event"] == "evaluated" and event["generation"] == 5:
            event["evaluation"]["combined_score"] += 1e-6

    rewrite(journal, raise_it)
    parted = rerun(tmp_path, "r", code=1)["parted"]
    assert (parted["generation"], parted["what"]) == (5, "its verdict differs")


def test_an_answer_that_makes_no_program_parts_there(tuned: Path, tmp_path: Path) -> None:
    copied(tuned, tmp_path)
    change_answer(tmp_path / "runs" / "r", 4, "<<<<<<< SEARCH", "<<<<<<< NOTHING")
    parted = rerun(tmp_path, "r", code=1)["parted"]
    assert (parted["generation"], parted["what"]) == (4, "what became of it differs")
    assert parted["found"].startswith("refused generation 4")

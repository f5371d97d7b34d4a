"""A task with a hole: the impossible score is caught, reported loudly, used for nothing, and the run goes on."""

import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from evolve.archive.reader import RunReader
from evolve.cli.main import main
from tests.loop.leaking import (
    CLAIMS,
    COUNTS,
    FOURTH,
    HASHES,
    READS_A_CLOCK,
    ROUND,
    SECOND,
    TASK,
    THIRD,
    configure,
    events,
    evolve,
)

HOLE = "the evaluator or the task has a bug"


@pytest.fixture(scope="module")
def leaked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which generation 2 claims a cost that cannot be; what it printed is in `out`."""
    folder = tmp_path_factory.mktemp("leaked")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        config = configure(
            folder,
            {"second": SECOND, "great_leap": CLAIMS, "third": THIRD, "fourth": FOURTH},
            generations=6,  # it is solved after 4
            meta_every=4,
            meta=[ROUND],
        )
        with (folder / "out").open("w", encoding="utf-8") as out, redirect_stdout(out):
            evolve("run", config, "--name", "leaked")
    return folder


@pytest.fixture
def there(leaked: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(leaked)
    return leaked


def test_the_impossible_score_is_quarantined_and_the_run_goes_on(there: Path) -> None:
    with RunReader.open(Path("runs/leaked")) as archive:
        fraud = archive.find("2")
        assert fraud.combined_score == pytest.approx(51.0)
        assert fraud.ceiling is not None
        assert fraud.combined_score > fraud.ceiling
        assert (fraud.correct, fraud.outcome.value) == (False, "ok")
        assert fraud.quarantine is not None
        assert fraud.quarantine.startswith("instance 0: cost 1 is below the proven optimum 28")
        assert archive.best is not None
        assert archive.best.generation == 4  # which reaches the ceiling
        assert archive.finished == "ceiling"


def test_it_is_no_parent_no_inspiration_and_never_the_best(there: Path) -> None:
    fraud = next(e["commit"] for e in events("leaked", ["evaluated"]) if e["generation"] == 2)
    for event in events("leaked", ["asked", "evaluated"]):
        assert fraud not in (*event["parents"], *event["inspirations"])
    assert [e["generation"] for e in events("leaked", ["held_out"])] == [0, 1, 3, 4]
    with RunReader.open(Path("runs/leaked")) as archive:
        for generation in (3, 4):
            (attempt,) = archive.attempts(generation)
            assert attempt.prompt is not None
            prompt = archive.text(attempt.prompt)
            assert "great_leap" not in prompt
            assert "optimum" not in prompt


def test_the_warning_is_in_the_output_the_record_and_the_insights_report(
    there: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path("out").read_text(encoding="utf-8")
    live, _, closing = out.partition("Solved: ")
    assert "QUARANTINED  generation 2 scores 51.000000" in live
    assert HOLE in live
    assert "WARNING   generation 2 is quarantined: instance 0: cost 1" in closing
    assert "Other suites are not scored" not in closing  # no program of this task ships
    assert " --suite all" in closing
    assert "The evaluator or the task has a bug" in closing
    (recorded,) = [e["evaluation"] for e in events("leaked", ["evaluated"]) if e["generation"] == 2]
    assert HOLE in recorded["quarantine"]
    (document,) = Path("runs/leaked/meta").glob("meta_*.md")
    text = document.read_text(encoding="utf-8")
    assert text.startswith("> **WARNING**: generation 2 is quarantined: the evaluator or the task has a bug")
    assert "- **Performance**: generation 2 (quarantined): `instance 0: cost 1" in text
    assert "breakthrough" not in text.replace("generation 2 (quarantined) is a breakthrough", "")
    assert "1.  Build on generation 2 (quarantined), the outstanding winner.\n" in text
    assert "77" not in text
    for words in (["list", "leaked"], ["show", "leaked", "2"]):
        capsys.readouterr()
        evolve(*words)
        shown = capsys.readouterr().out
        assert "quarantined" in shown
        assert HOLE in shown


def test_score_tells_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "claims.py"
    program.write_text((TASK / "initial.py").read_text().replace("# next", CLAIMS))
    evolve("score", str(program), "--task", str(TASK), "--strict", "--json")
    (output,) = json.loads(capsys.readouterr().out)
    assert (output["quarantined"], output["correct"], output["strict"]["agrees"]) == (True, False, True)
    assert HOLE in output["quarantine"]


@pytest.mark.parametrize(
    ("line", "classification", "quarantined"),
    [
        pytest.param(COUNTS, "state_across_instances", True, id="counts calls"),
        pytest.param(READS_A_CLOCK, "nondeterministic", False, id="clock"),
        pytest.param(HASHES, "hash_order", False, id="hash order", marks=pytest.mark.slow),
    ],
)
def test_a_program_that_would_be_the_best_is_examined_before_it_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    classification: str,
    quarantined: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    evolve("run", configure(tmp_path, {"second": SECOND, "dubious": line, "third": THIRD}), "--name", "r")
    out = capsys.readouterr().out
    second, dubious, third = [e for e in events("r", ["evaluated"]) if e["generation"]]
    assert dubious["evaluation"]["correct"]
    assert dubious["evaluation"]["combined_score"] > second["evaluation"]["combined_score"]
    confirmed = {event["generation"]: event["evaluation"] for event in events("r", ["rescored"])}
    report = confirmed[2]["strict"]
    assert (report["agrees"], report["classification"]) == (False, classification)
    assert (confirmed[2]["outcome"], confirmed[2]["correct"]) == ("nondeterministic", False)
    assert (confirmed[2]["quarantine"] is not None) is quarantined
    assert ("QUARANTINED  generation 2" if quarantined else "generation 2 would be the best (") in out
    assert third["parents"] == [dubious["commit"]], "it was a parent until then"
    assert confirmed[1]["strict"]["agrees"]
    assert [e["generation"] for e in events("r", ["held_out"])][:2] == [0, 1]
    with RunReader.open(Path("runs/r")) as archive:
        assert archive.best is not None
        assert archive.best.generation != 2
        assert archive.held_out_scores.keys() == {0, *(g for g, found in confirmed.items() if found["correct"])}


def test_nothing_is_evolved_from_an_initial_program_that_is_quarantined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = (TASK / "initial.py").read_text()
    for name, line in (("claims", CLAIMS), ("counts", COUNTS)):
        (tmp_path / f"{name}.py").write_text(source.replace("# next", line))
        assert main(["run", "--task", str(TASK), "--set", f"initial={name}.py", "--generations", "2"]) == 2
        output = capsys.readouterr().err
        assert f"{name}.py: the initial program is quarantined" in output
        assert output.count("\n") == 1
    assert not Path("runs").exists()


def test_with_several_in_flight_no_best_is_unexamined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = {"second": SECOND, "counts": COUNTS, "third": THIRD, "hashes": HASHES, "claims": CLAIMS, "fourth": FOURTH}
    evolve("run", configure(tmp_path, lines, parallel=3, workers=2), "--name", "r")
    best = 0.0
    for event in events("r", ["evaluated", "rescored"]):
        evaluation = event["evaluation"]
        if evaluation["correct"] and evaluation["combined_score"] > best and not event.get("provisional"):
            best = evaluation["combined_score"]
            assert evaluation["strict"]["agrees"]
    with RunReader.open(Path("runs/r")) as archive:
        assert archive.best is not None
        assert archive.best.combined_score == best
        assert archive.best.generation in archive.held_out_scores

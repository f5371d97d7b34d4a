"""The held-out suite: every best is scored on it, for the reader's eyes alone."""

import itertools
import json
import shutil
from pathlib import Path

import pytest

from evaluator.errors import TaskError
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task_files import load_task
from evolve.archive.reader import RunReader
from evolve.archive.reports import markdown
from tests.builders import one_file
from tests.journals import rewrite
from tests.loop.leaking import CLAIMS, FOURTH, ROUND, SECOND, TASK, THIRD, configure, events, evolve, without_held_out

LINES = {"second": SECOND, "wrong": "index = 7", "claims": CLAIMS, "third": THIRD, "fourth": FOURTH}


def fingerprint(name: str) -> str:
    with RunReader.open(Path("runs") / name) as archive:
        return archive.fingerprint()


def held_out_of(source: str) -> float:
    task = load_task(str(TASK))
    with SandboxedEvaluator(task, task.suite("hidden"), workers=1) as evaluator:
        return evaluator.evaluate(one_file(source)).combined_score


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("held_out")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        evolve("run", configure(folder, LINES, meta_every=3, meta=[ROUND, ROUND]), "--name", "whole")
    return folder


@pytest.fixture
def whole(ran: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(ran)
    return "whole"


def test_every_best_and_no_other_program_is_scored_on_the_held_out(whole: str) -> None:
    with RunReader.open(Path("runs") / whole) as archive:
        scores = archive.held_out_scores
        assert sorted(scores) == [0, 1, 4, 5]
        for generation, held_out in scores.items():
            record = archive.find(str(generation))
            assert held_out.combined_score == held_out_of(archive.files(record).only)
            assert held_out.suite == "hidden"
            assert held_out.ceiling is not None
            assert held_out.gap == held_out.ceiling - held_out.combined_score
            assert held_out.combined_score != record.combined_score


def test_the_event_stands_right_behind_the_verdict_that_made_it_the_best(whole: str) -> None:
    found = events(whole, ["evaluated", "rescored", "held_out"])
    for before, event in itertools.pairwise(found):
        if event["event"] == "held_out":
            verdict = "rescored" if event["generation"] else "evaluated"
            assert (before["event"], before["generation"]) == (verdict, event["generation"])
            assert {"suite", "combined_score", "correct", "ceiling", "gap"} <= set(event)


def test_it_is_shown_next_to_the_score(whole: str, capsys: pytest.CaptureFixture[str]) -> None:
    evolve("list", whole, "--json")
    output = {p["generation"]: p["held_out"] for p in json.loads(capsys.readouterr().out)["programs"]}
    assert set(output[5]) == {"suite", "combined_score", "correct", "ceiling", "gap", "value"}
    assert output[2] is output[3] is None
    score = f"{output[5]['combined_score']:.6f}"
    evolve("list", whole)
    listed = capsys.readouterr().out
    assert "held-out" in listed
    assert score in listed
    evolve("show", whole, "best")
    assert f"{score}, gap {output[5]['gap']:.6f} (hidden)" in capsys.readouterr().out


def test_no_prompt_and_no_insights_report_holds_it(whole: str) -> None:
    scores = {f"{e['combined_score']:.4f}"[:6] for e in events(whole, ["held_out"])}
    with RunReader.open(Path("runs") / whole) as archive:
        texts = [archive.text(e["prompt"]) for e in events(whole, ["asked", "meta_answered"]) if e["prompt"]]
        texts += [markdown(report) for report in archive.meta.reports.values()]
    assert len(texts) >= 5
    for text in texts:
        assert "hidden" not in text
        assert "held" not in text.lower()
        assert not [score for score in scores if score in text]


def test_it_decides_nothing(whole: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the held-out suite the same run is made: the same questions, programs and commits."""

    def decided(name: str) -> list[object]:
        return [
            [e[key] for key in ("event", "generation", "parents", "inspirations", "commit", "prompt") if key in e]
            for e in events(name, ["asked", "evaluated"])
        ]

    with_held_out = decided(whole)
    monkeypatch.chdir(tmp_path)
    evolve(
        "run",
        configure(tmp_path, LINES, task=str(without_held_out(tmp_path)), meta_every=3, meta=[ROUND, ROUND]),
        "--name",
        "blind",
    )
    assert decided("blind") == with_held_out
    assert not events("blind", ["held_out"])


def test_equal_runs_have_equal_fingerprints_reports_and_held_out_scores_included(
    whole: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fingerprint(whole)
    monkeypatch.chdir(tmp_path)
    evolve("run", configure(tmp_path, LINES, meta_every=3, meta=[ROUND, ROUND]), "--name", "again")
    assert fingerprint("again") == first
    journal = Path("runs/again/journal.jsonl")
    rewrite(journal, lambda event: event.update(suite="others") if event["event"] == "held_out" else None)
    assert fingerprint("again") != first


@pytest.mark.parametrize("kept", ["evaluated", "held_out"])
def test_cut_off_around_the_held_out_it_goes_on_as_if_nothing_had_been(
    whole: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    shutil.copytree("runs/whole", tmp_path / "runs" / "cut", ignore=shutil.ignore_patterns("lock"))
    first = fingerprint(whole)
    monkeypatch.chdir(tmp_path)
    journal = Path("runs/cut/journal.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if f'"event":"{kept}"' in line)
    assert '"generation":5' in lines[last]
    journal.write_text("".join(lines[: last + 1]))
    evolve("resume", "cut")
    assert fingerprint("cut") == first
    assert [e["generation"] for e in events("cut", ["held_out"])] == [0, 1, 4, 5]


def test_a_held_out_that_is_no_suite_of_the_task_is_refused(tmp_path: Path) -> None:
    folder = without_held_out(tmp_path)
    path = folder / "task.yaml"
    text = path.read_text()
    for wrong in ("nothing", "shown"):
        path.write_text(text.replace("  shown:\n", f"  shown:\n    held_out: {wrong}\n"))
        with pytest.raises(TaskError, match=f"suites.shown.held_out is '{wrong}'"):
            load_task(str(folder))

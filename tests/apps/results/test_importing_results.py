"""A result folder becomes a run: our scores next to its claims, and every reading command works on it."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evolve
from evolve.apps.importing.task import from_openevolve
from evolve.apps.results.archiving import ImportListener, import_results
from evolve.apps.results.folder import read_results
from evolve.archive.reader import RunReader
from evolve.cli.main import main
from evolve.core.config import Config
from evolve.core.errors import ArchiveError, InputError
from evolve.core.files import write_folder
from evolve.core.program import PatchKind
from evolve.loop.rerun.record import Record
from evolve.trust import stored_config
from evolve.view.payload import run_document
from tests.apps.results.hostile_folders import HOSTILE, SECRET
from tests.result_folders import (
    INITIAL,
    INITIAL_SCORE,
    Made,
    answer,
    three_hundred,
    variant,
    write_database,
    write_generations,
    write_openevolve,
)

CONFIG = Config(task="placement", workers=2)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was made of a database with programs of every sort."""
    place = tmp_path_factory.mktemp("imported")
    (place / "results").mkdir()
    write_database(place / "results" / "programs.sqlite", three_hundred()[:20], wal=True)
    report = "# GLOBAL INSIGHTS SCRATCHPAD\n\nAll is well: 25.5.\n\n# META RECOMMENDATIONS\n\n1. Try harder.\n"
    (place / "results" / "meta_10.txt").write_text(report)
    import_results(read_results(place / "results"), CONFIG, place / "runs" / "theirs")
    return place / "runs" / "theirs"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was made of checkpoints."""
    place = tmp_path_factory.mktemp("other")
    write_openevolve(place / "results", three_hundred()[:5], every=5)
    import_results(read_results(place / "results"), CONFIG, place / "runs" / "other")
    return place / "runs" / "other"


@pytest.fixture
def archive(imported: Path) -> Iterator[RunReader]:
    with RunReader.open(imported) as reader:
        yield reader


def test_each_program_is_recorded_with_its_claim_and_our_score(archive: RunReader) -> None:
    assert (len(archive.programs), archive.identity["imported"], archive.finished) == (20, "ShinkaEvolve", "imported")
    claims = [record.claimed for record in archive.programs]
    assert [claim.id for claim in claims if claim] == [f"id-{number:03d}" for number in range(20)]
    honest, loses, above, cut_off = (archive.programs[number] for number in (2, 3, 5, 9))
    assert honest.combined_score == pytest.approx(INITIAL_SCORE, abs=1e-6)
    assert honest.claimed is not None and honest.claimed.score == INITIAL_SCORE
    assert (loses.correct, loses.claimed and (loses.claimed.score, loses.claimed.correct)) == (False, (24.5, True))
    assert (above.combined_score, above.claimed and above.claimed.score) == (honest.combined_score, 99.0)
    assert (cut_off.outcome.value, cut_off.claimed and cut_off.claimed.correct) == ("load_error", False)
    assert archive.best is archive.programs[0]


def test_lineage_answers_and_costs_are_theirs(archive: RunReader) -> None:
    program = archive.programs[12]
    parent = archive.find(program.parents[0])
    assert (parent.generation, program.island, program.origin.kind) == (5, 0, PatchKind.DIFF)
    assert (program.origin.model, program.origin.patch_name) == ("some-model", "variant_12")
    assert [archive.find(commit).generation for commit in program.inspirations] == [0]
    (attempt,) = archive.attempts(12)
    assert attempt.answer is not None and archive.text(attempt.answer) == answer(three_hundred()[12])
    assert attempt.prompt is not None and archive.text(attempt.prompt) == "Be good.\n\nImprove it."
    assert (attempt.usage.tokens_in, attempt.usage.cost_usd) == (100, 0.25)
    assert archive.files(program).only == variant(12)
    orphan = archive.programs[6]
    assert (orphan.parents, orphan.origin.kind, archive.attempts(6)) == ((), PatchKind.INITIAL, [])
    assert archive.programs[7].source_hash == archive.programs[1].source_hash
    assert archive.spent.cost_usd == pytest.approx(0.25 * 17)  # all but the initial program and the orphans (6, 16)


def test_a_score_that_is_no_number_is_a_claim_too(other: Path) -> None:
    with RunReader.open(other) as reader:
        record = reader.programs[4]
    assert record.claimed is not None
    assert (record.correct, record.claimed.score, record.claimed.correct) == (True, None, None)
    assert (record.claimed.stated, record.claimed.notes) == ("nan", ())


def test_the_folders_own_evaluator_scores_too(tmp_path: Path) -> None:
    theirs, task = tmp_path / "theirs", tmp_path / "task"
    theirs.mkdir()
    (theirs / "initial_program.py").write_text("def answer():\n    return 1.0\n")
    (theirs / "evaluator.py").write_text(
        "def evaluate(path):\n    scope = {}\n    exec(open(path).read(), scope)\n"
        "    return {'combined_score': scope['answer']()}\n"
    )
    write_folder(task, from_openevolve(theirs, task, None).files)
    made = [Made(number=n, code=f"def answer():\n    return {n}.5\n", score=30.0) for n in range(2)]
    write_openevolve(theirs / "openevolve_output", made, every=2)
    config = Config(task=str(task), workers=1)
    import_results(read_results(theirs / "openevolve_output"), config, tmp_path / "runs" / "own")
    with RunReader.open(tmp_path / "runs" / "own") as reader:
        assert [(record.combined_score, record.self_judged) for record in reader.programs] == [(0.5, True), (1.5, True)]
        assert [record.claimed and record.claimed.score for record in reader.programs] == [30.0, 30.0]


def test_a_program_with_the_entry_point_of_its_system_runs(tmp_path: Path) -> None:
    circles = "[(0.25, 0.25), (0.75, 0.75)] + [(0.75, 0.25), (0.25, 0.75)]"
    code = f"def run_packing():\n    return {circles}, [0.25] * 4, 99.0\n"
    write_generations(tmp_path / "results", [Made(number=0, code=code, score=99.0)])
    config = Config(task="circle_packing", suite="n26", workers=1)
    import_results(read_results(tmp_path / "results"), config, tmp_path / "runs" / "circles")
    with RunReader.open(tmp_path / "runs" / "circles") as reader:
        record = reader.programs[0]
        assert reader.files(record).only.startswith(code)
        assert "4 circles" in reader.evaluation(record).detail
    assert record.claimed is not None
    assert record.claimed.notes == ("its entry point pack was added by the import",)


def test_their_reports_are_kept_with_a_warning(archive: RunReader) -> None:
    report = archive.meta.reports[10]
    assert report.warning.startswith("ShinkaEvolve wrote this (meta_10.txt). Its figures are claims")
    assert [item.text for item in report.recommendations] == [("Try harder.",)]


@pytest.mark.parametrize(
    "words",
    [
        ("list", "RUN", "--all"),
        ("lineage", "RUN", "12"),
        ("diff", "RUN", "2", "12"),
        ("report", "RUN", "-o", "page.html"),
        ("compare", "RUN", "OTHER"),
        ("export", "RUN", "best", "-o", "best.py"),
        ("export", "RUN", "--csv"),
        ("insights", "RUN", "--all"),
        ("show", "RUN", "6"),
        ("show", "RUN", "12", "--patch"),
    ],
    ids=" ".join,
)
def test_commands_read_an_imported_run(
    imported: Path,
    other: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    named = {"RUN": str(imported), "OTHER": str(other)}
    assert main([named.get(word, word) for word in words]) == 0
    assert capsys.readouterr().out


def test_claims_are_shown_as_claims(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["list", str(imported), "--json"])
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["programs"]
    by_generation = {row["generation"]: row for row in rows}
    assert by_generation[5]["claimed"] == {"id": "id-005", "score": 99.0, "correct": True, "notes": [], "stated": None}
    main(["list", str(imported)])
    heading = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("gen"))
    assert "claimed" in heading
    main(["show", str(imported), "3"])
    shown = capsys.readouterr().out
    assert "claimed      score 24.500000, correct (in the folder it was imported from, as id-003)" in shown
    with evolve.open_run(imported) as run:
        assert [row["claimed_score"] for row in run.programs][3:6] == [24.5, None, 99.0]


def test_a_program_without_its_parent_is_a_generation_that_ended(archive: RunReader) -> None:
    document = run_document("theirs", archive)
    assert len(archive.programs) == 20
    assert [n for n, stage in zip(document["gens"]["n"], document["gens"]["stage"], strict=True) if stage is None] == [
        0
    ]
    assert document["funnel"][0]["count"] == 19


def test_a_rerun_is_refused_and_a_resume_goes_on(imported: Path, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="its programs were imported from ShinkaEvolve"):
        Record.open(imported)
    copy = tmp_path / "copy"
    shutil.copytree(imported, copy)
    with RunReader.open(copy) as reader:
        assert stored_config(reader).generations == 19  # all that were asked for are there
    with evolve.resume(copy, settings={"generations": 20}) as run:
        assert [row["generation"] for row in run.generations][-1] == 20
        assert run.programs[3]["claimed_score"] == 24.5


def test_an_imported_run_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    results, runs = tmp_path / "results", tmp_path / "runs"
    write_openevolve(results, three_hundred()[:3], every=3)
    read = read_results(results)

    class Stopped(Exception):
        pass

    def stop(done: int, of: int) -> None:
        raise Stopped

    listener = ImportListener(done=stop)
    with pytest.raises(Stopped):
        import_results(read, CONFIG, runs / "theirs", listener=listener)
    assert list(runs.iterdir()) == []
    (runs / "theirs").mkdir()
    with pytest.raises(ArchiveError, match="exists already"):
        import_results(read, CONFIG, runs / "theirs")


@pytest.mark.slow
def test_a_killed_import_is_in_no_list_and_the_next_one_removes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_generations(tmp_path / "results", three_hundred())
    (tmp_path / "few").mkdir()
    write_generations(tmp_path / "few", three_hundred()[:2])
    words = ["import", "results", "--task", "placement", "--name", "killed", "--workers", "1"]
    child = subprocess.Popen([sys.executable, "-m", "evolve", *words], stderr=subprocess.DEVNULL)
    while not any(path.read_bytes().count(b"\n") > 2 for path in tmp_path.glob("runs/.killed.*/journal.jsonl")):
        assert child.poll() is None
        time.sleep(0.01)
    (left,) = (tmp_path / "runs").iterdir()
    assert main(["import", "few", "--task", "placement", "--name", "first"]) == 0
    assert left.exists()  # it is being written
    child.kill()
    child.wait()
    capsys.readouterr()
    assert main(["list"]) == 0
    assert "killed" not in capsys.readouterr().out
    for path in (left, left / "journal.jsonl"):
        os.utime(path, (1, 1))
    assert main(["import", "few", "--task", "placement", "--name", "second"]) == 0
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["first", "second"]


def test_the_command_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results" / "gen_0").mkdir(parents=True)
    (tmp_path / "evaluate.py").write_text("")
    assert main(["import", "results"]) == 2
    complaint = capsys.readouterr().err
    assert "--task: which task scores these programs?" in complaint
    assert f"new TASK --from-shinka {tmp_path}" in complaint
    assert main(["import", "results", "--task", "placement"]) == 2
    assert "none of its 1 programs has a text" in capsys.readouterr().err
    (tmp_path / "results" / "gen_0" / "main.py").write_text(INITIAL)
    assert main(["import", "results", "--task", "placement", "--name", "theirs", "--workers", "1"]) == 0
    assert "imported from ShinkaEvolve" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["theirs"]


LONG = "parents_are_many"
"""Thousands of programs, which take most of a minute."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name == LONG else name for name in HOSTILE]
)
def test_importing_a_hostile_folder_writes_the_run_alone(tmp_path: Path, name: str) -> None:
    folder, outside, runs = tmp_path / "results", tmp_path / "outside", tmp_path / "runs"
    for place in (folder, outside, runs):
        place.mkdir()
    (outside / "secret.py").write_text(f"{SECRET} = 1\n")
    (outside / "secret.json").write_text(f'{{"id": "{SECRET}", "code": "{SECRET}", "combined_score": 4711.0}}')
    HOSTILE[name](folder, outside)
    before = {path: path.lstat().st_mtime_ns for place in (folder, outside) for path in place.rglob("*")}
    try:
        import_results(read_results(folder), Config(task="placement", workers=1), runs / "theirs")
    except InputError as refused:
        assert "\n" not in str(refused)
        assert list(runs.iterdir()) == []
    else:
        assert [path.name for path in runs.iterdir()] == ["theirs"]
        with RunReader.open(runs / "theirs") as reader:
            assert all(SECRET not in reader.files(record).only for record in reader.programs)
    assert {path: path.lstat().st_mtime_ns for place in (folder, outside) for path in place.rglob("*")} == before

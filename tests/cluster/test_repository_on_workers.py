"""A run of a repository's programs on a cluster: measured there, confirmed at home."""

from pathlib import Path

import pytest

from evolve.archive.reader import RunReader
from evolve.cli.main import main
from tests.repository_tasks import answers, nearby_task


@pytest.mark.slow
def test_programs_are_measured_on_a_worker_and_the_best_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nearby_task(tmp_path / "task", tests=12)
    (tmp_path / "answers.yaml").write_text(answers(["breaks tests", "slower", "good"]))
    words = ["--model", "scripted:answers.yaml", "--generations", "3", "--parallel", "1", "--set", "attempts=1"]
    assert main(["run", "--task", "task", "--name", "r", "--workers", "dask:local:1", "--yes", *words]) == 0
    with RunReader.open(tmp_path / "runs" / "r") as archive:
        by_name = {record.origin.patch_name: record for record in archive.programs}
        best = archive.best
    assert by_name["breaks_tests"].outcome == "infeasible"
    slower = by_name["slower"]
    assert slower.on is not None
    assert slower.self_judged
    assert slower.combined_score < 1
    assert best is not None
    assert best.origin.patch_name == "good"
    assert best.on is None, "measured at home"
    assert not best.self_judged

"""A run of a repository's programs on a cluster: measured there, confirmed at home."""

from pathlib import Path

import pytest
import yaml

from evolve.archive.reader import RunReader
from evolve.cli.main import main
from tests.repository_tasks import written


def answer(name: str, seconds: float) -> str:
    files = f"FILE: work.py\n```python\nSECONDS = {seconds}\n```\n"
    return f"<NAME>{name}</NAME><DESCRIPTION>It works.</DESCRIPTION><CODE>\n{files}</CODE>"


@pytest.mark.slow
def test_programs_are_measured_on_a_worker_and_the_best_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tree = tmp_path / "task" / "repository"
    tree.mkdir(parents=True)
    (tree / "work.py").write_text("SECONDS = 2.0\n")
    (tree / "test_work.py").write_text("import work\n\nassert work.SECONDS > 0\n")
    (tree / "bench.py").write_text("import work\n\nprint('took', work.SECONDS, 's')\n")
    keys: dict[str, object] = {"edit": ["work.py"], "test": "python test_work.py", "bench": "python bench.py"}
    written(tmp_path / "task", keys | {"measure": "metric", "metric": r"took ([\d.]+) s", "direction": "minimise"})
    proposals = [answer("breaks_tests", -1.0), answer("slower", 3.0), answer("good", 1.0)]
    (tmp_path / "answers.yaml").write_text(yaml.safe_dump({"answers": proposals}))
    words = ["--model", "scripted:answers.yaml", "--generations", "3", "--parallel", "1", "--set", "attempts=1"]
    assert main(["run", "--task", "task", "--name", "r", "--workers", "dask:local:1", "--yes", *words]) == 0
    with RunReader.open(tmp_path / "runs" / "r") as archive:
        by_name = {record.origin.patch_name: record for record in archive.programs}
        best = archive.best
    assert by_name["breaks_tests"].outcome == "infeasible"
    slower = by_name["slower"]
    assert slower.on is not None
    assert slower.self_judged
    assert slower.combined_score == pytest.approx(2 / 3)
    assert best is not None
    assert best.origin.patch_name == "good"
    assert best.on is None, "measured at home"

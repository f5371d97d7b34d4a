"""The page of a program of several files, in a real browser."""

from pathlib import Path
from typing import Any

import pytest

from evolve.cli.main import main
from tests.several_files import NEW, run_of_several
from tests.view.looking import texts_of


@pytest.mark.slow
def test_a_page_has_a_tab_for_each_file(tmp_path: Path, chromium: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run_of_several(tmp_path))
    assert main(["report", "r", "-o", "r.html"]) == 0
    program = "run/r/program/1"
    views = [f"{program}?show=code", f"{program}?show=code&file=pkg%2Fnew.py", f"{program}?show=diff", "run/r"]
    code, other, diff, _ = texts_of(chromium, tmp_path / "r.html", views)
    assert all(path in code for path in NEW)
    assert "WEIGHT = 0.75" in code
    assert "OTHER = 10" not in code
    assert "OTHER = 10" in other
    assert "WEIGHT = 0.75" not in other
    assert "pkg/new.py (new), generation 0 to 1" in diff
    assert "main.py, generation 0 to 1" in diff

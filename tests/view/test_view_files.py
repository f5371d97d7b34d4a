"""The page of a program of several files, in a real browser."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.cli.main import main
from tests.several_files import CONFIG, NEW, make_folder, run_of_several
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


@pytest.mark.slow
def test_a_file_may_have_the_name_of_an_objects_property(
    tmp_path: Path, chromium: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["constructor", "__proto__"]
    change = [f"FILE: {name}\n<<<<<<< SEARCH\n=======\nnew text\n>>>>>>> REPLACE\n" for name in names]
    answer = f"<NAME>n</NAME><DESCRIPTION>d</DESCRIPTION><DIFF>\n{''.join(change)}</DIFF>\n"
    make_folder(tmp_path / "task", new_files=True)
    keys = yaml.safe_load((tmp_path / "task" / "task.yaml").read_text())
    (tmp_path / "task" / "task.yaml").write_text(yaml.safe_dump(keys | {"edit": [*keys["edit"], *names]}))
    (tmp_path / "answers.yaml").write_text(yaml.safe_dump({"answers": [answer]}))
    (tmp_path / "config.yaml").write_text(CONFIG.replace("generations: 3", "generations: 1"))
    monkeypatch.chdir(tmp_path)
    assert main(["run", "config.yaml", "--name", "r", "--yes"]) == 0
    assert main(["report", "r", "-o", "r.html"]) == 0
    program = "run/r/program/1"
    views = [f"{program}?show=diff", *(f"{program}?show=code&file={name}" for name in names)]
    diff, *codes = texts_of(chromium, tmp_path / "r.html", views)
    assert all(f"{name} (new), generation 0 to 1" in diff for name in names)
    assert all("new text" in code for code in codes)

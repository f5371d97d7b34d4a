"""Every command on a run whose programs have several files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evolve.api import open_run
from evolve.core.errors import InputError
from tests.several_files import FILES, MAIN, NEW, run_of_several


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a task, and the run `r` of it."""
    return run_of_several(tmp_path_factory.mktemp("files"))


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_a_patch_of_several_files_is_applied_and_recorded(evolve: Callable[..., str], evolve_json: Any) -> None:
    with open_run("r") as run:
        assert run.files(1) == NEW.to_json()
        assert run.files(0) == FILES
        with pytest.raises(InputError, match="has 4 files; read them with files"):
            run.source(1)
    reasons = {row["generation"]: row["reason"] for row in evolve_json("list", "r")["generations"]}
    assert (reasons[2], reasons[3]) == ("no_file", "duplicate")
    assert "FILE: fixed.py: this file may not change; only files that match" in evolve("show", "r", "2")
    assert "Block 1 is for no file" in evolve("show", "r", "1")


def test_texts_and_diffs_name_the_files(evolve: Callable[..., str], tmp_path: Path) -> None:
    code = evolve("show", "r", "1", "--code")
    assert [line for line in code.split("\n") if line.startswith("FILE: ")] == [f"FILE: {path}" for path in NEW]
    diff = evolve("diff", "r", "0", "1")
    heads = [line.partition("\t")[0] for line in diff.split("\n") if line.startswith(("--- ", "+++ "))]
    assert heads == [
        "--- a/main.py",
        "+++ b/main.py",
        "--- /dev/null",
        "+++ b/pkg/new.py",
        "--- a/pkg/parts.py",
        "+++ b/pkg/parts.py",
    ]
    assert "+++ b/pkg/new.py" in evolve("lineage", "r", "1")


def test_a_program_is_exported_as_a_folder_and_scored(
    evolve: Callable[..., str], evolve_json: Any, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    evolve("export", "r", "1", "-o", out)
    written = {path.relative_to(out).as_posix(): path.read_text() for path in out.rglob("*") if path.is_file()}
    assert written == NEW.to_json()
    assert "exists already" in evolve("export", "r", "1", "-o", out, code=2)
    (row,) = evolve_json("score", out, "--task", "task")
    assert row["combined_score"] == 0.75 * 4.75 + 10 + 1
    assert "is a folder of files; name a folder" in evolve("score", out / "main.py", "--task", "task", code=2)
    assert "Equal" in evolve("replay", "r", "1")


def test_a_prompt_shows_every_file_and_what_may_change(evolve: Callable[..., str]) -> None:
    prompt = evolve("show", "r", "2", "--prompt")
    for path, text in FILES.items():
        shown = f"```python\n{text}```" if text else "(an empty file)"
        assert f"## File `{path}`\n\n{shown}\n" in prompt
    assert "add files whose paths match `main.py`, `pkg/*.py`." in prompt
    assert "These files are there, too, and cannot change: `fixed.py`." in prompt
    assert "\nFILE: path/of/a/file\n<<<<<<< SEARCH\n" in prompt


def test_a_folder_is_patched(evolve: Callable[..., str], tmp_path: Path) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text(
        "<DIFF>\nFILE: main.py\n<<<<<<< SEARCH\nWEIGHT = 0.5\n=======\nWEIGHT = 2\n>>>>>>> REPLACE\n</DIFF>\n"
    )
    assert "-WEIGHT = 0.5\n+WEIGHT = 2\n" in evolve("patch", "task/initial", answer)
    evolve("patch", "task/initial", answer, "-o", tmp_path / "new")
    assert (tmp_path / "new/main.py").read_text() == MAIN.replace("0.5", "2")
    assert (tmp_path / "new/fixed.py").is_file()


def test_the_numbers_of_all_files_are_tuned(evolve_json: Any, tmp_path: Path) -> None:
    found = evolve_json("tune", "task/initial", "--task", "task", "--evaluations", "15", "-o", tmp_path / "tuned")
    assert {number["label"] for number in found["numbers"]} >= {"main.py: WEIGHT", "pkg/parts.py: OTHER"}
    assert found["holds"]
    assert (tmp_path / "tuned/pkg/parts.py").is_file()


def test_pages_have_the_texts_by_file(evolve: Callable[..., str], tmp_path: Path) -> None:
    from evolve.archive.reader import RunReader
    from evolve.view.payload import generation_document

    with RunReader.open(Path("runs/r")) as archive:
        document = generation_document(archive, 1)
    assert (document["code"], document["files"]) == ("", NEW.to_json())
    assert json.loads(json.dumps(document))
    evolve("report", "r", "-o", tmp_path / "r.html")
    assert (tmp_path / "r.html").is_file()

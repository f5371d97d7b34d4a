"""`evolve new --from-openevolve` where a program is a folder: the evaluator gets the folder, or one text of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.task_files import load_task

pytest.importorskip("psutil")

PACKING = """
from pathlib import Path

NAMES = ["main.py", "lib/size.py"]


def as_one_text(folder):
    return "".join(f"== {name}\\n{Path(folder, name).read_text()}" for name in NAMES)


def written_out(text, folder):
    for part in text.split("== ")[1:]:
        name, _, content = part.partition("\\n")
        Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
        Path(folder, name).write_text(content)
"""
EVALUATOR = """
import psutil, shutil, subprocess, sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE))
from utils.packing import *


def evaluate(program_path):
    folder = HERE / "temp" / "solution"
    if Path(program_path).is_file():
        written_out(Path(program_path).read_text(), folder)
        shutil.copy(HERE / "initial_program" / "table.txt", folder)
    else:
        shutil.copytree(program_path, folder)
    done = subprocess.run([sys.executable, "main.py"], cwd=folder, capture_output=True, text=True, check=True)
    assert 0 < psutil.virtual_memory().available <= psutil.virtual_memory().total
    return {"combined_score": float(done.stdout), "table": (folder / "table.txt").stat().st_size}
"""
STARTING = """
from openevolve import OpenEvolve
from utils.packing import as_one_text

path.write_text(as_one_text(str(folder)))
OpenEvolve(initial_program_path=str(path))
"""
LARGE = 300_000
FILES = {
    "evaluator.py": EVALUATOR,
    "utils/packing.py": PACKING,
    "initial_program/main.py": "from lib.size import SIZE\n\nprint(SIZE / 2)\n",
    "initial_program/lib/size.py": "SIZE = 3\n",
    "initial_program/table.txt": "x" * LARGE,
    "initial_program/.hidden": "x",
    "config.yaml": "max_iterations: 5\nevaluator: {cascade_evaluation: false}\n",
}


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path("theirs", name).parent.mkdir(parents=True, exist_ok=True)
        Path("theirs", name).write_text(text)
    return Path("theirs")


@pytest.mark.parametrize("starts", [True, False], ids=["one text", "the folder"])
def test_a_program_that_is_a_folder_is_taken_over_and_scored(
    theirs: Path, evolve: Callable[..., str], evolve_json: Callable[..., Any], starts: bool
) -> None:
    if starts:
        (theirs / "start_evolution.py").write_text(STARTING)
    assert "evolve new mine --from-openevolve theirs" in evolve("run", "--task", theirs, code=2)
    printed = evolve("new", "mine", "--from-openevolve", theirs)
    assert "the program has 2 files: those of initial_program" in printed
    assert "may not change: initial_program/table.txt (no text, or more than 256 KiB)" in printed
    way = "a file with the text that as_one_text(folder) makes" if starts else "the path of the program's folder"
    assert f"evaluate() gets {way} (PACKER in evaluate.py)" in printed
    task = load_task("mine")
    assert sorted(task.initial_files()) == ["lib/size.py", "main.py"]
    Path("better/lib").mkdir(parents=True)
    Path("better/main.py").write_text(FILES["initial_program/main.py"])
    Path("better/lib/size.py").write_text("SIZE = 9\n")
    rows = evolve_json("score", "mine/initial_program", "better", "--task", "mine")
    assert [row["combined_score"] for row in rows] == [1.5, 4.5]
    assert all(row["metrics"]["table"] == LARGE for row in rows)


def test_a_folder_without_text_is_no_program(theirs: Path, evolve: Callable[..., str]) -> None:
    for name in ("main.py", "lib/size.py"):
        (theirs / "initial_program" / name).unlink()
    assert "holds no text that could be improved" in evolve("new", "mine", "--from-openevolve", theirs, code=2)

"""Tasks out of small repositories, and changes of their programs."""

import shutil
import sys
from pathlib import Path

import yaml

from evaluator.places import PROGRAMS
from evaluator.program_files import Files
from evaluator.task import Task
from evaluator.task_files import load_task

NEARBY = PROGRAMS / "repositories" / "nearby"
PYTHON_PATH = [str(Path(sys.executable).parent), "/usr/bin", "/bin"]
DISTANCE, SEARCH = "nearby/distance.py", "nearby/search.py"

FASTER = '''"""The edit distance of two words."""


def distance(first: str, second: str) -> int:
    """The least number of letters to insert, delete or replace that makes `second` of `first`."""
    above = list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        line, left, diagonal = [row], row, row - 1
        for other, over in zip(second, above[1:]):
            least = diagonal if letter == other else 1 + min(left, over, diagonal)
            line.append(least)
            left, diagonal = least, over
        above = line
    return above[-1]
'''


def nearby_task(folder: Path, **keys: object) -> Task:
    """The task of the shipped example, in a new folder; `keys` are of `repository`."""
    shutil.copytree(NEARBY, folder / "repository", ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    return written(folder, {"edit": ["nearby/*.py"], "test": "python -m pytest -q", "bench": "python bench.py"} | keys)


def written(folder: Path, keys: dict[str, object]) -> Task:
    """The task in a folder whose tree is there, with these keys of `repository`."""
    own = {"edit": keys.pop("edit"), "new_files": keys.pop("new_files", False)}
    document = own | {
        "repository": {"commit": "0" * 40, "path": PYTHON_PATH} | keys,
        "limits": {"cpu_total_s": 10, "wall_s": 30, "memory_mb": 512},
    }
    (folder / "task.yaml").write_text(yaml.safe_dump(document))
    return load_task(str(folder))


def changed(program: Files, **texts: str) -> Files:
    """A program with other texts of `distance` and `search`."""
    paths = {"distance": DISTANCE, "search": SEARCH}
    return program.changed({paths[name]: text for name, text in texts.items()})

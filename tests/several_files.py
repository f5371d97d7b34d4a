"""Tasks whose programs have several files, made for a test."""

import os
from pathlib import Path
from typing import Any

import yaml

from evaluator.program_files import Files
from evolve.cli.main import main

EVALUATE = """\
import json, sys
sys.path.insert(0, sys.argv[1])
import main
score = float(main.score())
json.dump({"correct": score >= 0, "combined_score": score}, open(sys.argv[2], "w"))
"""
MAIN = """\
import fixed
from pkg.parts import OTHER, part

WEIGHT = 0.5


def score():
    return WEIGHT * part(3) + OTHER + fixed.BASE
"""
PARTS = """\
OTHER = 2.5


def part(n):
    total = 0.25
    for i in range(n):
        total += i * 1.5
    return total
"""
FILES = {"main.py": MAIN, "pkg/__init__.py": "", "pkg/parts.py": PARTS}
"""The program of such a task."""


def make_folder(folder: Path, files: dict[str, str] = FILES, **keys: Any) -> Path:
    """A task's folder with a script, a program of these files, and a file that may not change."""
    for path, text in {**files, "fixed.py": "BASE = 1\n"}.items():
        place = folder / "initial" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (folder / "evaluate.py").write_text(EVALUATE)
    edit = ["main.py", "pkg/*.py"] if files is FILES else ["main.py", "part*.py"]
    (folder / "task.yaml").write_text(yaml.safe_dump({"initial": "initial", "edit": edit, **keys}))
    return folder


def many(count: int, lines: int = 2000) -> dict[str, str]:
    """A program of `count` files with `lines` lines each, whose numbers all count."""
    texts = {}
    for number in range(count):
        name = "main.py" if number == 0 else f"part{number:02}.py"
        following = f"part{number + 1:02}" if number + 1 < count else None
        head = [f"import {following}" if following else "", f"WEIGHT = {number + 1}.5", "", "", "def score():"]
        head += [f"    return WEIGHT * 1.5{f' + {following}.score()' if following else ''}"]
        filler = (lines - len(head)) // 4
        body = [f"\n\ndef helper_{each}(x):\n    return x + 0" for each in range(filler)]
        texts[name] = "\n".join([*head, *body]) + "\n"
    return texts


def _change(path: str, search: str, replace: str) -> str:
    return f"FILE: {path}\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def _answer(name: str, *changes: str) -> str:
    return f"<NAME>{name}</NAME><DESCRIPTION>d</DESCRIPTION><DIFF>\n{''.join(changes)}</DIFF>\n"


_OTHER, _IMPORT = "OTHER = 2.5\n", "from pkg.new import OTHER\n"
_HEAVIER = _change("main.py", "WEIGHT = 0.5\n", "WEIGHT = 0.75\n")
_NEW_FILE = _change("pkg/new.py", "", "OTHER = 10\n")
_NO_FILE = _change("main.py", _OTHER, "OTHER = 3\n").removeprefix("FILE: main.py\n")
ANSWERS = yaml.safe_dump(
    {
        "answers": [
            [
                _answer("no_file", _NO_FILE),
                _answer("two", _change("pkg/parts.py", _OTHER, _IMPORT), _NEW_FILE, _HEAVIER),
            ],
            _answer("frozen", _change("fixed.py", "BASE = 1\n", "BASE = 1000\n")),
            _answer(
                "same", _HEAVIER, _change("pkg/parts.py", _OTHER, f"# from a file of its own\n{_IMPORT}"), _NEW_FILE
            ),
        ]
    }
)
CONFIG = """
task: task
models: [{model: "scripted:answers.yaml"}]
attempts: 2
generations: 3
parallel: 1
search: {strategy: best_of_n, kinds: {diff: 1, full: 0, cross: 0}}
"""
NEW = Files.of(FILES).changed(
    {
        "main.py": MAIN.replace("0.5", "0.75"),
        "pkg/parts.py": PARTS.replace("OTHER = 2.5", "from pkg.new import OTHER"),
        "pkg/new.py": "OTHER = 10\n",
    }
)
"""What the first answer makes of the program."""


def run_of_several(folder: Path) -> Path:
    """Make a task and the run `r` of it in a folder: a program of four files, a refusal, and a duplicate."""
    make_folder(folder / "task", new_files=True)
    (folder / "answers.yaml").write_text(ANSWERS)
    (folder / "config.yaml").write_text(CONFIG)
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert main(["run", "config.yaml", "--name", "r", "--yes"]) == 0
    finally:
        os.chdir(before)
    return folder

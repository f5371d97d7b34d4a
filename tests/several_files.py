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


ANSWERS = """
answers:
  - - |
      <NAME>no_file</NAME><DESCRIPTION>d</DESCRIPTION><DIFF>
      <<<<<<< SEARCH
      OTHER = 2.5
      =======
      OTHER = 3
      >>>>>>> REPLACE
      </DIFF>
    - |
      <NAME>two</NAME><DESCRIPTION>d</DESCRIPTION><DIFF>
      FILE: pkg/parts.py
      <<<<<<< SEARCH
      OTHER = 2.5
      =======
      from pkg.new import OTHER
      >>>>>>> REPLACE
      FILE: pkg/new.py
      <<<<<<< SEARCH
      =======
      OTHER = 10
      >>>>>>> REPLACE
      FILE: main.py
      <<<<<<< SEARCH
      WEIGHT = 0.5
      =======
      WEIGHT = 0.75
      >>>>>>> REPLACE
      </DIFF>
  - |
    <NAME>frozen</NAME><DESCRIPTION>d</DESCRIPTION><DIFF>
    FILE: fixed.py
    <<<<<<< SEARCH
    BASE = 1
    =======
    BASE = 1000
    >>>>>>> REPLACE
    </DIFF>
  - |
    <NAME>same</NAME><DESCRIPTION>d</DESCRIPTION><DIFF>
    FILE: main.py
    <<<<<<< SEARCH
    WEIGHT = 0.5
    =======
    WEIGHT = 0.75
    >>>>>>> REPLACE
    FILE: pkg/parts.py
    <<<<<<< SEARCH
    OTHER = 2.5
    =======
    # from a file of its own
    from pkg.new import OTHER
    >>>>>>> REPLACE
    FILE: pkg/new.py
    <<<<<<< SEARCH
    =======
    OTHER = 10
    >>>>>>> REPLACE
    </DIFF>
"""
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

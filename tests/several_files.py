"""Tasks whose programs have several files, made for a test."""

from pathlib import Path
from typing import Any

import yaml

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
    """A program of as many files and lines as asked for, whose numbers all count."""
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

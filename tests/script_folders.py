"""Folders with an evaluator script, made for a test."""

import json
from pathlib import Path
from typing import Any

import yaml

from evaluator.task import Task
from evaluator.task_files import load_task

MIRROR = '''
"""Writes what the program says of itself, to the byte: a program that has the whole say."""

import importlib.util
import sys

spec = importlib.util.spec_from_file_location("program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
with open(sys.argv[2], "w", encoding="utf-8", errors="surrogateescape") as file:
    file.write(program.result())
'''
"""A script whose verdict is the program's own."""


def says(**document: Any) -> str:
    """A program that says so of itself."""
    return says_text(json.dumps(document))


def says_text(text: str) -> str:
    """A program that writes this text as its result."""
    return f"# EVOLVE-BLOCK-START\ndef result():\n    return {text!r}\n# EVOLVE-BLOCK-END\n"


GOOD = says(correct=True, combined_score=1.5)


def make_folder(folder: Path, evaluate: str = MIRROR, initial: str = GOOD, **keys: Any) -> Path:
    """A task's folder with a script and an initial program; `keys` are those of `task.yaml`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "evaluate.py").write_text(evaluate, encoding="utf-8")
    (folder / "initial.py").write_text(initial, encoding="utf-8")
    if keys:
        (folder / "task.yaml").write_text(yaml.safe_dump(keys), encoding="utf-8")
    return folder


def make_task(folder: Path, evaluate: str = MIRROR, initial: str = GOOD, **keys: Any) -> Task:
    """The task in such a folder."""
    return load_task(str(make_folder(folder, evaluate, initial, **keys)))

"""The evaluator keeps its shape: names that mean one thing, modules and functions that are read in one go."""

import ast
from collections.abc import Iterator
from pathlib import Path

import evaluator

PACKAGE = Path(evaluator.__file__).resolve().parent


def classes(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name


def test_no_class_has_the_name_of_another_here_or_in_evolve() -> None:
    ours = list(classes(PACKAGE))
    theirs = set(classes(PACKAGE.parent / "evolve"))
    assert sorted(ours) == sorted(set(ours) - theirs)


def test_no_module_and_no_function_is_longer_than_one_sitting() -> None:
    long = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        long += [str(path)] if len(text.splitlines()) > 400 else []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno + 1 > 50:
                long.append(f"{path}: {node.name}")
    assert long == []

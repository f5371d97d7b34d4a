"""The ingredients of circle packing: each does something in the initial program, and none of them is the answer."""

import ast
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evaluator.places import PROGRAMS
from evaluator.tasks.circle_packing.adapter import prepare
from evaluator.tasks.circle_packing.judge import judge
from evolve.offline.ingredients import MAX_LINES, SHARED, Library, applicable, insert, load_library, read_ingredient
from evolve.offline.outline import Outline

FOLDER = PROGRAMS / "circle_packing" / "ingredients"
FILES = sorted(FOLDER.glob("*.py"))
INITIAL = (PROGRAMS / "circle_packing" / "initial.py").read_text(encoding="utf-8")
SEED = 3


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library(FOLDER)


def value(source: str, n: int) -> Fraction:
    space: dict[str, Any] = {}
    exec(compile(source, "program.py", "exec"), space)
    (argument,), encode = prepare({"n": n})
    return judge({"n": n}, encode(space["pack"](argument)))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_is_small_and_holds_no_coordinates(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    numbers = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    assert all(len(repr(number)) <= 5 for number in numbers if isinstance(number, float))
    assert sum(isinstance(number, float) for number in numbers) <= 12


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_alone_in_the_initial_program_it_improves_a_small_packing(path: Path, library: Library) -> None:
    pytest.importorskip("scipy")
    ingredient, outline = read_ingredient(path), Outline(INITIAL, "pack")
    if ingredient.role == SHARED or not applicable(library, outline, ingredient):
        assert ingredient.role in (SHARED, "acceptance", "polish")  # which have no place until a loop asks for one
        return
    done = insert(library, outline, ingredient, random.Random(SEED))
    assert done is not None
    source, items = done
    assert {"POLISH"} & {item.sets for item in items}
    assert value(source, 5) > value(INITIAL, 5)

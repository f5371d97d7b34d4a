"""The ingredients of the autocorrelation task: small, bounded, without an answer, and none enough by itself."""

import ast
import random
from pathlib import Path
from typing import Any

import pytest

from evaluator.places import PROGRAMS
from evaluator.tasks.autocorrelation.judge import judge
from evolve.propose.offline.ingredients import (
    MAX_LINES,
    SHARED,
    Library,
    applicable,
    insert,
    load_library,
    read_ingredient,
)
from evolve.propose.offline.outline import Outline

FOLDER = PROGRAMS / "autocorrelation"
FILES = sorted((FOLDER / "ingredients").glob("*.py"))
BAR = 1.53  # what the offline search is to reach with 100 programs

pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library(FOLDER / "ingredients")


@pytest.fixture(scope="module")
def initial() -> Outline:
    return Outline((FOLDER / "initial.py").read_text(), "heights")


def answered(source: str) -> list[float]:
    space: dict[str, Any] = {}
    exec(compile(source, "candidate.py", "exec"), space)
    found: list[float] = space["heights"](2000)
    return found


def with_slots(library: Library, outline: Outline, names: tuple[str, ...]) -> str:
    for name in names:
        chosen = library.of(name)
        assert chosen is not None
        if name in outline.reached:
            continue
        done = insert(library, outline, chosen, random.Random(0))
        assert done is not None, name
        outline = Outline(done[0], "heights")
    return outline.source


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_is_small_and_holds_no_list_of_numbers_clock_or_shared_generator(path: Path) -> None:
    ingredient = read_ingredient(path)
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert ingredient.role == SHARED or ingredient.result or ingredient.slot
    imported, drawn, numbers = set(), set(), 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np.random":
            drawn.add(node.attr)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            numbers += 1
            assert len(str(node.value)) <= 6, node.value  # no constant is that of a published list
        elif isinstance(node, ast.While):
            pytest.fail("a loop that no count bounds")
    assert imported <= {"scipy"}
    assert drawn <= {"default_rng"}
    assert numbers <= 40


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if at % 4 else []) for at, path in enumerate(FILES)],
)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])  # whatever operators come with it
def test_alone_in_the_initial_program_it_does_no_harm_and_stays_above_the_bar(
    path: Path, library: Library, initial: Outline, seed: int
) -> None:
    ingredient = read_ingredient(path)
    if ingredient.role == SHARED or not applicable(library, initial, ingredient):
        assert ingredient.role in (SHARED, "step", "sharpening")  # which have no place until a descent asks for one
        return
    done = insert(library, initial, ingredient, random.Random(seed))
    assert done is not None
    heights = answered(done[0])
    assert BAR < judge({"max_n": 2000}, heights) <= 2 + 1e-12
    assert answered(done[0]) == heights


@pytest.mark.parametrize("step", ["step_plain", "step_multiplied", "step_momentum", "step_adam"])
def test_every_step_goes_down_and_every_sharpening_serves_it(step: str, library: Library, initial: Outline) -> None:
    plain = answered(with_slots(library, initial, ("descend", step)))
    assert judge({"max_n": 2000}, plain) < 1.8
    for sharpening in ("sharpen_even", "sharpen_geometric"):
        both = answered(with_slots(library, initial, ("descend", step, sharpening)))
        assert both != plain
        assert judge({"max_n": 2000}, both) < 1.8


def test_refining_stops_at_the_most_pieces_allowed(library: Library, initial: Outline) -> None:
    source = with_slots(library, initial, ("refine", "step_adam"))
    assert len(answered(source)) == 40
    assert len(answered(source.replace("PIECES = 20", "PIECES = 1500"))) == 1500

"""The ingredients of bin packing: each takes part in the initial program, and none is a finished program."""

import ast
import random
from pathlib import Path

import pytest
from bin_packing_scoring import PROGRAMS, TASK, excess
from choose_constants import SHARES, chosen, instances

from evolve.propose.offline.ingredients import MAX_LINES, applicable, insert, load_library, read_ingredient
from evolve.propose.offline.outline import Outline

FILES = sorted((PROGRAMS / "ingredients").glob("*.py"))
LIBRARY = load_library(PROGRAMS / "ingredients")
BARS = {"or3": 3.7, "weibull": 1.5}
"""What 100 offline programs are to reach."""


def alone(path: Path) -> str:
    """The initial program with one ingredient (and the loop that it needs, or the first price for the loop)."""
    outline = Outline((PROGRAMS / "initial.py").read_text(encoding="utf-8"), "place")
    ingredient = read_ingredient(path)
    loop = LIBRARY.of("cheapest_room")
    assert loop is not None
    if not applicable(LIBRARY, outline, ingredient):  # a price has no place until the loop asks for one
        assert ingredient.role == "price"
        rng = random.Random(0)
        for _ in range(500):
            done = insert(LIBRARY, outline, loop, rng)
            assert done is not None
            if ingredient.main in Outline(done[0], "place").reached:
                return done[0]
    done = insert(LIBRARY, outline, ingredient, random.Random(0))
    assert done is not None
    return done[0]


@pytest.mark.parametrize("suite", ["or3", pytest.param("weibull", marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if at % 4 else []) for at, path in enumerate(FILES)],
)
def test_alone_in_the_initial_program_it_works_and_reaches_no_bar(path: Path, suite: str) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    source = alone(path)
    assert read_ingredient(path).main in Outline(source, "place").reached
    names: dict[str, object] = {}
    exec(source, names)
    place = names["place"]
    assert callable(place)
    assert excess(place, TASK.suite(suite))[0] > BARS[suite]


@pytest.mark.slow
@pytest.mark.parametrize("price", sorted(SHARES))
def test_the_shares_of_the_capacity_are_those_that_the_search_without_the_suites_chooses(price: str) -> None:
    names: dict[str, float] = {}
    exec((PROGRAMS / "ingredients" / f"{price}.py").read_text(encoding="utf-8"), names)
    assert {name: names[name] for name in SHARES[price]} == chosen(price, instances())


def test_every_other_constant_is_one_and_the_count_is_ten() -> None:
    shares = {name for names in SHARES.values() for name in names}
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if name not in shares:
                    assert ast.literal_eval(node.value) == (10 if name == "CLASSES" else 1.0)

"""The ingredients of can't be late: each takes part in the initial program, and none is late or a finished program."""

import ast
import random
from pathlib import Path
from typing import Any

import pytest
from cant_be_late_playing import PROGRAMS, TASK, Decide, drawn, mean_cost, played

from evaluator.evaluation import Outcome
from evolve.propose.offline.ingredients import (
    MAX_LINES,
    SHARED,
    applicable,
    insert,
    load_library,
    read_ingredient,
)
from evolve.propose.offline.outline import Outline

FILES = sorted((PROGRAMS / "ingredients").glob("*.py"))
LIBRARY = load_library(PROGRAMS / "ingredients")
BAR = 299.0
"""What 100 offline programs are to reach on `single`."""
OPERATORS = [path for path in FILES if read_ingredient(path).role != SHARED]


def inserted(source: str, name: str, seed: int) -> str:
    """A program with one ingredient more, and what comes with it."""
    ingredient = LIBRARY.of(name)
    assert ingredient is not None
    done = insert(LIBRARY, Outline(source, "decide"), ingredient, random.Random(seed))
    assert done is not None, name
    return done[0]


def alone(path: Path) -> str:
    """The initial program with one ingredient, and the loop that it needs with a reserve."""
    source = TASK.initial.read_text(encoding="utf-8")
    if not applicable(LIBRARY, Outline(source, "decide"), read_ingredient(path)):
        assert read_ingredient(path).role in ("reserve", "toll")  # no place until a loop asks for one
        source = inserted(source, "keep_reserve", 0)
    ingredient = read_ingredient(path)
    return source if ingredient.main in Outline(source, "decide").reached else inserted(source, path.stem, 0)


def decide_of(source: str) -> Decide:
    names: dict[str, Any] = {}
    exec(source, names)
    decide: Decide = names["decide"]
    return decide


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if at % 4 else []) for at, path in enumerate(OPERATORS)],
)
def test_alone_in_the_initial_program_it_is_never_late_and_reaches_no_bar(path: Path) -> None:
    source = alone(path)
    assert read_ingredient(path).main in Outline(source, "decide").reached
    decide = decide_of(source)
    assert mean_cost(decide, TASK.suite("single")) > BAR
    rng = random.Random(path.stem)
    for _ in range(60):
        data = drawn(rng, 40)
        verdict = played(decide, data).verdict
        assert verdict is not None
        assert verdict.outcome is Outcome.OK or data["work"] + data["overhead"] > data["deadline"], data


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_any_of_them_together_are_never_late(seed: int) -> None:
    rng = random.Random(seed)
    source = inserted(TASK.initial.read_text(encoding="utf-8"), "keep_reserve", seed)
    for path in rng.sample(OPERATORS, 8):
        if read_ingredient(path).main not in Outline(source, "decide").reached:
            source = inserted(source, path.stem, seed)
    decide = decide_of(source)
    assert mean_cost(decide, TASK.suite("shifted")) < 3 * 110


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_is_small_and_its_constants_are_of_the_rule(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            wanted = 10.0 if name == "OLD_SPOT" else 0.1 if name.endswith("_SHARE") else 1.0
            assert ast.literal_eval(node.value) == wanted

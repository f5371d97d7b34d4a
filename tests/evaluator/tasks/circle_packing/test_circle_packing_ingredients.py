"""The ingredients of circle packing: each does something in the initial program, and none of them is the answer."""

import ast
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest

from evaluator.evaluator import SandboxedEvaluator
from evaluator.places import PROGRAMS
from evaluator.task_files import load_task
from evolve.propose.offline.ingredients import (
    MAX_LINES,
    Ingredient,
    Library,
    applicable,
    insert,
    load_library,
)
from evolve.propose.offline.outline import Outline
from tests.builders import one_file

FOLDER = PROGRAMS / "circle_packing" / "ingredients"
FILES = sorted(FOLDER.glob("*.py"))
INITIAL = (PROGRAMS / "circle_packing" / "initial.py").read_text(encoding="utf-8")
SEED = 3


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library(FOLDER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_is_small_and_holds_no_coordinates(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    numbers = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    assert all(len(repr(number)) <= 5 for number in numbers if isinstance(number, float))
    assert sum(isinstance(number, float) for number in numbers) <= 12


# -- what each does alone, and that none of them is the answer --------------------------------------------------------

GOAL = 2.630


class Sized(Protocol):
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


class Choosing(random.Random):
    """Takes the given options, then the first ones; and notes which it took, of how many."""

    def __init__(self, given: Sequence[int]) -> None:
        super().__init__(SEED)
        self.given = tuple(given)
        self.taken: list[int] = []
        self.sizes: list[int] = []

    def choice(self, options: Sized) -> Any:
        self.taken.append(self.given[len(self.taken)] if len(self.taken) < len(self.given) else 0)
        self.sizes.append(len(options))
        return options[self.taken[-1]]

    def choices(self, options: Sized, weights: Any = None, **_: Any) -> list[Any]:  # type: ignore[override]
        return [self.choice(options)]


def every_insertion(library: Library, source: str, ingredient: Ingredient) -> Iterator[tuple[str, frozenset[str]]]:
    """Every program that putting in one ingredient may give, with whatever it brings along to do anything at all;
    and what was put in."""
    waiting: list[list[int]] = [[]]
    while waiting:
        rng = Choosing(waiting.pop())
        done = insert(library, Outline(source, "pack"), ingredient, rng)
        assert done is not None
        yield done[0], frozenset(item.name for item in done[1])
        for at in range(len(rng.given), len(rng.taken)):
            waiting += [[*rng.taken[:at], other] for other in range(1, rng.sizes[at])]


def alone(library: Library) -> dict[frozenset[str], str]:
    """The programs with one ingredient more than the initial one, by what was put in: a loop with a polish and one
    start or kick; and these with an acceptance rule, which does nothing elsewhere."""
    programs: dict[frozenset[str], str] = {}
    outline = Outline(INITIAL, "pack")
    later = [item for item in library.operators if not applicable(library, outline, item)]
    for ingredient in library.operators:
        if ingredient not in later:
            for source, names in every_insertion(library, INITIAL, ingredient):
                programs.setdefault(names, source)
    for before, source in list(programs.items()):
        for ingredient in later:
            if ingredient.role == "acceptance" and applicable(library, Outline(source, "pack"), ingredient):
                for further, names in every_insertion(library, source, ingredient):
                    programs.setdefault(before | names, further)
    return programs


def showing_each(programs: Mapping[frozenset[str], str]) -> dict[frozenset[str], str]:
    """As few of the programs as are needed, taken in order, so that each ingredient is in one of them."""
    chosen: dict[frozenset[str], str] = {}
    for names, source in programs.items():
        if not names <= frozenset[str]().union(*chosen):
            chosen[names] = source
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize("choose", [showing_each, pytest.param(dict, marks=pytest.mark.nightly)])
def test_every_ingredient_improves_the_initial_program_and_none_alone_reaches_what_a_run_is_to_find(
    library: Library, choose: Callable[[Mapping[frozenset[str], str]], dict[frozenset[str], str]]
) -> None:
    """On n = 26, in the sandbox: a program for each ingredient, or each of `alone`."""
    pytest.importorskip("scipy")
    programs = choose(alone(library))
    assert {name for names in programs for name in names} == {item.name for item in library.operators}
    task = load_task("circle_packing")
    with SandboxedEvaluator(task, task.suite("n26"), workers=1) as evaluator:
        initial = evaluator.evaluate(one_file(INITIAL)).value
        values = {names: evaluator.evaluate(one_file(source)).value for names, source in programs.items()}
    assert initial is not None
    assert {names: value for names, value in values.items() if value is None or not initial < value < GOAL} == {}

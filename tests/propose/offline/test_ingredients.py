"""The ingredients of the placement task, and the rules that any task's must keep."""

import ast
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from evaluator.places import PROGRAMS
from evolve.core.errors import InputError
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

ENTRY = "compute_model_placement"
FILES = sorted((PROGRAMS / "placement" / "ingredients").glob("*.py"))
CostOf = Callable[..., Fraction]


@pytest.fixture(scope="module")
def library(folder: Path) -> Library:
    return load_library(folder)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_is_small_and_has_its_header(path: Path) -> None:
    ingredient = read_ingredient(path)
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    assert ingredient.why and ingredient.role
    wirings = [ingredient.member_of, ingredient.sets, ingredient.result]
    assert sum(wiring is not None for wiring in wirings) == (0 if ingredient.role == SHARED else 1)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_uses_no_clock_and_no_generator_that_others_move(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= {"random", "math", "itertools"}
    drawn = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random"
    }
    assert drawn <= {"Random"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_alone_in_the_initial_program_it_solves_every_instance_no_worse(
    path: Path, library: Library, initial: str, cost_of: CostOf
) -> None:
    ingredient = read_ingredient(path)
    outline = Outline(initial, ENTRY)
    if ingredient.role == SHARED or not applicable(library, outline, ingredient):
        # An acceptance rule has no place until a loop asks for one.
        assert ingredient.role in (SHARED, "acceptance")
        return
    done = insert(library, outline, ingredient, random.Random(3))
    assert done is not None
    source, items = done
    assert items[0].main == ingredient.main
    assert ingredient.main in Outline(source, ENTRY).reached
    assert cost_of(source, 8) <= cost_of(initial, 8)


@pytest.mark.parametrize("rule", ["accept_always", "accept_annealing", "accept_equal", "accept_threshold"])
def test_an_acceptance_rule_serves_a_loop_that_asks_for_one(
    rule: str, library: Library, initial: str, cost_of: CostOf
) -> None:
    loop, chosen = library.of("iterated_local_search"), library.of(rule)
    assert loop is not None and chosen is not None
    with_loop = insert(library, Outline(initial, ENTRY), loop, random.Random(0))
    assert with_loop is not None
    outline = Outline(with_loop[0], ENTRY)
    assert applicable(library, outline, chosen)
    done = insert(library, outline, chosen, random.Random(0))
    assert done is not None
    assert f"ACCEPT = {rule}\n" in done[0]
    assert cost_of(done[0], 8) <= cost_of(initial, 8)


def test_a_loop_without_operators_changes_nothing(library: Library, initial: str, cost_of: CostOf) -> None:
    for name in ("local_search", "iterated_local_search", "random_restarts"):
        loop = library.of(name)
        assert loop is not None
        done = insert(library, Outline(initial, ENTRY), loop, random.Random(0))
        assert done is not None
        bare = Outline(done[0], ENTRY)
        for slot in ("NEIGHBOURHOODS", "KICKS"):
            item = bare.bound.get(slot)
            if item is not None:
                bare = Outline(bare.with_replaced(item, f"{slot} = ()\n"), ENTRY)
        assert cost_of(bare.source, 8) == cost_of(initial, 8)


def test_no_ingredient_reaches_the_optimum_alone(library: Library, initial: str, cost_of: CostOf, task) -> None:
    bounds = [instance.bound for instance in task.suite("adrs").instances]
    for ingredient in library.operators:
        if applicable(library, Outline(initial, ENTRY), ingredient):
            done = insert(library, Outline(initial, ENTRY), ingredient, random.Random(1))
            if done is not None and len(done[1]) == 1:
                assert cost_of(done[0], 50) > sum(bounds)


def test_inserting_twice_is_not_offered(library: Library, initial: str) -> None:
    ingredient = library.of("first_fit")
    assert ingredient is not None
    done = insert(library, Outline(initial, ENTRY), ingredient, random.Random(0))
    assert done is not None
    assert not applicable(library, Outline(done[0], ENTRY), ingredient)


GOOD = """\
# role: step
# why: a step
# wire: result = step({result})
def step(result):
    return result
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD.replace("# role: step\n", ""), "lacks `# role"),
        (GOOD.replace("# why: a step\n", ""), "lacks `# why"),
        (GOOD.replace("# wire", "# wires"), "unknown header 'wires'"),
        (GOOD.replace("# wire: result = step({result})\n", ""), "needs a `# wire:` line"),
        (GOOD.replace("result = step({result})", "somewhere"), "it must be `add to SLOT`"),
        (GOOD.replace("result = step({result})", "result = other({result})"), "does not mention step"),
        (GOOD.replace("def step", "def step("), "cannot be read as Python"),
        (GOOD.replace("def step(result):\n    return result", "step = 1"), "defines no function"),
        (GOOD + "# more\n" * MAX_LINES, "at most 40"),
        (GOOD.replace("# wire", "# needs: missing\n# wire"), "needs 'missing'"),
        (GOOD.replace("# wire", "# needs: good\n# wire"), "is an operator"),
        (GOOD.replace("# wire", "# slots: STEPS\n# wire"), "it must be like"),
        (GOOD.replace("# wire", "# wants: STEPS\n# wire"), "wants STEPS"),
        (GOOD.replace("step(", "good("), "defines good, as"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_with_its_name(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "good.py").write_text(GOOD.replace("step(", "good("), encoding="utf-8")
    (tmp_path / "wrong.py").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_library(tmp_path)
    assert says in str(error.value)
    assert "wrong.py" in str(error.value)


def test_needs_that_go_in_a_circle_are_refused(tmp_path: Path) -> None:
    for name, need in (("one", "two"), ("two", "one")):
        (tmp_path / f"{name}.py").write_text(
            f"# role: shared\n# why: a reason\n# needs: {need}\ndef {name}():\n    pass\n", encoding="utf-8"
        )
    with pytest.raises(InputError, match="needs itself"):
        load_library(tmp_path)


def test_a_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder of ingredients"):
        load_library(tmp_path / "missing")

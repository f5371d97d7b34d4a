"""Which numbers of a program are searched, and the program with other values in their places."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.propose.tuning.literals import applied, most_promising, parameters
from tests.builders import one_file

PROGRAM = '''\
import math
OUTSIDE = 7.5
# EVOLVE-BLOCK-START
"""Not 3.5 of these."""
RATE, TRIES = 0.5, 40
STEPS = 2
LEAST = -0.25
SEED = 17
ZERO = 0.0
MASK = 0xFF


def solve(items, cooling=0.95, *, seed=3):
    best, total = items[0], 0.0
    for i in range(1, 12):  # 12 times
        total += items[3] * 1.5 + float(f"{i:.3f}") + math.inf * 0 + 1e-12 + 1e18
        weights = {"a 4.5": True, "é": 2.0}; later = 2.5
    return best, items[:8]
# EVOLVE-BLOCK-END
OTHER = 9.5
'''


def labelled(source: str, name: str = "program.py") -> dict[str, float]:
    found = parameters(one_file(source, name))
    return {one.label: one.literal.value for one in found}


def test_numbers_of_the_block_are_found_and_structure_is_left_alone() -> None:
    found = parameters(one_file(PROGRAM))
    assert [one.literal.value for one in found] == [0.5, 40, 2, 0.25, 0.0, 0.95, 12, 1.5, 2.0, 2.5, 8]
    assert [one.literal.name for one in found][2:5] == ["STEPS", "LEAST", "ZERO"]
    assert [PROGRAM[one.literal.start : one.literal.stop] for one in found][-3:] == ["2.0", "2.5", "8"]
    assert "cooling (line 13)" in labelled(PROGRAM)


@pytest.mark.parametrize(
    "made",
    [
        "random.Random(7)",
        "Random(7)",
        "np.random.default_rng(5 + 3)",
        "rng.seed(9)",
        "numpy.random.RandomState(seed=4)",
    ],
)
def test_what_a_generator_begins_with_is_left_alone(made: str) -> None:
    found = parameters(one_file(f"def solve(rng):\n    rng = {made}\n    return rng.uniform(5, 6.5)\n"))
    assert [one.literal.value for one in found] == [5, 6.5]


@pytest.mark.parametrize(
    ("index", "searched"),
    [
        ("4", []),
        ("-4", []),
        ("1, 4", []),
        ("5, -6", []),
        ("(5, (6, 7))", []),
        ("i + 5", [5]),
        ("i, 5", []),
        (":5, 6", [5]),
        ("6, 5::7", [5, 7]),
        ("6, i * 5", [5]),
        ("f(5), 6", [5]),
        ("6, [7, 8]", [7, 8]),
    ],
)
def test_an_index_is_left_alone_and_what_an_index_is_made_of_is_not(index: str, searched: list[int]) -> None:
    found = parameters(one_file(f"def solve(grid, i):\n    return grid[{index}]\n"))
    assert [one.literal.value for one in found] == searched


def test_of_another_language_numbers_are_found_by_its_own_rules() -> None:
    source = (
        '/* 3.5 */\n#define TRIES 40\nconst double RATE = 0.5; char *s = "1.5";\nint f(int *a) { return a[3] + 7; }\n'
    )
    assert labelled(source, "program.c") == {"TRIES": 40, "RATE": 0.5, "line 4": 7}


def test_a_point_stands_in_the_program_and_nothing_else_changes() -> None:
    found = parameters(one_file(PROGRAM))
    point = tuple(one.literal.value for one in found)
    assert applied(one_file(PROGRAM), found, point).only == PROGRAM
    changed = applied(one_file(PROGRAM), found, (0.75, *point[1:-2], 3.25, 5)).only
    assert changed == PROGRAM.replace("= 0.5, 40", "= 0.75, 40").replace("later = 2.5", "later = 3.25").replace(
        "[:8]", "[:5]"
    )


def test_where_there_are_too_many_named_constants_and_fractions_come_first() -> None:
    chosen = most_promising(parameters(one_file(PROGRAM)), 5)
    assert [one.literal.value for one in chosen] == [0.5, 2, 0.25, 0.0, 0.95]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_are_kept(end: str) -> None:
    source = PROGRAM.replace("\n", end)
    found = parameters(one_file(source))
    assert len(found) == 11
    changed = applied(one_file(source), found, (9.0, *(one.literal.value for one in found[1:]))).only
    assert changed.count(end) == source.count(end)


names = st.sampled_from(["RATE", "alpha", "é", "N"])
numbers = st.one_of(
    st.integers(0, 10**6).map(str),
    st.floats(0, 1e6, allow_nan=False).map(repr),
    st.sampled_from(["1_000", ".5", "5.", "1e3", "0x1F", "0b11", "1j", "00", "True", "'7.5'", "f'{2.5:.3f}'"]),
)
expressions = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(" + ".join),
        inner.map("-({})".format),
        inner.map("f({}, k=4.5)".format),
        inner.map("[{}][0]".format),
        inner.map("a[7, {}]".format),
        inner.map('"""é\n3.5""" and {}'.format),
    ),
    max_leaves=6,
)
lines = st.tuples(names, expressions).map(" = ".join)


@given(st.lists(lines, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_whatever_the_program_the_tree_differs_in_the_chosen_numbers_alone(text: list[str], rng) -> None:  # type: ignore[no-untyped-def]
    source = "\n".join(text) + "\n"
    found = parameters(one_file(source))
    same = tuple(one.literal.value for one in found)
    assert applied(one_file(source), found, same).only == source
    point = tuple(one.dimension.moved(value, rng.uniform(-2, 2)) for one, value in zip(found, same, strict=True))
    changed = applied(one_file(source), found, point).only
    again = parameters(one_file(changed))
    assert [type(value) for value in point] == [type(value) for value in same]
    before, after = _numbers(source), _numbers(changed)
    assert len(before) == len(after)
    assert sum(one != other for one, other in zip(before, after, strict=True)) == sum(
        one != other for one, other in zip(same, point, strict=True)
    )
    assert ast.dump(_blank(source)) == ast.dump(_blank(changed))
    assert applied(one_file(changed), again, tuple(one.literal.value for one in again)).only == changed


def _numbers(source: str) -> list[object]:
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return [node.value for node in nodes if type(node.value) in (int, float)]


def _blank(source: str) -> ast.Module:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            node.value = 0
    return tree

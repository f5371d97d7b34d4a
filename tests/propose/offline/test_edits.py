"""The edits beneath: crossover, wiring, sweeping and constants, on small programs."""

import random

import pytest

from evolve.propose.offline.constants import constants, moved, new_values, propose_move
from evolve.propose.offline.crossover import carry, differing
from evolve.propose.offline.outline import Outline
from evolve.propose.offline.wiring import (
    Use,
    members,
    result_functions,
    swept,
    uses,
    with_member,
    with_result,
    without_use,
)

PROGRAM = """\
LIMIT = 80
# EVOLVE-BLOCK-START
import random

ROUNDS = 20


def shared(x):
    return x + LIMIT


# Improves a little.
def improve(x):
    for _ in range(ROUNDS):
        x = shared(x) + random.random()
    return x


def walk(x):
    for step in STEPS:
        x = step(x)
    return x


def one(x):
    return x + 3


def solve(x):
    y = x
    y = improve(y)
    y = walk(y)
    return y


STEPS = (one,)
# EVOLVE-BLOCK-END
"""

PLAIN = """\
LIMIT = 80
# EVOLVE-BLOCK-START
def solve(x):
    best = x
    return best
# EVOLVE-BLOCK-END
"""


def run(source: str, x: int = 1) -> object:
    space: dict[str, object] = {}
    exec(source, space)
    return space["solve"](x)  # type: ignore[operator]


def test_crossover_carries_a_function_with_what_it_needs_and_its_wiring() -> None:
    carried = carry(Outline(PLAIN, "solve"), Outline(PROGRAM, "solve"), "improve", random.Random(0))
    assert carried is not None
    assert "import random\n" in carried and "ROUNDS = 20\n" in carried
    assert "# Improves a little.\ndef improve(x):" in carried
    assert "    best = improve(best)\n" in carried
    assert "walk" not in carried
    assert isinstance(run(carried), float)


def test_crossover_carries_a_slot_with_its_members() -> None:
    carried = carry(Outline(PLAIN, "solve"), Outline(PROGRAM, "solve"), "walk", random.Random(0))
    assert carried is not None
    assert "STEPS = (one,)" in carried
    assert run(carried) == 4


def test_crossover_adds_to_a_slot_that_both_have() -> None:
    donor = PROGRAM.replace("def solve", "def two(x):\n    return x + 5\n\n\ndef solve").replace("(one,)", "(one, two)")
    carried = carry(Outline(PROGRAM, "solve"), Outline(donor, "solve"), "two", random.Random(0))
    assert carried is not None
    assert members(Outline(carried, "solve"), "STEPS") == ("one", "two")


def test_crossover_replaces_a_function_that_differs() -> None:
    donor = PROGRAM.replace("x + 3", "x + 4")
    receiver = Outline(PROGRAM, "solve")
    assert differing(receiver, Outline(donor, "solve")) == ["one"]
    carried = carry(receiver, Outline(donor, "solve"), "one", random.Random(0))
    assert carried == donor


def test_crossover_refuses_what_nothing_would_use() -> None:
    donor = Outline(PROGRAM, "solve")
    assert carry(Outline(PLAIN, "solve"), donor, "one", random.Random(0)) is None


def test_a_use_taken_out_takes_along_what_served_it_alone() -> None:
    outline = Outline(PROGRAM, "solve")
    assert uses(outline) == [
        Use(name="one", slot="STEPS"),
        Use(name="improve", slot=None),
        Use(name="walk", slot=None),
    ]
    source = swept(outline, without_use(outline, Use(name="improve", slot=None)))
    for gone in ("improve", "Improves", "shared", "ROUNDS", "import random"):
        assert gone not in source
    assert run(source) == 4
    empty = swept(outline, without_use(outline, Use(name="one", slot="STEPS")))
    assert "STEPS = ()\n" in empty and "def one" not in empty


def test_a_result_statement_is_put_in_where_asked() -> None:
    outline = Outline(PROGRAM, "solve")
    first = with_result(outline, "one({result})", 0)
    assert first is not None and result_functions(Outline(first, "solve")) == ["one", "improve", "walk"]
    expression = PLAIN.replace("    return best\n", "    return (\n        best + 1\n    )\n")
    source = with_result(Outline(expression, "solve"), "max({result}, x)", 0)
    assert source is not None and run(source) == 2
    assert "    result = max(result, x)\n    return result\n" in source


def test_a_long_slot_is_broken_into_lines_and_reads_back() -> None:
    outline = Outline(PLAIN, "solve")
    names = [f"a_rather_long_name_{number}" for number in range(12)]
    for name in names:
        outline = Outline(with_member(outline, "STEPS", name), "solve")
    assert members(outline, "STEPS") == tuple(names)
    assert max(len(line) for line in outline.lines) <= 101


def test_constants_that_serve_nothing_or_lie_outside_are_left_alone() -> None:
    program = PROGRAM.replace("ROUNDS = 20", "ROUNDS = 20\nIDLE = 9")
    assert [constant.label for constant in constants(Outline(program, "solve"))] == [
        "ROUNDS",
        "the number in one (line 27)",
    ]


def test_a_moved_constant_changes_only_its_literal() -> None:
    outline = Outline(PROGRAM, "solve")
    move = propose_move(outline, random.Random(0))
    assert move is not None
    old, new = PROGRAM.splitlines(), moved(PROGRAM, move).splitlines()
    assert [i for i in range(len(old)) if old[i] != new[i]] == [move.constant.node.lineno - 1]


@pytest.mark.parametrize("value", [1, 2, 3, 200, -4, 0, 0.5, 1e-3, 0.0, -2.5])
def test_new_values_differ_and_keep_type_and_sign(value: float) -> None:
    values = new_values(value)
    assert values and value not in values and len(set(values)) == len(values)
    assert all(type(number) is type(value) for number in values)
    if value > 0:
        assert all(number > 0 for number in values)


def test_a_statement_that_goes_on_into_the_next_line_is_left_alone() -> None:
    """What stands behind the backslash is no part of its node, so that its lines alone are no Python."""
    for text in ("A = 1\\\n\n", "A = 1;\\\nB = 2\n"):
        source = f"# EVOLVE-BLOCK-START\n{text}def solve():\n    return 1\n# EVOLVE-BLOCK-END\n"
        assert "A" not in Outline(source, "solve").bound

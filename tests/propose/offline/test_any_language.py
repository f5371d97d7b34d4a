"""The offline proposer on programs of which it knows no more than their numbers and blocks."""

import random

import pytest

from evolve.core.program import PatchKind, evolve_regions
from evolve.lang.languages import language_of
from evolve.lang.literals import literals
from evolve.patch import apply_patch, parse_patch
from evolve.propose.offline.any_language import movable, number_moved, parts_taken
from evolve.propose.offline.proposer import OfflineProposer
from tests.propose.offline.placement import candidate, request_for

C = language_of("program.c")
PROGRAM = """\
#define FIXED 30
// EVOLVE-BLOCK-START
#define HEAT 0.95 // 3.5
static const int tries = 40;
int f(int x) { return x * 17 + a[9] + 1; } // "8"
// EVOLVE-BLOCK-END
int last = 50;
"""
TWO = "// EVOLVE-BLOCK-START\n{}\n// EVOLVE-BLOCK-END\nx\n// EVOLVE-BLOCK-START\n{}\n// EVOLVE-BLOCK-END\n"


def test_numbers_of_the_evolve_blocks_can_be_moved_and_no_others() -> None:
    assert [(literal.name, literal.value) for literal in movable(PROGRAM, C)] == [
        ("HEAT", 0.95),
        ("tries", 40),
        (None, 17),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_one_number_is_moved_and_all_else_stays(seed: int) -> None:
    edit = number_moved(PROGRAM, C, random.Random(seed))
    assert edit is not None
    before, after = literals(PROGRAM, C), literals(edit.source, C)
    changed = [(one, other) for one, other in zip(before, after, strict=True) if one.value != other.value]
    assert len(changed) == 1
    assert edit.name.split("_")[0] == ("raise" if changed[0][1].value > changed[0][0].value else "lower")
    assert edit.name.endswith((changed[0][0].name or "number").lower())


def test_a_program_without_numbers_gets_no_proposal() -> None:
    proposer = OfflineProposer(None, entry_point="", language=C)
    answer = proposer.answer(request_for("// EVOLVE-BLOCK-START\nint x;\n// EVOLVE-BLOCK-END\n"), None, print)
    assert answer.finish_reason == "nothing"


def test_a_constants_value_is_taken_from_another_program_whatever_else_it_does() -> None:
    other = "int g;\n" + PROGRAM.replace("0.95", "0.5").replace("x * 17", "x / 17")
    edit = parts_taken(PROGRAM, C, [candidate(other, 4)], random.Random(0))
    assert edit is not None
    assert edit.source == PROGRAM.replace("0.95", "0.5")
    assert (edit.name, "generation 4" in edit.description) == ("take_heat", True)


def test_of_several_constants_not_all_are_taken() -> None:
    other = PROGRAM.replace("0.95", "0.5").replace("tries = 40", "tries = 41")
    taken = {parts_taken(PROGRAM, C, [candidate(other)], random.Random(seed)).source for seed in range(20)}  # type: ignore[union-attr]
    assert taken == {PROGRAM.replace("0.95", "0.5"), PROGRAM.replace("tries = 40", "tries = 41")}


def test_of_several_blocks_one_is_taken_whole() -> None:
    one, other = TWO.format("int a;", "int b;"), TWO.format("long a;\nlong c;", "long b;")
    taken = {parts_taken(one, C, [candidate(other)], random.Random(seed)).source for seed in range(20)}  # type: ignore[union-attr]
    assert taken == {TWO.format("long a;\nlong c;", "int b;"), TWO.format("int a;", "long b;")}
    assert parts_taken(one, C, [candidate(one)], random.Random(0)) is None


@pytest.mark.parametrize("kind", [PatchKind.DIFF, PatchKind.CROSS])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_answer_is_a_patch_that_makes_what_was_meant(kind: PatchKind, end: str) -> None:
    proposer = OfflineProposer(None, entry_point="", language=C)
    source = PROGRAM.replace("\n", end)
    for generation in range(1, 30):
        request = request_for(
            source,
            kind=kind,
            inspirations=[source.replace("0.95", "0.7")],
            generation=generation,
            attempt=generation % 3,
        )
        edit, answer = proposer.propose(request), proposer.answer(request, None, print)
        assert edit is not None
        result = apply_patch(parse_patch(answer.text, kind), source, C)
        assert result == edit.source
        (before,), (after,) = evolve_regions(source), evolve_regions(result)
        assert source.replace(before.text, "") == result.replace(after.text, "")
        assert proposer.answer(request, None, print) == answer


@pytest.mark.parametrize("name", ["program.kt", "program.hs", "program.sql"])
def test_what_cannot_be_separated_from_strings_is_left_alone(name: str) -> None:
    assert number_moved("RATE = 0.5\n", language_of(name), random.Random(0)) is None

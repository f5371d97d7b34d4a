"""Evolve blocks, what a program must have, and when two programs are the same."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.errors import ProgramError
from evolve.core.program import check_program, evolve_regions, normalised_hash, split_lines
from evolve.core.python_source import MAX_DEPTH, MAX_SOURCE_BYTES, parsed
from evolve.lang.languages import PYTHON

PROGRAM = "import math\n# EVOLVE-BLOCK-START\ndef solve(x):\n    return x\n# EVOLVE-BLOCK-END\nprint\n"
TOO_DEEP = ["x = " + "-" * 60_000 + "1", "x = 1" + "+1" * 30_000, "x" + ".a" * 30_000, "(" * 30_000]


def check(source: str, entry_point: str = "solve") -> None:
    check_program(source, language=PYTHON, entry_point=entry_point, name="seed.py")


def test_the_region_is_what_stands_between_the_markers() -> None:
    (region,) = evolve_regions(PROGRAM)
    assert region.text == "def solve(x):\n    return x\n"
    assert split_lines(PROGRAM)[region.start : region.stop] == ["def solve(x):\n", "    return x\n"]


def test_there_may_be_several_blocks_and_empty_ones_and_indented_markers() -> None:
    source = (
        "# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END\nclass A:\n"
        "    #EVOLVE-BLOCK-START  \r\n    x = 1\r\n    # EVOLVE-BLOCK-END"
    )
    assert [region.text for region in evolve_regions(source)] == ["", "    x = 1\r\n"]


def test_a_program_without_markers_may_change_as_a_whole_and_a_text_that_only_mentions_one_has_none() -> None:
    source = "x = '# EVOLVE-BLOCK-START'\n# EVOLVE-BLOCK-START begins here\n"
    assert [(region.start, region.stop, region.text) for region in evolve_regions(source)] == [(0, 2, source)]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("x\n# EVOLVE-BLOCK-START\n", "line 2"),
        ("# EVOLVE-BLOCK-END\n", "line 1"),
        ("# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END\n# EVOLVE-BLOCK-END\n", "line 2"),
        ("# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END\n\n# EVOLVE-BLOCK-END\n", "line 4"),
    ],
)
def test_markers_without_partner_are_refused_with_their_line(source: str, line: str) -> None:
    with pytest.raises(ProgramError, match=line):
        evolve_regions(source)


def test_a_good_program_passes() -> None:
    check(PROGRAM)
    check("def solve(x): return x\n")
    check(PROGRAM.replace("def solve(x):\n    return x", "solve = lambda x: x"))
    check(PROGRAM.replace("def solve(x):\n    return x", "if True:\n    async def solve(x): return x"))


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (PROGRAM + "#" * MAX_SOURCE_BYTES, "at most 65536"),
        (PROGRAM.replace("return x", "return '\udc80'"), "line 4.*UTF-8"),
        (PROGRAM.replace("return x", "return x)"), "line 4.*not valid Python"),
        (PROGRAM.replace("return x", "return '\0'"), "not valid Python"),
        (PROGRAM.replace("START", "BEGIN"), "EVOLVE-BLOCK-END without"),
        (PROGRAM.replace("solve", "answer"), "entry point `solve`"),
        (
            PROGRAM.replace("def solve", "def outer():\n  def solve").replace("    return", "      return"),
            "entry point",
        ),
        (PROGRAM.replace("def solve(x):\n    return x", "solve: int"), "entry point"),
        *((PROGRAM + source, "nested too|too many nested") for source in TOO_DEEP),
    ],
)
def test_an_unusable_program_is_refused_and_the_file_named(source: str, says: str) -> None:
    with pytest.raises(ProgramError, match=says) as caught:
        check(source)
    assert str(caught.value).startswith("seed.py: ")


def test_the_hash_ignores_comments_layout_and_docstrings() -> None:
    other = (
        '"""About."""\nimport math  # as ever\n\n# EVOLVE-BLOCK-START\ndef solve(\n    x,\n):\n'
        '    """Why."""\n    return (x)\n\n\n# EVOLVE-BLOCK-END\nprint'
    )
    assert normalised_hash(other) == normalised_hash(PROGRAM)


DIFFERENT = [
    "x = 1",
    "x = 1.0",
    "x = True",
    "x = '1'",
    "x = b'1'",
    "x = None",
    "x: int",
    "x: int = 1",
    "x = ()",
    "x = []",
    "x = {**y}",
    "x = y[1:]",
    "x = y[:1]",
    "x = y[::1]",
    "def f(a, b=1): pass",
    "def f(a, *, b=1): pass",
    "def f(a=1, *, b): pass",
    "def f(a, /, b): pass",
    "def f(a, b): pass",
    "def f(a, b): 1; 'text'",
    "def f(a, b): 'text'; 1; 'text'; 2",
    "def f(a, b): 1",
    "if a: b\nelse: c",
    "if a: b; c",
    "if a: b\nc",
    "if a:\n  if b: c\n  else: d",
    "if a:\n  if b: c\nelse: d",
    "global a, b",
    "global a\nglobal b",
    "import a.b",
    "from a import b",
    "from . import b",
    "f'{a!r}'",
    "f'{a}'",
    "a + b + c",
    "a + (b + c)",
    "match a:\n  case None: b",
    "match a:\n  case True: b",
    "match a:\n  case {**b}: b",
]


def test_programs_that_differ_have_different_hashes() -> None:
    assert len({normalised_hash(source) for source in DIFFERENT}) == len(DIFFERENT)


@given(st.lists(st.sampled_from(DIFFERENT), max_size=4), st.lists(st.sampled_from(DIFFERENT), max_size=4))
def test_the_hash_tells_apart_what_the_full_dump_of_the_tree_tells_apart(a: list[str], b: list[str]) -> None:
    first, second = "pass\n" + "\n".join(a), "pass\n" + "\n".join(b)  # `pass`: so that no string is a docstring
    alike = ast.dump(ast.parse(first)) == ast.dump(ast.parse(second))
    assert (normalised_hash(first) == normalised_hash(second)) == alike


def test_the_hash_is_the_same_everywhere() -> None:
    # Hashes stand in archives: this one may change only together with a note in the changelog.
    assert normalised_hash("x = 1\n") == "0b99aea730d13ec64e1619de7963f00c063a1c8c662765061a2cfade83dfe6e7"


@pytest.mark.parametrize("source", [*TOO_DEEP, "x = \0", "x = '\udc80'", "def", "x = " + "9" * 60_000])
def test_a_source_that_does_not_parse_has_no_hash(source: str) -> None:
    with pytest.raises(ProgramError):
        normalised_hash(source)


def test_a_number_too_long_for_decimal_has_a_hash() -> None:
    assert normalised_hash("x = 0x" + "9" * 60_000) != normalised_hash("x = 0x" + "9" * 59_999)


def test_what_would_take_the_compiler_gigabytes_is_only_parsed() -> None:
    """Each `finally` is compiled twice: 2^60 copies of the innermost line. That this ends at all is the claim."""
    opened = "".join(f"{' ' * level}try: pass\n{' ' * level}finally:\n" for level in range(60))
    source = PROGRAM.replace("# EVOLVE-BLOCK-START\n", f"# EVOLVE-BLOCK-START\n{opened}{' ' * 60}pass\n")
    check(source)
    assert normalised_hash(source) != normalised_hash(PROGRAM)


@pytest.mark.parametrize("operator", ["-", "not ", "~"])
def test_depth_is_bounded_by_a_number_and_not_by_who_calls(operator: str) -> None:
    parsed("x = " + operator * (MAX_DEPTH - 5) + "1")
    with pytest.raises(ProgramError, match="line 1: nested more than 200 levels"):
        parsed("x = " + operator * MAX_DEPTH + "1")

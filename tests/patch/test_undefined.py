"""A program that every run of misses a name is refused, with the line; whatever may run as it stands is left alone."""

import ast
import re
import sys
from pathlib import Path

import pytest

from evolve.core.errors import PatchError
from evolve.core.python_source import parsed
from evolve.patch import PatchReason
from evolve.patch.undefined import check_names, undefined_names

ROOT = Path(__file__).resolve().parent.parent.parent

DATA = ROOT / "tests" / "data" / "undefined"


def programs(name: str) -> dict[str, str]:
    """The programs of a file of such, each by its headline."""
    parts = (DATA / name).read_text(encoding="utf-8").split("=== ")[1:]
    return {headline: source for headline, _, source in (part.partition("\n") for part in parts)}


MISSING = programs("missing.txt")
INNOCENT = programs("innocent.txt")


def messages(source: str, entry_point: str = "solve") -> list[str]:
    return [f"line {name.lineno}: {name.id}" for name in undefined_names(source, entry_point)]


@pytest.mark.parametrize(("message", "source"), MISSING.items())
def test_a_name_that_every_run_misses_is_found_with_its_line(message: str, source: str) -> None:
    assert messages(source) == [message]


@pytest.mark.parametrize("source", INNOCENT.values(), ids=INNOCENT)
def test_what_may_run_is_left_alone(source: str) -> None:
    assert messages(source) == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
def test_type_parameters_are_bound() -> None:
    source = "type Many[T] = list[T]\nclass A[K]:\n    def f[V](self, x: V) -> K:\n        y: V = x\n        return V\n"
    assert messages(f"{source}def solve[S](x: S):\n    return A().f(S)\n") == []


def test_the_tree_that_all_share_stays_as_it_is() -> None:
    source = "x: 'List[int]' = 1\ndef solve(x):\n    return shuffel(x)\n"
    before = ast.dump(parsed(source), include_attributes=True)
    assert len(undefined_names(source, "solve")) == 1
    assert ast.dump(parsed(source), include_attributes=True) == before


def test_the_refusal_shows_each_line() -> None:
    source = "def solve(x):\n    y = low(x)\n    return shuffel(y)\n"
    with pytest.raises(PatchError) as refused:
        check_names(source, parent_source="def solve(x):\n    return x\n", parent_works=True, entry_point="solve")
    assert refused.value.reason == PatchReason.WOULD_FAIL
    assert str(refused.value).splitlines()[:4] == [
        "The program that results is certain to fail: line 2: name `low` is not defined",
        "    2 |     y = low(x)",
        "line 3: name `shuffel` is not defined",
        "    3 |     return shuffel(y)",
    ]


def test_only_what_the_patch_brought_in_counts_unless_the_parent_fails_as_well() -> None:
    parent = "def solve(x):\n    return shuffel(x)\n"
    child = parent.replace("shuffel(x)", "shuffel(x + 1)")
    check_names(child, parent_source=parent, parent_works=True, entry_point="solve")
    with pytest.raises(PatchError, match="line 2: name `shuffel`"):
        check_names(child, parent_source=parent, parent_works=False, entry_point="solve")
    with pytest.raises(PatchError, match="line 2: name `limt`") as refused:
        check_names(child.replace("1", "limt"), parent_source=parent, parent_works=True, entry_point="solve")
    assert "name `shuffel`" not in str(refused.value)


def test_a_program_too_deep_to_be_walked_is_left_to_the_evaluation() -> None:
    deep = "def solve(x):\n    return nothing" + " + 1" * 120 + "\n"
    assert messages(deep) == []
    assert len(messages("def solve(x):\n    return nothing" + " + 1" * 80 + "\n")) == 1


# -- real programs (tests/benchmarks/undefined_names.py tries many more) ----------------------------------------------


def test_no_program_that_ships_gives_an_alarm() -> None:
    alarms, looked = {}, 0
    for path in sorted((ROOT / "programs").rglob("*.py")):
        if path.parent.name == "ingredients":
            continue  # they are no whole programs
        source = path.read_text(encoding="utf-8")
        looked += 1
        for entry_point in re.findall(r"(?m)^def (\w+)", source):
            alarms |= {(path, name): entry_point for name in messages(source, entry_point)}
    assert looked > 30
    assert alarms == {}


def test_of_a_file_without_entry_point_what_its_import_reads_counts() -> None:
    parent = "LIMIT = 3\ndef solve(x):\n    return x\n"
    check_names(
        parent.replace("return x", "return shuffel(x)"), parent_source=parent, parent_works=True, entry_point=""
    )
    with pytest.raises(PatchError, match=r"fail: pkg/a.py, line 1: name `limt` is not defined"):
        check_names(
            parent.replace("3", "limt"), parent_source=parent, parent_works=True, entry_point="", path="pkg/a.py"
        )

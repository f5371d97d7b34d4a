"""Patches of programs of several files: all or nothing, and back again."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evaluator.program_files import Files, ProgramFolder
from evolve.core.errors import PatchError
from evolve.core.program import PatchKind
from evolve.patch import PatchReason, apply_to_files, make_files_patch, parse_patch
from tests.patch.patching import block
from tests.patch.pieces import BODIES, PIECES, STATEMENTS

FREE = ProgramFolder(folder=Path("nowhere"), edit=("**",), may_add=True)
FIXED = ProgramFolder(folder=Path("nowhere"), edit=("src/*.py", "src/**/*.c"))
PROGRAM = Files.of({"src/a.py": "x = 1\ny = 2\n", "src/deep/b.c": "int x = 1;\n", "src/c.py": "x = 1\n"})


def answer(text: str, tag: str = "DIFF") -> str:
    return f"<NAME>name</NAME>\n<DESCRIPTION>\nwhy\n</DESCRIPTION>\n<{tag}>\n{text}</{tag}>\n"


def patched(text: str, rules: ProgramFolder = FIXED, kind: PatchKind = PatchKind.DIFF, old: Files = PROGRAM) -> Files:
    return apply_to_files(parse_patch(text, kind, several=True), old, rules)


def refusal(text: str, rules: ProgramFolder = FIXED, kind: PatchKind = PatchKind.DIFF) -> PatchError:
    with pytest.raises(PatchError) as caught:
        patched(text, rules, kind)
    assert caught.value.reason in set(PatchReason)
    return caught.value


ONE_AND_TWO = (
    "FILE: src/a.py\n"
    + block("x = 1\n", "x = 3\n")
    + block("y = 2\n", "y = 4\n")
    + "text between\nFILE: `./src/deep/b.c`  \n"
    + block("int x = 1;\n", "int x = 2;\n")
)


def test_blocks_change_the_file_above_them() -> None:
    new = patched(answer(ONE_AND_TWO))
    assert new == PROGRAM.changed({"src/a.py": "x = 3\ny = 4\n", "src/deep/b.c": "int x = 2;\n"})


def test_a_file_may_be_named_again() -> None:
    text = "FILE: src/a.py\n" + block("x = 1\n", "x = 3\n") + "FILE: src/c.py\n" + block("x = 1\n", "x = 5\n")
    text += "FILE: src/a.py\n" + block("x = 3\n", "x = 4\n")
    assert patched(answer(text)) == PROGRAM.changed({"src/a.py": "x = 4\ny = 2\n", "src/c.py": "x = 5\n"})


def test_if_one_block_does_not_fit_no_file_changes() -> None:
    error = refusal(answer(ONE_AND_TWO + "FILE: src/c.py\n" + block("z = 1\n", "z = 2\n")))
    assert error.reason is PatchReason.NO_MATCH
    assert error.fact.startswith("FILE: src/c.py: Block 1 of 1: its SEARCH text is not in the program")


@pytest.mark.parametrize(
    ("text", "rules", "fact"),
    [
        (block("x = 1\n", "x = 2\n"), FIXED, "Block 1 is for no file: the program has several."),
        ("FILE: src/d.py\n" + block("x\n", "y\n"), FIXED, "FILE: src/d.py: the program has no such file. It has 3,"),
        ("FILE: src/d.py\n" + block("", "y\n"), FIXED, "FILE: src/d.py: the program has no such file."),
        ("FILE: src/d.py\n" + block("x\n", "y\n"), FREE, "FILE: src/d.py: the program has no such file."),
        ("FILE: tests/t.py\n" + block("", "y\n"), FIXED, "FILE: tests/t.py: this file may not change; only files that"),
        ("FILE: ../t.py\n" + block("", "y\n"), FREE, "The path ../t.py must be relative"),
        (f"FILE: src/{'é' * 130}\n" + block("", "y\n"), FREE, "The path src/éé"),
        ("FILE: .hidden\n" + block("", "y\n"), FREE, "FILE: .hidden: this file may not change"),
        ("FILE: src/a.py/b\n" + block("", "y\n"), FREE, "The files do not go together: 'src/a.py' is a file"),
        ("DELETE: src/a.py\n", FIXED, "DELETE: src/a.py: no file can be deleted here."),
        ("DELETE: src/d.py\n", FREE, "DELETE: src/d.py: the program has no such file."),
        ("DELETE: src/a.py\nDELETE: src/c.py\nDELETE: src/deep/b.c\n", FREE, "The patch deletes every file"),
        ("DELETE: src/a.py\nFILE: src/a.py\n" + block("x = 1\n", ""), FREE, "The file src/a.py is named by a DELETE"),
        ("FILE: src/a.py\n" + block("x = 1\n", "") + "DELETE: src/a.py\n", FREE, "The file src/a.py is named by a DEL"),
        ("FILE: src/a.py\n" + block("x = 1\n", "x = 1\n"), FIXED, "The patch leaves every file exactly as it is."),
        ("FILE: src/a.py\n" + block("x = 1\n", "x = (\n"), FIXED, "FILE: src/a.py: The program that results is not us"),
        ("FILE: src/a.py\n", FIXED, "The answer holds no SEARCH/REPLACE block."),
    ],
)
def test_a_refusal_names_the_file(text: str, rules: ProgramFolder, fact: str) -> None:
    assert refusal(answer(text), rules).fact.startswith(fact)


def test_files_are_added_and_deleted_where_the_task_allows_it() -> None:
    text = "FILE: new/e.py\n" + block("", "e = 1\n") + block("e = 1\n", "e = 2\n") + "DELETE: src/c.py\n"
    assert patched(answer(text), FREE) == PROGRAM.changed({"new/e.py": "e = 2\n", "src/c.py": None})


WHOLE = "FILE: src/a.py\n```python\nx = '''\nFILE: no\n'''\n```\nand\nFILE: src/c.py\n~~~~\n```\n~~~~\n"


@pytest.mark.parametrize("kind", [PatchKind.FULL, PatchKind.CROSS, PatchKind.FIX, PatchKind.DIFF])
def test_whole_files_stand_in_fences(kind: PatchKind) -> None:
    text = WHOLE.replace("~~~~\n```\n", "~~~~\nx = 7\n")
    wanted = PROGRAM.changed({"src/a.py": "x = '''\nFILE: no\n'''\n", "src/c.py": "x = 7\n"})
    assert patched(answer(text, "CODE"), kind=kind) == wanted
    if kind is not PatchKind.DIFF:
        assert patched(text, kind=kind) == wanted
    assert refusal(answer(WHOLE, "CODE"), kind=kind).fact.startswith("FILE: src/c.py: The program that results")


@pytest.mark.parametrize(
    ("text", "reason", "fact"),
    [
        ("x = 1\n", PatchReason.NO_FILE, "The <CODE> section names no file, and the program has several."),
        ("FILE: src/a.py\nx = 1\n", PatchReason.MALFORMED, "The file src/a.py has no text"),
        ("FILE: src/a.py\nFILE: src/c.py\n```\n```\n", PatchReason.MALFORMED, "The file src/a.py has no text"),
        ("FILE: src/a.py\n````\n```\n", PatchReason.TRUNCATED, "The file src/a.py is incomplete"),
        ("FILE: src/a.py\n```\n```\n" * 2, PatchReason.MALFORMED, "The file src/a.py is given twice."),
    ],
)
def test_what_is_wrong_with_whole_files_is_said(text: str, reason: PatchReason, fact: str) -> None:
    error = refusal(answer(text, "CODE"), kind=PatchKind.FULL)
    assert (error.reason, error.fact.startswith(fact)) == (reason, True), error
    assert "SEARCH" not in str(error)


def test_in_a_program_of_one_file_lines_of_files_mean_nothing() -> None:
    patch = parse_patch(answer("FILE: other.py\n" + block("x = 1\n", "x = 2\n")), PatchKind.DIFF)
    assert apply_to_files(patch, Files.single("program.py", "x = 1\n"), None).only == "x = 2\n"


PATHS = st.sampled_from(["a.py", "b.py", "src/a.py", "src/deep/n.c", "README.md", "z"])
PROGRAMS = st.dictionaries(PATHS, BODIES, min_size=1, max_size=4).map(Files.of)


@given(PROGRAMS, PROGRAMS)
def test_a_patch_made_from_two_programs_applies_back(old: Files, new: Files) -> None:
    assume(old != new)
    text = make_files_patch(old, new, FREE, name="Some Name", description=" a\n\nreason ")
    patch = parse_patch(text, PatchKind.DIFF, several=True)
    assert apply_to_files(patch, old, FREE) == new
    assert (patch.name, patch.description) == ("some_name", "a\n\nreason")


LINES = st.sampled_from(
    ["FILE: a.py\n", "FILE: b.py\n", "FILE:\n", "DELETE: b.py\n", "FILE: ../x\n", "```\n", "````\n"]
)


@given(st.lists(st.one_of(PIECES, LINES, STATEMENTS), max_size=12).map("".join), st.sampled_from(PatchKind))
def test_any_answer_is_read_or_refused_and_changes_all_or_nothing(text: str, kind: PatchKind) -> None:
    old = Files.of({"a.py": "x = 1\nx = 2\n", "b.py": "# note\n"})
    try:
        patch = parse_patch(text, kind, several=True)
        new = apply_to_files(patch, old, FREE)
    except PatchError as error:
        assert error.reason in set(PatchReason)
        return
    assert new != old
    named = {edit.path for edit in patch.files}
    assert {path for path in {*old, *new} if old.get(path) != new.get(path)} <= named

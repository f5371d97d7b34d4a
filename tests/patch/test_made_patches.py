"""Patches that are made from two programs, as the offline proposer's are."""

import pytest

from evolve.core.errors import PatchError
from evolve.patch import PatchReason, make_patch
from tests.patch.patching import PROGRAM, TWO, WHOLE, block, patched


def test_a_made_patch_is_small_and_says_who_and_why() -> None:
    new = PROGRAM.replace("total = 0", "total = 1").replace("if a:", "if not a:")
    assert make_patch(PROGRAM, new, name="Two Small Steps", description="because\nof this") == (
        "<NAME>\ntwo_small_steps\n</NAME>\n\n<DESCRIPTION>\nbecause\nof this\n</DESCRIPTION>\n\n<DIFF>\n"
        + block(
            "def low(a):\n    total = 0\n    for i in range(50):\n",
            "def low(a):\n    total = 1\n    for i in range(50):\n",
        )
        + block("def high(a):\n    if a:\n        return 1\n", "def high(a):\n    if not a:\n        return 1\n")
        + "</DIFF>\n"
    )


def test_context_grows_until_a_block_is_unique() -> None:
    program = "# EVOLVE-BLOCK-START\n" + "x = 1\n" * 9 + "y = 1\n" + "x = 1\n" * 9 + "# EVOLVE-BLOCK-END\n"
    lines = program.splitlines(keepends=True)
    new = "".join([*lines[:5], "x = 2\n", *lines[6:]])
    text = make_patch(program, new, name="n", description="d")
    assert patched(text, program) == new
    assert "<CODE>" not in text


@pytest.mark.parametrize("line", ["=======", "<<<<<<< SEARCH", ">>>>>>> REPLACE", "</CODE>", "<CODE>", "```", "<DIFF>"])
def test_lines_that_look_like_markers_go_as_whole_code(line: str) -> None:
    new = PROGRAM.replace("    total = 0\n", f"    total = 0\n    s = '''\n{line}\n'''\n")
    text = make_patch(PROGRAM, new, name="n", description="d")
    assert patched(text) == new
    assert patched(make_patch(new, PROGRAM, name="n", description="d"), new) == PROGRAM


@pytest.mark.parametrize(
    ("old", "new", "description", "reason"),
    [
        (PROGRAM, PROGRAM, "d", PatchReason.NO_CHANGE),
        (PROGRAM, PROGRAM.replace("import math", "import os"), "d", PatchReason.OUTSIDE_BLOCK),
        (PROGRAM, PROGRAM + "x = 1\n", "d", PatchReason.OUTSIDE_BLOCK),
        (PROGRAM, PROGRAM.replace("# EVOLVE-BLOCK-END", "#  EVOLVE-BLOCK-END"), "d", PatchReason.OUTSIDE_BLOCK),
        (PROGRAM, TWO, "d", PatchReason.OUTSIDE_BLOCK),
        (PROGRAM, PROGRAM.replace("total = 0\n", "total = 0\r\n"), "d", PatchReason.INEXPRESSIBLE),
        (PROGRAM, WHOLE, "a </DESCRIPTION> b", PatchReason.INEXPRESSIBLE),
    ],
)
def test_an_edit_that_no_patch_can_say_is_refused(old: str, new: str, description: str, reason: PatchReason) -> None:
    with pytest.raises(PatchError) as caught:
        make_patch(old, new, name="n", description=description)
    assert caught.value.reason == reason

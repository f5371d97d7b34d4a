"""Answers that are whole code instead of blocks."""

import pytest

from evolve.core.program import PatchKind
from evolve.core.python_source import MAX_SOURCE_BYTES
from evolve.patch import PatchReason
from tests.patch.patching import PROGRAM, TWO, WHOLE, answer, block, patched, refusal

INNER = WHOLE.partition("START\n")[2].partition("# EVOLVE-BLOCK-END")[0]


@pytest.mark.parametrize("kind", [PatchKind.FULL, PatchKind.CROSS, PatchKind.FIX])
@pytest.mark.parametrize(
    "text",
    [
        f"<NAME>n</NAME>\n<CODE>\n{WHOLE}</CODE>\n",
        f"<CODE>{WHOLE}</CODE> Done.",
        f"<CODE>\n```python\n{WHOLE}```\n</CODE>",
        f"<CODE>\n```python\n{WHOLE}```\n",
        f"<CODE>\n{WHOLE}",
        f"Look:\n```\nx = 1\n```\nand so\n```python\n{WHOLE}```\nDone.",
        f"~~~~\n{WHOLE}~~~~",
        f"<CODE>\n{INNER}</CODE>",
        f"```\n{INNER}```",
        "<CODE>\n" + WHOLE.replace("# EVOLVE-BLOCK-START\n", "").replace("# EVOLVE-BLOCK-END\n", "") + "</CODE>",
        "<CODE>\n" + WHOLE.replace("import math", "import os").replace("low(1)", "9") + "</CODE>",
        f"<CODE>\n# EVOLVE-BLOCK-START\n{INNER}# EVOLVE-BLOCK-END\n</CODE>",
        answer(block("    total = 0\n", "    total = 5\n")),
    ],
)
def test_whole_code_in_any_dress_gives_the_evolvable_text_and_nothing_else(text: str, kind: PatchKind) -> None:
    assert patched(text, kind=kind) == WHOLE
    assert patched(text.replace("\n", "\r\n"), kind=kind) == WHOLE
    assert patched(text, PROGRAM.replace("\n", "\r\n"), kind) == WHOLE.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"<CODE>\n{INNER}", PatchReason.TRUNCATED),
        (f"<CODE>\n{INNER[:90]}", PatchReason.TRUNCATED),
        (f"```python\nx = 1\n```\nthen\n```python\n{INNER}", PatchReason.TRUNCATED),
        (f"<CODE>\n{WHOLE.partition('# EVOLVE-BLOCK-END')[0]}</CODE>", PatchReason.TRUNCATED),
        (f"<CODE>\n# EVOLVE-BLOCK-END\n{INNER}</CODE>", PatchReason.MALFORMED),
        (f"<CODE>\n{TWO}</CODE>", PatchReason.OUTSIDE_BLOCK),
        (f"<CODE>\n{PROGRAM}</CODE>", PatchReason.NO_CHANGE),
        ("<CODE>\n" + PROGRAM.replace("low(1)", "low(2)") + "</CODE>", PatchReason.NO_CHANGE),
        (f"<CODE>\n{INNER}    (\n</CODE>", PatchReason.INVALID_PYTHON),
        ("<CODE>\n" + "#" * MAX_SOURCE_BYTES + "</CODE>", PatchReason.TOO_LARGE),
    ],
)
def test_whole_code_that_cannot_be_used_is_refused(text: str, reason: PatchReason) -> None:
    assert refusal(text, kind=PatchKind.FULL).reason == reason


def test_whole_code_for_several_blocks_needs_their_markers() -> None:
    new = TWO.replace("b = 2", "b = 3").replace("m = 0", "m = 9")
    assert patched(f"<CODE>\n{new}</CODE>", TWO, PatchKind.FULL) == TWO.replace("b = 2", "b = 3")
    assert refusal("<CODE>\na = 2\n</CODE>", TWO, PatchKind.FULL).reason == PatchReason.OUTSIDE_BLOCK

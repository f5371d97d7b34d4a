"""Hostile sizes: quadratic work on any of these would take minutes."""

import pytest

from evolve.core.program import PatchKind
from evolve.patch import PatchReason
from tests.patch.patching import block, refusal


@pytest.mark.parametrize(
    "unit",
    [
        "<<<<<<< SEARC\n",
        "=======\n",
        "<NAME>\n",
        "<NAME></NAME>",
        "<DESCRIPTION>\n",
        "<CODE>\n",
        "<CODE></CODE>",
        "> <",
        "<",
        " ",
        "\n",
        "\r",
        "```\n",
        "``` x ",
        "~",
        "\0",
        "\udc80",
    ],
)
@pytest.mark.parametrize("kind", [PatchKind.DIFF, PatchKind.FULL])
def test_millions_of_near_markers_are_refused(unit: str, kind: PatchKind) -> None:
    refusal(unit * (1_000_000 // len(unit)), kind=kind)


@pytest.mark.parametrize(
    "text",
    [
        "<NAME>\n" * 200_000 + "</NAME>",
        "~" * 1_000_000 + "x" * 1_000_000 + "`",
        "```" + " " * 2_000_000 + "x`",
        "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE" + " " * 2_000_000 + "x",
        block("x = 1\n" * 300_000, ""),
        block("x" * 2_000_000 + "\n", ""),
        block("", "x = 1\n" * 300_000),
    ],
)
def test_huge_parts_are_refused(text: str) -> None:
    refusal(text)


def test_repetitive_programs_are_searched_fast() -> None:
    program = "# EVOLVE-BLOCK-START\n" + "x\n\ty\n" * 10_000 + "# EVOLVE-BLOCK-END\n"
    assert refusal(block("x\n y\n" * 5_000, ""), program).reason == PatchReason.NO_MATCH
    assert refusal(block("  x\n  \ty\n" * 5_000, ""), program).reason == PatchReason.AMBIGUOUS
    assert refusal(block("x\n\ty\n" * 5_000 + "z\n", ""), program).reason == PatchReason.NO_MATCH

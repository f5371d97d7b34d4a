"""The patch format and its rules: read in full, applied whole or refused with a reason that helps."""

from pathlib import Path

import pytest

from evolve.core.errors import PatchError, ProgramError
from evolve.core.program import PatchKind
from evolve.core.python_source import MAX_SOURCE_BYTES
from evolve.patch import Block, Patch, PatchReason, apply_patch, make_patch, parse_patch
from tests.patch.patching import PROGRAM, TWO, answer, block, patched, refusal

SAMPLES = Path(__file__).parent.parent / "data" / "patches"


# --- the samples: real answers


@pytest.mark.parametrize(
    ("file", "name", "begins", "ends"),
    [
        (
            "patch_local_search_refinement.txt",
            "local_search_refinement",
            "Implement a post-processing local search refinement step after the binary search.",
            "",
        ),
        (
            "patch_refine_peak.txt",
            "refine_peak_and_tuned_local",
            "Add a lightweight donation-first refinement step (refine_peak)",
            "",
        ),
    ],
)
def test_a_real_answer_is_read_in_full(file: str, name: str, begins: str, ends: str) -> None:
    text = (SAMPLES / file).read_bytes().decode()
    patch = parse_patch(text, PatchKind.DIFF)
    assert patch.name == name
    assert patch.description.startswith(begins)
    assert f"<DESCRIPTION>\n{patch.description}\n</DESCRIPTION>" in text
    assert patch.source is None
    (only,) = patch.blocks
    # No text is lost: what was read, put between the markers again, is the answer byte for byte.
    assert text.partition("<DIFF>\n")[2].rpartition("</DIFF>")[0].rstrip("\n") + "\n" == block(
        only.search, only.replace
    )


@pytest.mark.parametrize("file", ["patch_local_search_refinement.txt", "patch_refine_peak.txt"])
def test_a_real_answer_applies_to_a_program_that_holds_its_search(file: str) -> None:
    text = (SAMPLES / file).read_text()
    (only,) = parse_patch(text, PatchKind.DIFF).blocks
    parent = f"# EVOLVE-BLOCK-START\ndef solve(gpu_num, models):\n    pass\n{only.search}# EVOLVE-BLOCK-END\n"
    assert patched(text, parent) == parent.replace(only.search, only.replace)


def test_a_truncated_answer_is_refused_whole_with_the_reason() -> None:
    text = (SAMPLES / "patch_truncated.txt").read_text()
    with pytest.raises(PatchError) as caught:
        parse_patch(text, PatchKind.DIFF)
    assert caught.value.reason == PatchReason.TRUNCATED
    assert "Block 2" in str(caught.value)
    assert "def _iterated_local_search(gpu_num, placement):" in str(caught.value)
    assert "Nothing was applied" in str(caught.value)


# --- reading


def test_name_and_description_may_stand_on_one_line_and_text_around() -> None:
    text = (
        "I thought about it.\n=======\n<NAME> Faster Loop! </NAME>  <DESCRIPTION> it is\n\nslow </DESCRIPTION>\n"
        "Here it is:\n```diff\n" + block("a\n", "b\n") + "```\nDone."
    )
    patch = parse_patch(text, PatchKind.DIFF)
    assert patch == Patch(
        kind=PatchKind.DIFF,
        name="faster_loop",
        description="it is\n\nslow",
        blocks=(Block(search="a\n", replace="b\n"),),
    )


@pytest.mark.parametrize("tag", ["</NAME>", "</DESCRIPTION>", "</DIFF>"])
def test_a_closing_tag_may_be_missing(tag: str) -> None:
    text = answer(block("    return 2\n", ""), block("a\n", "b\n"))
    whole, cut = parse_patch(text, PatchKind.DIFF), parse_patch(text.replace(tag, ""), PatchKind.DIFF)
    assert whole == cut
    assert (cut.name, cut.description, len(cut.blocks)) == ("name", "why", 2)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("", "unnamed"),
        ("  \n  ", "unnamed"),
        ("Two-Opt + swapMoves v2", "two_opt_swap_moves_v2"),
        ("x" * 1_000_000, "x" * 76 + "_cut"),
        ("\x1b[31mred\x1b[0m\nCo-authored-by: me", "31mred_0m"),
        ("../../etc", "etc"),
        ("名前", "unnamed"),
        ("\udc80a\0b", "a_b"),
    ],
)
def test_a_name_becomes_short_snake_case(given: str, name: str) -> None:
    text = f"<NAME>{given}</NAME>\n{block('a', 'b')}".replace("a=", "a\n=").replace("b>", "b\n>")
    assert parse_patch(text, PatchKind.DIFF).name == name


def test_a_description_that_talks_of_the_format_is_only_a_description() -> None:
    text = answer(block("    total = 0\n", "    total = 1\n")).replace(
        "why", "uses\n<<<<<<< SEARCH\nblocks\n<DIFF>\nand <CODE>"
    )
    assert "total = 1" in patched(text)


def test_without_name_and_description_there_are_defaults() -> None:
    patch = parse_patch(block("a\n", "b\n"), PatchKind.DIFF)
    assert (patch.name, patch.description) == ("unnamed", "")


@pytest.mark.parametrize("kind", list(PatchKind))
@pytest.mark.parametrize("text", ["", "I cannot help with that.", "<DIFF>\n</DIFF>", "<CODE>\n\n</CODE>", "```\n\n```"])
def test_an_answer_without_a_patch_is_refused(kind: PatchKind, text: str) -> None:
    assert refusal(text, kind=kind).reason == PatchReason.NO_PATCH


def test_fenced_code_is_no_answer_to_a_question_for_blocks() -> None:
    assert refusal("```python\nx = 1\n```\n").reason == PatchReason.NO_PATCH


GOOD = block("    total = 0\n", "    total = 1\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (GOOD + "<<<<<<< SEARCH\n    return total\n", PatchReason.TRUNCATED),
        (GOOD + "<<<<<<< SEARCH", PatchReason.TRUNCATED),
        (GOOD + "<<<<<<< SEARCH\n    return total\n=======\n", PatchReason.TRUNCATED),
        (GOOD + "<<<<<<< SEARCH\n    return total\n=======\n    return 1\n>>>>>>> REPLAC", PatchReason.TRUNCATED),
        (GOOD + "<<<<<<< SEARCH\n    return total\n======\n    return 1\n", PatchReason.TRUNCATED),
        ("<<<<<<< SEARCH\n    return total\n" + GOOD, PatchReason.TRUNCATED),
        ("<<<<<<< SEARCH\n    return total\n=======\n" + GOOD, PatchReason.TRUNCATED),
        ("<<<<<<< SEARCH\n    return total\n=======\n    return 1\n</DIFF>\n", PatchReason.TRUNCATED),
        ("<<<<<<< SEARCH\n    return total\n>>>>>>> REPLACE\n" + GOOD, PatchReason.MALFORMED),
        (block("a\n", "b\n=======\nc\n"), PatchReason.MALFORMED),
        (GOOD + "<<<<<< SEARCH\n    return total\n=======\n    return 1\n>>>>>>> REPLACE\n", PatchReason.MALFORMED),
        (GOOD + " <<<<<<< SEARCH\n    return total\n=======\n    return 1\n>>>>>>> REPLACE\n", PatchReason.MALFORMED),
        (GOOD + "<<<<<<< SEARCH:\n    return total\n=======\n    return 1\n>>>>>>> REPLACE\n", PatchReason.MALFORMED),
        (GOOD + "    return total\n=======\n    return 1\n>>>>>>> REPLACE\n", PatchReason.MALFORMED),
        (GOOD + "<CODE>\nx = 1\n</CODE>\n", PatchReason.MALFORMED),
        (GOOD * 300, PatchReason.TOO_LARGE),
    ],
)
def test_half_a_patch_is_never_applied(text: str, reason: PatchReason) -> None:
    refused = refusal(text)
    assert refused.reason == reason
    assert "Nothing was applied" in str(refused)


# --- applying


def test_an_exact_block_replaces_its_lines() -> None:
    assert patched(answer(GOOD)) == PROGRAM.replace("total = 0", "total = 1")


def test_blocks_apply_in_order_each_to_what_the_last_one_left() -> None:
    text = answer(GOOD, block("    total = 1\n", "    total = 2\n    more = 3\n"), block("    more = 3\n", ""))
    assert patched(text) == PROGRAM.replace("total = 0", "total = 2")


def test_an_exact_match_goes_before_a_looser_one() -> None:
    program = PROGRAM.replace("        return 1\n", "        return 2\n")
    assert patched(answer(block("        return 2\n", "        return 3\n")), program) == program.replace(
        "        return 2", "        return 3"
    )


def test_trailing_blanks_do_not_matter() -> None:
    text = answer(block("    total = 0  \n    for i in range(50):\t\n", "    total = 1\n    for i in range(50):\n"))
    assert patched(text) == PROGRAM.replace("total = 0", "total = 1")
    program = PROGRAM.replace("total = 0\n", "total = 0 \n")
    assert patched(answer(GOOD), program) == PROGRAM.replace("total = 0", "total = 1")


@pytest.mark.parametrize("indentation", ["", "  ", "        ", "\t"])
def test_common_indentation_does_not_matter_and_the_replacement_is_moved(indentation: str) -> None:
    search = "for i in range(50):\n    total += i\n"
    replace = "for i in range(50):\n\n    total += i\n    if i:\n        break\n"

    def moved(text: str) -> str:
        return "".join(indentation + line if line.strip() else line for line in text.splitlines(keepends=True))

    expected = PROGRAM.replace(
        "    for i in range(50):\n        total += i\n",
        "    for i in range(50):\n\n        total += i\n        if i:\n            break\n",
    )
    assert patched(answer(block(moved(search), moved(replace)))) == expected


def test_a_replacement_may_stand_further_left_than_its_search_if_the_program_allows() -> None:
    text = answer(block("            total += i\n", "            total += i\n        more = 7\n"))
    assert patched(text) == PROGRAM.replace("total += i\n", "total += i\n    more = 7\n")
    left = answer(block("            total += i\n", "    pass\n"))
    assert refusal(left).reason == PatchReason.INVALID_PYTHON
    too_far = answer(block("            total += i\n", "  pass\n"))
    assert refusal(too_far).reason == PatchReason.NO_MATCH


def test_indentation_that_differs_within_the_lines_is_no_match() -> None:
    text = answer(block("for i in range(50):\n  total += i\n", "pass\n"))
    assert refusal(text).reason == PatchReason.NO_MATCH


def test_crlf_in_answer_or_program_makes_no_difference() -> None:
    crlf = PROGRAM.replace("\n", "\r\n")
    text = answer(block("    total = 0\n", "    total = 1\n\n    more = 2\n"), block("", "extra = 1\n"))
    result = patched(text)
    assert patched(text.replace("\n", "\r\n")) == result
    assert patched(text, crlf) == result.replace("\n", "\r\n")
    assert patched(text.replace("\n", "\r\n"), crlf) == result.replace("\n", "\r\n")


def test_lines_that_a_block_repeats_keep_their_own_ends() -> None:
    program = PROGRAM.replace("    total = 0\n", "    total = 0\r\n").replace("total += i\n", "total += i  \n")
    text = answer(
        block(
            "    total = 0\n    for i in range(50):\n        total += i\n",
            "    total = 0\n    for i in range(60):\n        total += i\n",
        )
    )
    assert patched(text, program) == program.replace("50", "60")


def test_an_empty_replace_deletes() -> None:
    assert patched(answer(block("def other(a):\n    return 2\n", ""))) == PROGRAM.replace(
        "def other(a):\n    return 2\n", ""
    )


@pytest.mark.parametrize("search", ["", "\n", "   \n\n"])
def test_an_empty_search_appends_before_the_end_of_the_block(search: str) -> None:
    end = "# EVOLVE-BLOCK-END"
    assert patched(answer(block(search, "\nx = 1\n"))) == PROGRAM.replace(end, f"\nx = 1\n{end}")


def test_markers_quoted_as_context_are_ignored() -> None:
    text = answer(
        block(
            "# EVOLVE-BLOCK-START\ndef low(a):\n    total = 0\n", "# EVOLVE-BLOCK-START\ndef low(a):\n    total = 1\n"
        )
    )
    assert patched(text) == PROGRAM.replace("total = 0", "total = 1")
    text = answer(block("def other(a):\n    return 2\n# EVOLVE-BLOCK-END\n", "# EVOLVE-BLOCK-END\n"))
    assert patched(text) == PROGRAM.replace("def other(a):\n    return 2\n", "")


@pytest.mark.parametrize(
    ("text", "reason", "says"),
    [
        (block("    return 2\n", "    return 3\n"), PatchReason.AMBIGUOUS, "lines 13, 16"),
        (block("def main():\n", "def main(a):\n"), PatchReason.OUTSIDE_BLOCK, "Only lines 4-16"),
        (block("import math\n", ""), PatchReason.OUTSIDE_BLOCK, "at line 1"),
        (block("  return low(1)\n", "  return 1\n"), PatchReason.OUTSIDE_BLOCK, "at line 20"),
        (
            block("    return 2\n# EVOLVE-BLOCK-END\n", "    return 3\n"),
            PatchReason.OUTSIDE_BLOCK,
            "between the markers",
        ),
        (block("# EVOLVE-BLOCK-END\n", ""), PatchReason.OUTSIDE_BLOCK, "between the markers"),
        (block("# EVOLVE-BLOCK-START\n", "# EVOLVE-BLOCK-START\nx = 1\n"), PatchReason.OUTSIDE_BLOCK, "nothing but"),
        (block("    total = 0\n", "    total = 1\n# EVOLVE-BLOCK-END\nx = 1\n"), PatchReason.OUTSIDE_BLOCK, "marker"),
        (block("", "# EVOLVE-BLOCK-END\nx = 1\n# EVOLVE-BLOCK-START\n"), PatchReason.OUTSIDE_BLOCK, "marker"),
        (block("total\n", "x\n"), PatchReason.NO_MATCH, "Block 1 of 1"),
        (block("-+\n", "x\n"), PatchReason.NO_MATCH, "`-+`"),
        (block("    total = 0\n", "    total = 0\n"), PatchReason.NO_CHANGE, "exactly as it is"),
        (block("    total = 0\n", "    total = 0\n") * 2, PatchReason.NO_CHANGE, "exactly as it is"),
        (block("", ""), PatchReason.NO_CHANGE, "exactly as it is"),
        (block("", "#" * MAX_SOURCE_BYTES + "\n"), PatchReason.TOO_LARGE, "65536"),
        (block("    total = 0\n", "    total = (\n"), PatchReason.INVALID_PYTHON, "5 |     total = ("),
        (block("", "x = " + "-" * 60_000 + "1\n"), PatchReason.INVALID_PYTHON, "nested"),
        (block("", "x = '\0'\n"), PatchReason.INVALID_PYTHON, "null"),
        (block("", "x = '\udc80'\n"), PatchReason.INVALID_PYTHON, "UTF-8"),
        (block("", "x = 1" + " + 1" * 300 + "\n"), PatchReason.INVALID_PYTHON, "more than 200 levels deep"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_reason(text: str, reason: PatchReason, says: str) -> None:
    refused = refusal(answer(GOOD.replace("total = 1", "total = 0"), text))
    refused_alone = refusal(text)
    assert refused.reason == refused_alone.reason == reason
    assert says in str(refused_alone)
    str(refused_alone).encode("utf-8")  # it can be sent


def test_a_second_block_that_fails_undoes_the_first() -> None:
    refused = refusal(answer(GOOD, block("    return tota\n", "    return 1\n")))
    assert "Block 2 of 2" in str(refused)
    assert "the blocks before it" in str(refused)


def test_the_message_for_a_search_that_does_not_match_shows_the_nearest_lines() -> None:
    text = answer(block("    total = 0\n    for i in range(51):\n        total += i\n", "    pass\n"))
    assert (
        str(refusal(text))
        == """\
Block 1 of 1: its SEARCH text is not in the evolvable part of the program.
Its SEARCH begins: `    total = 0`
The nearest lines, as a diff from your SEARCH to the program:
--- the SEARCH lines
+++ the program, lines 4-8
     4 | def low(a):
     5 |     total = 0
-      |     for i in range(51):
+    6 |     for i in range(50):
     7 |         total += i
     8 |     return total
Copy whole lines exactly from the program. Nothing was applied: send the whole patch again."""
    )


def test_a_single_line_that_is_only_similar_is_shown_but_never_applied() -> None:
    refused = refusal(answer(block("    total = 00\n", "    total = 1\n")))
    assert refused.reason == PatchReason.NO_MATCH
    assert "+    5 |     total = 0" in str(refused)


def test_every_evolve_block_may_change_and_uniqueness_counts_over_all() -> None:
    assert patched(answer(block("b = 2\n", "b = 3\n")), TWO) == TWO.replace("b = 2", "b = 3")
    assert refusal(answer(block("a = 1\n", "a = 2\n")), TWO).reason == PatchReason.AMBIGUOUS
    assert refusal(answer(block("", "a = 2\n")), TWO).reason == PatchReason.AMBIGUOUS


def test_a_match_does_not_span_two_evolve_blocks() -> None:
    program = TWO.replace("m = 0\n", "")
    assert refusal(answer(block("b = 2\na = 1\n", "c = 1\n")), program).reason == PatchReason.NO_MATCH


def test_an_equal_line_outside_does_not_make_a_match_ambiguous() -> None:
    program = PROGRAM.replace("import math\n", "import math\ntotal = 0\n    \n")
    assert patched(answer(block("    total = 0\n", "    total = 1\n")), program).count("total = 1") == 1


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_program_without_markers_may_change_from_its_first_line_to_its_last(end: str) -> None:
    program = f"import math\nx = 1{end}"
    whole = f"import cmath\nx = 2{end}"
    assert patched(answer(block("import math\n", "import cmath\n") + block("x = 1\n", "x = 2\n")), program) == whole
    assert patched(answer(block("", "y = 1\n")), program) == f"import math\nx = 1\ny = 1{end}"
    assert patched("<CODE>\nimport cmath\nx = 2\n</CODE>", program) == whole
    patch = make_patch(program, whole, name="a", description="")
    assert apply_patch(parse_patch(patch, PatchKind.DIFF), program) == whole


def test_a_program_without_markers_gets_none() -> None:
    code = "<CODE>\n# EVOLVE-BLOCK-START\nx = 2\n# EVOLVE-BLOCK-END\n</CODE>"
    for text in (answer(block("x = 1\n", "# EVOLVE-BLOCK-START\nx = 2\n# EVOLVE-BLOCK-END\n")), code):
        with pytest.raises(PatchError) as refused:
            patched(text, "x = 1\n")
        assert refused.value.reason == PatchReason.OUTSIDE_BLOCK


def test_a_broken_evolve_block_is_the_users_mistake() -> None:
    with pytest.raises(ProgramError):
        patched(answer(GOOD), "# EVOLVE-BLOCK-START\nx = 1\n")

"""Patches under arbitrary answers and arbitrary edits: all or nothing, and back again."""

from hypothesis import assume, example, given
from hypothesis import strategies as st

from evolve.core.errors import PatchError
from evolve.core.program import PatchKind, evolve_regions, normalised_hash, split_lines
from evolve.core.python_source import parsed
from evolve.patch import PatchReason, apply_patch, make_patch, parse_patch
from evolve.patch.format import format_patch
from tests.patch.pieces import BODIES, PIECES

EDGES = st.lists(st.sampled_from(["x = 1\n", "import math\n", "\n", "x = 2\n"]), max_size=2).map("".join)
ENDS = st.sampled_from(["\n", "\r\n"])


def framed(edges: list[str], bodies: list[str]) -> str:
    parts = [edges[0]]
    for body, edge in zip(bodies, edges[1:], strict=True):
        parts += ["# EVOLVE-BLOCK-START\n", body, "# EVOLVE-BLOCK-END\n", edge]
    return "".join(parts)


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, str]:
    """Two programs that differ within their evolve blocks at most, with one kind of line end."""
    count = draw(st.integers(1, 2))
    edges = draw(st.lists(EDGES, min_size=count + 1, max_size=count + 1))
    old = draw(st.lists(BODIES, min_size=count, max_size=count))
    new = [draw(st.one_of(BODIES, st.just(body), st.builds(str.__add__, BODIES, st.just(body)))) for body in old]
    end = draw(ENDS)
    return tuple(framed(edges, bodies).replace("\n", end) for bodies in (old, new))  # type: ignore[return-value]


def frame(source: str) -> list[str]:
    lines, parts, last = split_lines(source), [], 0
    for region in evolve_regions(source):
        parts.append("".join(lines[last : region.start]))
        last = region.stop
    return [*parts, "".join(lines[last:])]


@given(edits())
def test_a_patch_made_from_any_edit_applies_back(edit: tuple[str, str]) -> None:
    old, new = edit
    assume(old != new)
    patch = parse_patch(make_patch(old, new, name="Some Name", description=" a\n\nreason "), PatchKind.DIFF)
    assert apply_patch(patch, old) == new
    assert (patch.name, patch.description) == ("some_name", "a\n\nreason")


ANSWERS = st.lists(PIECES, max_size=12).map("".join)


@given(st.one_of(ANSWERS, st.text()), edits(), st.sampled_from(list(PatchKind)))
def test_whatever_the_answer_a_patch_applies_whole_or_not_at_all(
    answer: str, edit: tuple[str, str], kind: PatchKind
) -> None:
    parent, _ = edit
    try:
        result = apply_patch(parse_patch(answer, kind), parent)
    except PatchError as refused:
        assert refused.reason in set(PatchReason)
        str(refused).encode("utf-8")
        return
    assert result != parent
    assert frame(result) == frame(parent)
    parsed(result)
    normalised_hash(result)


@given(edits(), st.data())
def test_a_patch_cut_anywhere_gives_the_same_program_or_none(edit: tuple[str, str], data: st.DataObject) -> None:
    old, new = edit
    assume(old != new)
    text = make_patch(old, new, name="n", description="d")
    cut = text[: data.draw(st.integers(0, len(text)))]
    try:
        patch = parse_patch(cut, PatchKind.DIFF)
        result = apply_patch(patch, old)
    except PatchError:
        return
    # A cut between two complete blocks looks like a shorter patch: then a whole block is missing, no less.
    assert result == new or patch.blocks == parse_patch(text, PatchKind.DIFF).blocks[: len(patch.blocks)]


@given(edits(), st.sampled_from(["crlf", "fence", "prose", "no closing tags", "blanks"]))
@example(
    ("# EVOLVE-BLOCK-START\nx = 1\n# EVOLVE-BLOCK-END\n", "# EVOLVE-BLOCK-START\nx = 2\n# EVOLVE-BLOCK-END\n"), "blanks"
)
def test_the_dress_of_an_answer_makes_no_difference(edit: tuple[str, str], dress: str) -> None:
    old, new = edit
    assume(old != new)
    text = make_patch(old, new, name="n", description="d")
    if dress == "crlf":
        text = text.replace("\n", "\r\n")
    elif dress == "fence":
        text = f"```text\n{text}```\n"
    elif dress == "prose":
        text = f"Here it is.\n\n{text}\nI hope that it helps.\n"
    elif dress == "no closing tags":
        assume("<CODE>\n" not in text)  # code without its closing tag counts as cut off
        text = text.replace("</NAME>", "", 1).replace("</DESCRIPTION>", "", 1)
        text = "\n".join(text.rsplit("\n</DIFF>\n", 1))  # the last one: the program's own lines stay as they are
    else:
        patch = parse_patch(text, PatchKind.DIFF)
        assume(patch.blocks)
        blanks = [line for block in patch.blocks for line in block.search.split("\n") if line != line.rstrip()]
        assume(not blanks and "x = 1 " not in old)  # else the blanks that are added may be the ones that tell
        for block in patch.blocks:
            head = f"<<<<<<< SEARCH\n{block.search}"
            text = text.replace(head, head.replace("\n", " \t\n").replace("SEARCH \t", "SEARCH"), 1)
    assert apply_patch(parse_patch(text, PatchKind.DIFF), old) == new


@given(edits())
def test_reading_what_was_written_gives_the_same_patch(edit: tuple[str, str]) -> None:
    old, new = edit
    assume(old != new)
    patch = parse_patch(make_patch(old, new, name="n", description="d"), PatchKind.DIFF)
    assert parse_patch(format_patch(patch), PatchKind.DIFF) == patch

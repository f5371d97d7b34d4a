"""Patches made from two versions of a program."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from evaluator.program_files import Files, ProgramFolder
from evolve.core.errors import PatchError
from evolve.core.program import PatchKind
from evolve.patch.apply import apply_to_files, edited
from evolve.patch.format import (
    MAX_BLOCKS,
    Block,
    FileEdit,
    Patch,
    PatchReason,
    format_patch,
    normalised_name,
    parse_patch,
)
from evolve.patch.match import Level, places
from evolve.patch.text import EvolvingText, bare, common_ends

_MAX_DIFF_CELLS = 1_000_000  # beyond it, a changed stretch becomes one block instead of being compared line by line


def make_patch(old: str, new: str, *, name: str, description: str) -> str:
    """The answer text that turns `old` into `new`: small blocks, each with the lines around it that make it unique.

    If blocks cannot hold the changed lines (they look like markers, or there are too many), the answer holds the whole
    program in `<CODE>`. `apply_patch` checks whether `new` is valid. Raises PatchError: `outside_block` if immutable
    text differs, `no_change`, or `inexpressible` if only line ends differ, or if name or description hold a line of the
    format; and ProgramError if a program's evolve blocks are broken.
    """
    before, after = EvolvingText.of(old), EvolvingText.of(new)
    if old == new:
        raise PatchError(PatchReason.NO_CHANGE, "The two programs are equal: there is nothing to patch.")
    if before.frames != after.frames:
        raise PatchError(PatchReason.OUTSIDE_BLOCK, "The two programs differ outside their evolve blocks.")
    title, reason = normalised_name(name), description.replace("\r", "").strip()
    blocks = _blocks_between(before, after)
    for candidate in (
        Patch(kind=PatchKind.DIFF, name=title, description=reason, blocks=blocks or ()),
        Patch(kind=PatchKind.DIFF, name=title, description=reason, blocks=(), source=new.replace("\r\n", "\n")),
    ):
        answer = format_patch(candidate)
        if (candidate.blocks or candidate.source is not None) and _expresses(answer, candidate, old, new):
            return answer
    raise PatchError(
        PatchReason.INEXPRESSIBLE,
        "The edit cannot be written as a patch: it changes line ends, or its name or description holds a line of the "
        "patch format.",
    )


def make_files_patch(old: Files, new: Files, rules: ProgramFolder | None, *, name: str, description: str) -> str:
    """The answer text that turns the program `old` into `new`, both of several files; of one file (no `rules`), see
    `make_patch`. Raises PatchError and ProgramError as that does."""
    if rules is None:
        return make_patch(old.only, new.only, name=name, description=description)
    if old == new:
        raise PatchError(PatchReason.NO_CHANGE, "The two programs are equal: there is nothing to patch.")
    title, reason = normalised_name(name), description.replace("\r", "").strip()
    for edits in (_edits_by_blocks(old, new), _edits_by_code(old, new)):
        if edits is None:
            continue
        meant = Patch(kind=PatchKind.DIFF, name=title, description=reason, files=edits)
        answer = format_patch(meant)
        try:
            read = parse_patch(answer, PatchKind.DIFF, several=True)
            if (read.name, read.description) == (title, reason) and apply_to_files(read, old, rules) == new:
                return answer
        except PatchError:
            continue
    raise PatchError(
        PatchReason.INEXPRESSIBLE,
        "The edit cannot be written as a patch: it changes line ends, immutable text or files that may not change, or "
        "its name or description holds a line of the patch format.",
    )


def _differing(old: Files, new: Files) -> Iterator[str]:
    return (path for path in sorted({*old, *new}) if old.get(path) != new.get(path))


def _edits_by_blocks(old: Files, new: Files) -> tuple[FileEdit, ...] | None:
    """The change as blocks; None where there are none, or too many."""
    edits: list[FileEdit] = []
    for path in _differing(old, new):
        if path not in new:
            edits.append(FileEdit(path=path))
            continue
        blocks: tuple[Block, ...] | None = (Block(search="", replace=new[path]),)
        if path in old:
            before, after = EvolvingText.of(old[path]), EvolvingText.of(new[path])
            blocks = _blocks_between(before, after) if before.frames == after.frames else None
        if not blocks:
            return None
        edits.append(FileEdit(path=path, blocks=blocks))
    return tuple(edits) if sum(len(edit.blocks) for edit in edits) <= MAX_BLOCKS else None


def _edits_by_code(old: Files, new: Files) -> tuple[FileEdit, ...]:
    """The change as whole files."""
    return tuple(
        FileEdit(path=path, source=new[path].replace("\r\n", "\n") if path in new else None)
        for path in _differing(old, new)
    )


def _expresses(answer: str, meant: Patch, old: str, new: str) -> bool:
    try:
        read = parse_patch(answer, PatchKind.DIFF)
        return (read.name, read.description) == (meant.name, meant.description) and edited(read, old) == new
    except PatchError:
        return False


def _blocks_between(before: EvolvingText, after: EvolvingText) -> tuple[Block, ...] | None:
    """Blocks that turn the regions of `before` into those of `after`, in order; None if there is no such list. Each
    block is unique in the text that the ones before it leave."""
    now = [bare(region) for region in before.regions]
    blocks: list[Block] = []
    for index, region in enumerate(after.regions):
        new = bare(region)
        shift = 0
        for i1, i2, j1, j2 in _changes(now[index], new):
            if len(blocks) == MAX_BLOCKS:
                return None
            first, last = i1 + shift, i2 + shift
            window = _unique_window(now, index, first, last)
            if window is None:
                return None
            start, stop = window
            lines = now[index]
            replaced = [*lines[start:first], *new[j1:j2], *lines[last:stop]]
            blocks.append(Block(search=_section(lines[start:stop]), replace=_section(replaced)))
            lines[start:stop] = replaced
            shift += (j2 - j1) - (i2 - i1)
    return tuple(blocks) or None


def _section(lines: Sequence[str]) -> str:
    return "".join(line + "\n" for line in lines)


def _changes(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """The changed stretches old[i1:i2] -> new[j1:j2]; those at most two lines apart are joined."""
    head, tail = common_ends(old, new)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if not a and not b:
        return []
    if len(a) * len(b) > _MAX_DIFF_CELLS:
        return [(head, head + len(a), head, head + len(b))]
    changes: list[tuple[int, int, int, int]] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b).get_opcodes():
        if tag == "equal":
            continue
        if changes and i1 + head - changes[-1][1] <= 2:
            changes[-1] = (changes[-1][0], i2 + head, changes[-1][2], j2 + head)
        else:
            changes.append((i1 + head, i2 + head, j1 + head, j2 + head))
    return changes


def _unique_window(regions: list[list[str]], index: int, first: int, last: int) -> tuple[int, int] | None:
    """Lines around regions[index][first:last] that occur nowhere else: their start and stop; None without any.

    One line of context on either side makes a block readable; more are taken until the text is unique.
    """
    lines = regions[index]
    context = 1
    while True:
        start, stop = max(0, first - context), min(len(lines), last + context)
        window = lines[start:stop]
        if any(line.strip() for line in window):
            level, matches = places(window, regions)
            if level is Level.EXACT and len(matches) == 1:
                return start, stop
        if start == 0 and stop == len(lines):
            return None
        context += 1 + context // 4

"""Patches: applied to a program whole or not at all, and made from two versions of one.

    parse_patch    answer text -> Patch             (evolve.patch_format)
    apply_patch    Patch, source -> new source
    make_patch     old source, new source -> answer text

All three raise PatchError, whose `reason` is a PatchReason and whose message tells the model what to mend.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from evolve.errors import PatchError, ProgramError
from evolve.patch_format import (
    MAX_BLOCKS,
    Block,
    Patch,
    PatchReason,
    format_patch,
    normalised_name,
    parse_patch,
    shown,
)
from evolve.patch_match import Level, Place, nearest_lines, places, reindented
from evolve.program import (
    MAX_SOURCE_BYTES,
    PatchKind,
    check_python,
    check_size,
    evolve_regions,
    marker,
    split_lines,
)

__all__ = ["Block", "Patch", "PatchReason", "apply_patch", "make_patch", "parse_patch"]

_AGAIN = "Nothing was applied: send the whole patch again."
_MAX_DIFF_CELLS = 1_000_000  # beyond it, a changed stretch becomes one block instead of being compared line by line


def apply_patch(patch: Patch, source: str) -> str:
    """The program that the patch makes of `source`; raises PatchError, and changes nothing, if any part does not fit.

    Blocks apply in order, each to the text that the ones before it left; that text may at no time exceed 64 KiB.
    Lines that a block repeats at its beginning and end stay as they stand in the program; new lines get the line end
    that most lines of the program have. A SEARCH of blanks alone counts as empty and appends before the block's end.
    Markers that both sides of a block begin or end with are taken for context and ignored.

    Whole code replaces the evolvable text only. With as many evolve blocks as the program it gives their contents,
    and its immutable text is ignored; without any, and in a program with one block, it is that block's content, less
    the program's immutable beginning and end if it repeats them.

    Raises ProgramError if `source` itself has no evolve block, or a broken one.
    """
    result = _edited(patch, source)
    if result == source:
        raise PatchError(
            PatchReason.NO_CHANGE,
            "The patch leaves the program exactly as it is"
            + (" (text outside the EVOLVE-BLOCK is never changed)" if patch.source is not None else "")
            + ". Send a patch that changes something.",
        )
    try:
        check_size(result)
        check_python(result)
    except ProgramError as error:
        raise PatchError(PatchReason.INVALID_PYTHON, _invalid(error, result)) from None
    return result


def make_patch(old: str, new: str, *, name: str, description: str) -> str:
    """The answer text that makes `new` of `old`: small blocks, each with the lines around it that make it unique.

    If the changed lines cannot stand in blocks (they look like markers, or there are too many) the answer holds the
    whole program in `<CODE>`. Whether `new` is a valid program is left to `apply_patch`. Raises PatchError:
    `outside_block` if immutable text differs, `no_change`, or `inexpressible` if only line ends differ, or if name or
    description hold a line of the format; and ProgramError if a program's evolve blocks are broken.
    """
    before, after = _Text.of(old), _Text.of(new)
    if old == new:
        raise PatchError(PatchReason.NO_CHANGE, "The two programs are equal: there is nothing to patch.")
    if before.frames != after.frames:
        raise PatchError(PatchReason.OUTSIDE_BLOCK, "The two programs differ outside their evolve blocks.")
    title, reason = normalised_name(name), description.strip()
    blocks = _blocks_between(before, after)
    for candidate in (
        Patch(kind=PatchKind.DIFF, name=title, description=reason, blocks=blocks or ()),
        Patch(kind=PatchKind.DIFF, name=title, description=reason, blocks=(), source=new.replace("\r\n", "\n")),
    ):
        answer = format_patch(candidate)
        if (candidate.blocks or candidate.source is not None) and _says(answer, candidate, old, new):
            return answer
    raise PatchError(
        PatchReason.INEXPRESSIBLE,
        "The edit cannot be written as a patch: it changes line ends, or its name or description holds a line of the "
        "patch format.",
    )


def _says(answer: str, meant: Patch, old: str, new: str) -> bool:
    try:
        read = parse_patch(answer, PatchKind.DIFF)
        return (read.name, read.description) == (meant.name, meant.description) and _edited(read, old) == new
    except PatchError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A program being edited: immutable texts around evolvable lines. `frames` has one element more than `regions`.

    The lists in `regions` change; lines keep their ends.
    """

    frames: tuple[str, ...]
    regions: list[list[str]]
    end: str  # the line end of new lines

    @classmethod
    def of(cls, source: str) -> "_Text":
        found = evolve_regions(source)
        if not found:
            raise ProgramError("the program has no evolve block, so no patch can change it")
        lines = split_lines(source)
        starts, stops = [0, *(region.stop for region in found)], [*(region.start for region in found), len(lines)]
        return cls(
            frames=tuple("".join(lines[a:b]) for a, b in zip(starts, stops, strict=True)),
            regions=[lines[region.start : region.stop] for region in found],
            end="\r\n" if 2 * source.count("\r\n") > source.count("\n") else "\n",
        )

    def joined(self) -> str:
        parts = [self.frames[0]]
        for region, frame in zip(self.regions, self.frames[1:], strict=True):
            parts += region
            parts.append(frame)
        return "".join(parts)

    def first_line(self, region: int) -> int:
        """The number, from 1, of the first line of a region in the program as it is now."""
        above = sum(frame.count("\n") for frame in self.frames[: region + 1])
        return 1 + above + sum(len(lines) for lines in self.regions[:region])

    def put(self, place: Place, count: int, replace: Sequence[str]) -> None:
        """Replace `count` lines at a place by bare lines; equal lines at both ends of the stretch are left alone."""
        region = self.regions[place.text]
        old = _bare(region[place.line : place.line + count])
        head, tail = _common_ends(old, replace)
        new = [line + self.end for line in replace[head : len(replace) - tail]]
        region[place.line + head : place.line + count - tail] = new


def _edited(patch: Patch, source: str) -> str:
    """The text that a patch makes, whether or not it is a program."""
    text = _Text.of(source)
    if patch.source is not None:
        _replace_all(text, patch.source)
        _check_growth(text, "The program that results")
    for number, block in enumerate(patch.blocks, 1):
        which = f"Block {number} of {len(patch.blocks)}"
        _apply_block(text, block, which)
        _check_growth(text, f"{which}: with it the program")
    return text.joined()


def _check_growth(text: _Text, what: str) -> None:
    size = len(text.joined().encode("utf-8", "surrogatepass"))
    if size > MAX_SOURCE_BYTES:
        raise PatchError(
            PatchReason.TOO_LARGE,
            f"{what} has {size} bytes, and at most {MAX_SOURCE_BYTES} are allowed. {_AGAIN} Make it shorter.",
        )


def _apply_block(text: _Text, block: Block, which: str) -> None:
    search, replace = _without_markers(_bare(split_lines(block.search)), _bare(split_lines(block.replace)))
    if any(marker(line) for line in replace):
        raise PatchError(
            PatchReason.OUTSIDE_BLOCK,
            f"{which}: its REPLACE writes an EVOLVE-BLOCK marker, and markers are immutable.\n{_first(search)}"
            f"Leave the marker lines out of the patch. {_AGAIN}",
        )
    if not any(line.strip() for line in search):
        _append(text, replace, which, had_marker=bool(block.search.strip()))
        return
    level, found = places(search, [_bare(region) for region in text.regions])
    if len(found) > 1:
        lines = ", ".join(str(text.first_line(place.text) + place.line) for place in found)
        raise PatchError(
            PatchReason.AMBIGUOUS,
            f"{which}: its SEARCH text stands more than once in the program, at lines {lines}.\n{_first(search)}"
            f"Add lines above or below that make it unique. {_AGAIN}",
        )
    if not found:
        raise _unmatched(text, search, which)
    place = found[0]
    window = _bare(text.regions[place.text][place.line : place.line + len(search)])
    head, tail = _common_ends(search, replace)
    middle = replace[head : len(replace) - tail]
    if level is Level.INDENTATION:
        moved = reindented(middle, search, window)
        if moved is None:
            raise PatchError(
                PatchReason.NO_MATCH,
                f"{which}: its SEARCH matches the program with another indentation, but a line of its REPLACE stands "
                f"further left than that indentation allows.\n{_first(search)}"
                f"{nearest_lines(search, [(text.first_line(place.text) + place.line, window)])}\n"
                f"Copy the indentation of the program. {_AGAIN}",
            )
        middle = moved
    text.put(Place(text=place.text, line=place.line + head), len(search) - head - tail, middle)


def _without_markers(search: list[str], replace: list[str]) -> tuple[list[str], list[str]]:
    """Both sides of a block without the markers that both begin or end with."""
    if search and replace and marker(search[0]) and marker(search[0]) == marker(replace[0]):
        search, replace = search[1:], replace[1:]
    if search and replace and marker(search[-1]) and marker(search[-1]) == marker(replace[-1]):
        search, replace = search[:-1], replace[:-1]
    return search, replace


def _append(text: _Text, replace: list[str], which: str, *, had_marker: bool) -> None:
    if had_marker:
        raise PatchError(
            PatchReason.OUTSIDE_BLOCK,
            f"{which}: its SEARCH holds nothing but an EVOLVE-BLOCK marker, and markers are immutable.\n"
            f"Quote a line between the markers, or leave SEARCH empty to append before the block's end. {_AGAIN}",
        )
    if len(text.regions) > 1:
        raise PatchError(
            PatchReason.AMBIGUOUS,
            f"{which}: its SEARCH is empty, and the program has {len(text.regions)} evolve blocks to append to.\n"
            f"Quote the line after which the new lines belong. {_AGAIN}",
        )
    text.put(Place(text=0, line=len(text.regions[0])), 0, replace)


def _unmatched(text: _Text, search: list[str], which: str) -> PatchError:
    lines = _bare(split_lines(text.joined()))
    _, outside = places(search, [lines])
    if outside or any(marker(line) for line in search):
        where = f", at line {outside[0].line + 1}" if outside else ""
        allowed = ", ".join(
            f"{text.first_line(index)}-{text.first_line(index) + len(region) - 1}"
            for index, region in enumerate(text.regions)
        )
        return PatchError(
            PatchReason.OUTSIDE_BLOCK,
            f"{which}: its SEARCH text reaches outside the EVOLVE-BLOCK{where}, and text outside is immutable.\n"
            f"{_first(search)}Only lines {allowed}, between the markers, may be quoted and changed. {_AGAIN}",
        )
    hint = nearest_lines(search, [(text.first_line(index), _bare(region)) for index, region in enumerate(text.regions)])
    return PatchError(
        PatchReason.NO_MATCH,
        f"{which}: its SEARCH text is not in the evolvable part of the program"
        + (" as the blocks before it left it" if not which.startswith("Block 1 ") else "")
        + f".\n{_first(search)}"
        + (f"The nearest lines, as a diff from your SEARCH to the program:\n{hint}\n" if hint else "")
        + f"Copy whole lines exactly from the program. {_AGAIN}",
    )


def _first(search: list[str]) -> str:
    line = next((line for line in search if line.strip()), "")
    return f"Its SEARCH begins: `{shown(line)}`\n" if line else ""


def _invalid(error: ProgramError, result: str) -> str:
    """What the compiler says of the result, with the lines around the place."""
    lines = split_lines(result)
    message = str(error)
    number = int(message[5:].partition(":")[0]) if message.startswith("line ") else 0
    listing = "\n".join(
        f"{index + 1:5d} | {shown(lines[index])}" for index in range(max(0, number - 4), min(len(lines), number + 2))
    )
    return (
        f"The program that results is not usable: {shown(message)}\n"
        + (f"The lines around it, as the patch would leave them:\n{listing}\n" if number else "")
        + f"Mend it. {_AGAIN}"
    )


def _replace_all(text: _Text, code: str) -> None:
    """Put whole code in the place of the evolvable lines of `text`."""
    try:
        regions = evolve_regions(code)
    except ProgramError as error:
        raise PatchError(
            PatchReason.TRUNCATED if "without an EVOLVE-BLOCK-END" in str(error) else PatchReason.MALFORMED,
            f"The markers in your code do not pair up: {error}. Send the whole program again, markers included.",
        ) from None
    if len(regions) != len(text.regions) and (regions or len(text.regions) > 1):
        raise PatchError(
            PatchReason.OUTSIDE_BLOCK,
            f"Your code has {len(regions)} evolve block(s) and the program has {len(text.regions)}; the markers are "
            "immutable. Send the whole program again with its markers where they are.",
        )
    contents = [split_lines(region.text) for region in regions] or [_inner(text, _bare(split_lines(code)))]
    for index, content in enumerate(contents):
        text.put(Place(text=index, line=0), len(text.regions[index]), _bare(content))


def _inner(text: _Text, code: list[str]) -> list[str]:
    """Code without markers, less the immutable beginning and end of the program where it repeats them."""
    above, below = (
        [line.rstrip() for line in split_lines(frame) if line.strip() and not marker(line)] for frame in text.frames
    )
    start, stop = 0, len(code)
    index = 0
    while index < len(above) and start < stop:
        if code[start].strip():
            if code[start].rstrip() != above[index]:
                break
            index += 1
        start += 1
    start = start if index == len(above) else 0
    index = len(below)
    while index > 0 and stop > start:
        if code[stop - 1].strip():
            if code[stop - 1].rstrip() != below[index - 1]:
                break
            index -= 1
        stop -= 1
    return code[start : stop if index == 0 else len(code)]


def _bare(lines: Sequence[str]) -> list[str]:
    """Lines without their ends."""
    return [line[:-2] if line.endswith("\r\n") else line.removesuffix("\n") for line in lines]


def _common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines two stretches have in common at their beginning, and beyond those at their end."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def _blocks_between(before: _Text, after: _Text) -> tuple[Block, ...] | None:
    """Blocks that make the regions of `after` of those of `before`, in order; None if there is no such list.

    `before` is edited on the way: a block must be unique in the text that the ones before it leave.
    """
    now = [_bare(region) for region in before.regions]
    blocks: list[Block] = []
    for index, region in enumerate(after.regions):
        new = _bare(region)
        shift = 0
        for i1, i2, j1, j2 in _changes(now[index], new):
            if len(blocks) == MAX_BLOCKS:
                return None
            first, last = i1 + shift, i2 + shift
            wider = _unique_window(now, index, first, last)
            if wider is None:
                return None
            start, stop = wider
            lines = now[index]
            replaced = [*lines[start:first], *new[j1:j2], *lines[last:stop]]
            blocks.append(Block(search=_section(lines[start:stop]), replace=_section(replaced)))
            lines[start:stop] = replaced
            shift += (j2 - j1) - (i2 - i1)
    return tuple(blocks) or None


def _section(lines: Sequence[str]) -> str:
    return "".join(line + "\n" for line in lines)


def _changes(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """The changed stretches old[i1:i2] -> new[j1:j2]; those at most two lines apart are taken together."""
    head, tail = _common_ends(old, new)
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
    """Lines around regions[index][first:last] that stand nowhere else: their start and stop; None if all do.

    One line of context on either side makes a block readable; more are taken until the text is unique.
    """
    lines = regions[index]
    context = 1
    while True:
        start, stop = max(0, first - context), min(len(lines), last + context)
        window = lines[start:stop]
        if any(line.strip() for line in window):
            level, found = places(window, regions)
            if level is Level.EXACT and len(found) == 1:
                return start, stop
        if start == 0 and stop == len(lines):
            return None
        context += 1 + context // 4

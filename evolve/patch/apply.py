"""Applying a patch to a program: whole, or not at all."""

from collections.abc import Sequence
from difflib import get_close_matches

from evaluator.program_files import MOST_FILE_BYTES, Files, ProgramFolder, path_fault
from evolve.core.errors import PatchError, ProgramError, UnclosedBlock
from evolve.core.program import check_size, check_syntax, marked_regions, marker, split_lines
from evolve.core.python_source import MAX_SOURCE_BYTES
from evolve.lang.languages import PYTHON, Language, language_of
from evolve.patch.format import AGAIN as _AGAIN
from evolve.patch.format import Block, FileEdit, Patch, PatchReason, in_form, shown
from evolve.patch.match import Level, Place, nearest_lines, places, reindented
from evolve.patch.text import EvolvingText, bare, common_ends


def apply_patch(patch: Patch, source: str, language: Language = PYTHON) -> str:
    """The program that the patch makes of `source`; raises PatchError, and changes nothing, if any part does not fit.

    Blocks apply in order, each to the text that the ones before it left; that text may at no time exceed 64 KiB.
    Lines that a block repeats at its beginning and end stay unchanged; new lines get the line end of most lines of the
    program. A SEARCH of blanks alone counts as empty and appends before the block's end. Markers that both sides of a
    block begin or end with are ignored as context.

    Whole code replaces the evolvable text only. With as many evolve blocks as the program it gives their contents,
    and its immutable text is ignored; without any, and in a program with one block, it is that block's content, less
    the program's immutable beginning and end if it repeats them.

    A program without markers is evolvable from its first line to its last. A result in Python must parse; the syntax
    of other languages is not checked. Raises ProgramError if an evolve block of `source` itself is broken.
    """
    try:
        return _applied(patch, source, language)
    except PatchError as error:
        raise in_form(error, patch.kind, code=patch.source is not None) from None


def apply_to_files(patch: Patch, files: Files, rules: ProgramFolder | None) -> Files:
    """The program that the patch makes of one; whole, or not at all. `rules` say which files a program of several may
    change; None: it has one file, see `apply_patch`. Raises PatchError, which names the file of several, and
    ProgramError."""
    if rules is None:
        ((path, source),) = files.pairs
        return Files.single(path, apply_patch(patch, source, language_of(path)))
    try:
        return _applied_to_several(patch, files, rules)
    except PatchError as error:
        raise in_form(error, patch.kind, code=patch.holds_code, several=True) from None


def _applied_to_several(patch: Patch, files: Files, rules: ProgramFolder) -> Files:
    changes: dict[str, str | None] = {}
    for edit in patch.files:
        _check_path(edit, files, rules)
        changes[edit.path] = None if edit.deletes else _text_of(edit, files.get(edit.path, ""))
    kept = {path: text for path, text in (dict(files) | dict(changes)).items() if text is not None}
    if not kept:
        raise _refused_file(PatchReason.NO_FILE, "The patch deletes every file of the program.", "Keep one at least.")
    try:
        result = Files.of(kept)
    except ValueError as cause:
        fact = f"The files do not go together: {cause}."
        raise _refused_file(PatchReason.NO_FILE, fact, "Choose another path.") from None
    if excess := result.excess():
        raise _refused_file(PatchReason.TOO_LARGE, f"The program would be too large: {excess}.", "Make it shorter.")
    if result == files:
        raise PatchError(
            PatchReason.NO_CHANGE,
            "The patch leaves every file exactly as it is.",
            advice=" Send a patch that changes something.",
        )
    return result


def _check_path(edit: FileEdit, files: Files, rules: ProgramFolder) -> None:
    """Raise PatchError for a file that may not be changed, added or deleted."""
    path, there = edit.path, edit.path in files
    if fault := path_fault(path):
        raise _refused_file(PatchReason.NO_FILE, f"The path {shown(path)} {fault}.", "Name a file of the program.")
    if there and (not edit.deletes or rules.may_add):
        return
    if edit.deletes:
        why = "no file can be deleted here" if there else "the program has no such file"
        raise _refused_file(PatchReason.NO_FILE, f"DELETE: {path}: {why}.", "Leave the line out.")
    if not rules.editable(path):
        fact = f"FILE: {path}: this file may not change; {rules.allowed()}."
        raise _refused_file(PatchReason.NO_FILE, fact, "Change only files that the prompt shows as the program's.")
    begins_it = edit.source is not None or not edit.blocks[0].search.strip()
    if rules.may_add and begins_it:
        return
    near = ", ".join(get_close_matches(path, files, n=3) or list(files)[:8])
    advice = "Name one of them, or begin a new file with an empty SEARCH." if rules.may_add else "Name one of them."
    fact = f"FILE: {path}: the program has no such file. It has {len(files)}, among them {near}."
    raise _refused_file(PatchReason.NO_FILE, fact, advice)


def _refused_file(reason: PatchReason, fact: str, advice: str) -> PatchError:
    return PatchError(reason, fact, advice=f"\n{advice} {_AGAIN}")


def _text_of(edit: FileEdit, source: str) -> str:
    """The new text of one file of several. Raises PatchError, which names it."""
    language = language_of(edit.path)
    try:
        text = edited(edit, source, MOST_FILE_BYTES)
        try:
            check_size(text, MOST_FILE_BYTES)
            check_syntax(text, language)
        except ProgramError as error:
            reason = PatchReason.INVALID_PYTHON if language is PYTHON else PatchReason.INVALID
            raise _invalid(reason, error, text) from None
    except PatchError as error:
        fact = f"FILE: {edit.path}: {error.fact}"
        raise PatchError(error.reason, fact, detail=error.detail, advice=error.advice) from None
    return text


def _applied(patch: Patch, source: str, language: Language) -> str:
    result, is_code = edited(patch, source), patch.source is not None
    if result == source:
        raise PatchError(
            PatchReason.NO_CHANGE,
            "The patch leaves the program exactly as it is"
            + (" (text outside the EVOLVE-BLOCK is never changed)." if is_code and marked_regions(source) else "."),
            advice=" Send a patch that changes something.",
        )
    try:
        check_size(result)
        check_syntax(result, language)
    except ProgramError as error:
        reason = PatchReason.INVALID_PYTHON if language is PYTHON else PatchReason.INVALID
        raise _invalid(reason, error, result) from None
    return result


def edited(patch: Patch | FileEdit, source: str, most: int = MAX_SOURCE_BYTES) -> str:
    """The text that a patch makes of one file, whether or not it is a program; it may have `most` bytes."""
    text = EvolvingText.of(source)
    if patch.source is not None:
        _replace_all(text, patch.source)
        _check_growth(text, "The program that results", most)
    for number, block in enumerate(patch.blocks, 1):
        which = f"Block {number} of {len(patch.blocks)}"
        _apply_block(text, block, which, first=number == 1)
        _check_growth(text, f"{which}: with it the program", most)
    return text.joined()


def _check_growth(text: EvolvingText, what: str, most: int) -> None:
    size = len(text.joined().encode("utf-8", "surrogatepass"))
    if size > most:
        raise PatchError(
            PatchReason.TOO_LARGE,
            f"{what} has {size} bytes, and at most {most} are allowed.",
            advice=f" {_AGAIN} Make it shorter.",
        )


def _apply_block(text: EvolvingText, block: Block, which: str, *, first: bool) -> None:
    search, replace = _without_markers(bare(split_lines(block.search)), bare(split_lines(block.replace)))
    if any(marker(line) for line in replace):
        raise _refusal(
            PatchReason.OUTSIDE_BLOCK,
            f"{which}: its REPLACE writes an EVOLVE-BLOCK marker, and markers are immutable.",
            "Leave the marker lines out of the patch.",
            search=search,
        )
    if not any(line.strip() for line in search):
        _append(text, replace, which, had_marker=bool(block.search.strip()))
        return
    level, matches = places(search, [bare(region) for region in text.regions])
    if len(matches) > 1:
        lines = ", ".join(str(text.first_line(place.text) + place.line) for place in matches)
        raise _refusal(
            PatchReason.AMBIGUOUS,
            f"{which}: its SEARCH text stands more than once in the program, at lines {lines}.",
            "Add lines above or below that make it unique.",
            search=search,
        )
    if not matches:
        raise _unmatched(text, search, which, first=first)
    place = matches[0]
    window = bare(text.regions[place.text][place.line : place.line + len(search)])
    head, tail = common_ends(search, replace)
    middle = replace[head : len(replace) - tail]
    if level is Level.INDENTATION:
        moved = reindented(middle, search, window)
        if moved is None:
            raise _refusal(
                PatchReason.NO_MATCH,
                f"{which}: its SEARCH matches the program with another indentation, but a line of its REPLACE stands "
                "further left than that indentation allows.",
                "Copy the indentation of the program.",
                search=search,
                hint="\n" + nearest_lines(search, [(text.first_line(place.text) + place.line, window)]),
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


def _append(text: EvolvingText, replace: list[str], which: str, *, had_marker: bool) -> None:
    if had_marker:
        quotable = "between the markers" if text.marked else "of the program, which has none"
        raise _refusal(
            PatchReason.OUTSIDE_BLOCK,
            f"{which}: its SEARCH holds nothing but an EVOLVE-BLOCK marker, and markers are immutable.",
            f"Quote a line {quotable}, or leave SEARCH empty to append at the end.",
        )
    if len(text.regions) > 1:
        raise _refusal(
            PatchReason.AMBIGUOUS,
            f"{which}: its SEARCH is empty, and the program has {len(text.regions)} evolve blocks to append to.",
            "Quote the line after which the new lines belong.",
        )
    text.put(Place(text=0, line=len(text.regions[0])), 0, replace)


def _unmatched(text: EvolvingText, search: list[str], which: str, *, first: bool) -> PatchError:
    lines = bare(split_lines(text.joined()))
    _, outside = places(search, [lines])
    if outside or (text.marked and any(marker(line) for line in search)):
        where = f", at line {outside[0].line + 1}" if outside else ""
        allowed = ", ".join(
            f"{text.first_line(index)}-{text.first_line(index) + len(region) - 1}"
            for index, region in enumerate(text.regions)
            if region
        )
        advice = (
            f"Only lines {allowed}, between the markers, may be quoted and changed."
            if allowed
            else "There is no line between the markers yet; leave SEARCH empty to add some."
        )
        fact = f"{which}: its SEARCH text reaches outside the EVOLVE-BLOCK{where}, and text outside is immutable."
        return _refusal(PatchReason.OUTSIDE_BLOCK, fact, advice, search=search)
    hint = nearest_lines(search, [(text.first_line(index), bare(region)) for index, region in enumerate(text.regions)])
    return _refusal(
        PatchReason.NO_MATCH,
        f"{which}: its SEARCH text is not in the {'evolvable part of the program' if text.marked else 'program'}"
        + ("." if first else " as the blocks before it left it."),
        "Copy whole lines exactly from the program.",
        search=search,
        hint=f"\nThe nearest lines, as a diff from your SEARCH to the program:\n{hint}" if hint else "",
    )


def _refusal(reason: PatchReason, fact: str, advice: str, *, search: Sequence[str] = (), hint: str = "") -> PatchError:
    """The refusal of a block, with the first line of its SEARCH and a hint where to look."""
    line = next((line for line in search if line.strip()), "")
    detail = f"\nIts SEARCH begins: `{shown(line)}`" if line else ""
    return PatchError(reason, fact, detail=detail + hint, advice=f"\n{advice} {_AGAIN}")


def _invalid(reason: PatchReason, error: ProgramError, result: str) -> PatchError:
    """The refusal of a result that does not parse, with the lines around the place."""
    detail = ""
    if error.line is not None:
        lines = split_lines(result)
        around = range(max(0, error.line - 4), min(len(lines), error.line + 2))
        listing = "\n".join(f"{index + 1:5d} | {shown(lines[index])}" for index in around)
        detail = f"\nThe lines around it, as the patch would leave them:\n{listing}"
    fact = f"The program that results is not usable: {shown(str(error))}"
    return _refusal(reason, fact, "Correct it.", hint=detail)


def _replace_all(text: EvolvingText, code: str) -> None:
    """Put whole code in the place of the evolvable lines of `text`."""
    try:
        regions = marked_regions(code)
    except ProgramError as error:
        raise PatchError(
            PatchReason.TRUNCATED if isinstance(error, UnclosedBlock) else PatchReason.MALFORMED,
            f"The markers in your code do not pair up: {error}.",
            advice=" Send the whole program again, markers included.",
        ) from None
    blocks = len(text.regions) if text.marked else 0
    if len(regions) != blocks and (regions or blocks > 1):
        raise PatchError(
            PatchReason.OUTSIDE_BLOCK,
            f"Your code has {len(regions)} evolve block(s) and the program has {blocks}; the markers are immutable.",
            advice=" Send the whole program again "
            + ("with its markers where they are." if blocks else "without any marker."),
        )
    contents = [split_lines(region.text) for region in regions] or [_inner(text, bare(split_lines(code)))]
    for index, content in enumerate(contents):
        text.put(Place(text=index, line=0), len(text.regions[index]), bare(content))


def _inner(text: EvolvingText, code: list[str]) -> list[str]:
    """Code without markers, less the immutable beginning and end of the program where it repeats them."""
    above, below = ([line.rstrip() for line in split_lines(frame) if not marker(line)] for frame in text.frames)
    start = _repeated(above, code)
    stop = len(code) - _repeated(below[::-1], code[start:][::-1])
    return code[start:stop]


def _repeated(frame: list[str], code: list[str]) -> int:
    """How many lines at the beginning of `code` repeat `frame`, blank lines aside; 0 unless all of it is there.

    Of the blank lines after them, those that end the frame too belong to it.
    """
    wanted = [line for line in frame if line]
    place = 0
    for line in wanted:
        while place < len(code) and not code[place].strip():
            place += 1
        if place == len(code) or code[place].rstrip() != line:
            return 0
        place += 1
    for line in reversed(frame):
        if line or not wanted or place == len(code) or code[place].strip():
            break
        place += 1
    return place

"""The patch format: a model's answer read into values. Applying a patch to a program is another module's.

An answer holds a `<NAME>`, a `<DESCRIPTION>`, and either blocks

    <<<<<<< SEARCH
    lines of the program
    =======
    lines that replace them
    >>>>>>> REPLACE

inside `<DIFF>`, or whole code inside `<CODE>`. Where programs have several files, a line `FILE: path` stands before the
blocks, or the fenced whole text, of each file; a line `DELETE: path` removes a file.

Text, fences and tags may stand around the blocks and the closing tags may be missing. The marker lines of a block begin
in the first column with exactly seven signs. A line between blocks that only looks like a marker is refused, since
skipping it would apply half a patch.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from evolve.core.errors import PatchError
from evolve.core.program import PatchKind, marker, split_lines

AGAIN: Final = "Nothing was applied: send the whole patch again."
_AGAIN_WHOLE: Final = "Nothing was applied: send the whole program again."
_AGAIN_FILES: Final = "Nothing was applied: send each file that changes again, whole."


def asks_for_code(kind: PatchKind) -> bool:
    """Whether a prompt of that kind asks for the whole program; else for blocks."""
    return kind in (PatchKind.FULL, PatchKind.CROSS)


def asked_for(kind: PatchKind, *, several: bool = False) -> str:
    """The form of answer that a prompt of that kind asks for; `several`: where programs have several files."""
    if not asks_for_code(kind):
        files = ", under the line `FILE: path` of its file" if several else ""
        return f"your change as SEARCH/REPLACE blocks inside <DIFF>{files}"
    if several:
        return "each file that changes between <CODE> and </CODE>, in a fence under the line `FILE: path`"
    return "the whole program between <CODE> and </CODE>"


def in_form(error: PatchError, kind: PatchKind, *, code: bool, several: bool = False) -> PatchError:
    """`error`, about an answer that holds whole code or (not `code`) blocks, in words that fit the kind asked for.

    Both forms are read for every kind, but a refusal never asks for another form than the prompt did: of an answer in
    the other form it says what is wrong, and asks for the right form."""
    again = _AGAIN_FILES if several else _AGAIN_WHOLE
    whole, detail, advice = asks_for_code(kind), error.detail, error.advice.replace(AGAIN, again)
    if code == whole:
        return PatchError(error.reason, error.fact, detail=detail, advice=advice) if whole else error
    held = ("whole files" if several else "a whole program") if code else "SEARCH/REPLACE blocks"
    wanted = asked_for(kind, several=several)
    advice = f"\nThe answer holds {held}. Nothing was applied: send {wanted}, as the form says."
    return PatchError(error.reason, error.fact, detail=detail.rstrip() if code else "", advice=advice)


MAX_BLOCKS = 256
MAX_NAME = 80
_CUT = "_cut"


class PatchReason(StrEnum):
    """Why a patch is refused: the closed set of `PatchError.reason`, next to the FinishReasons without an answer."""

    NO_PATCH = "no_patch"  # the answer holds neither blocks nor code
    TRUNCATED = "truncated"  # it ends, or the next block begins, before a block or the code is complete
    MALFORMED = "malformed"  # markers in an order that has no meaning
    NO_FILE = "no_file"  # of several files: it names none, one that is not there, or one that may not change
    NO_MATCH = "no_match"  # a SEARCH that the evolvable text does not contain
    AMBIGUOUS = "ambiguous"  # a SEARCH that it contains more than once
    OUTSIDE_BLOCK = "outside_block"  # an edit of immutable text, or of the markers of a block
    NO_CHANGE = "no_change"  # the program would stay as it is
    TOO_LARGE = "too_large"  # too many blocks, or a program above the limit
    INVALID_PYTHON = "invalid_python"  # the resulting program is too large, not text, or does not parse
    WOULD_FAIL = "would_fail"  # every run of it would read an undefined name
    INVALID = "invalid"  # in another language: the resulting program is too large or not text
    DUPLICATE = "duplicate"  # the run has that program already
    PROMPT_TOO_LONG = "prompt_too_long"  # the required parts of the prompt do not fit: nothing was asked
    INEXPRESSIBLE = "inexpressible"  # only from `make_patch`: this format cannot express the edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    r"""Replace the lines `search` by the lines `replace`. Either is empty, or whole lines that each end in `\n`."""

    search: str
    replace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """The change of one file of several: `blocks`, or `source`, its whole text, or neither: it is deleted."""

    path: str
    blocks: tuple[Block, ...] = ()
    source: str | None = None

    @property
    def deletes(self) -> bool:
        """Whether the file goes."""
        return not self.blocks and self.source is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A model's answer, read. Of a program of one file either `blocks`, or `source`, the whole code, is given; of one
    of several files `files`, each once. The description is untrusted."""

    kind: PatchKind
    name: str
    description: str
    blocks: tuple[Block, ...] = ()
    source: str | None = None
    files: tuple[FileEdit, ...] = ()

    @property
    def holds_code(self) -> bool:
        """Whether it gives whole code, and not blocks."""
        return self.source is not None or any(edit.source is not None for edit in self.files)


_OPEN = r"(?:^|(?<=>))[ \t]*<(?P<tag>NAME|DESCRIPTION|DIFF|CODE)>"
_SEARCH = r"^(?:[ \t]*<DIFF>[ \t]*)?<{7}[ \t]*SEARCH[ \t]*$"
_END = r"^>{7}[ \t]*REPLACE[ \t]*(?:</DIFF>[ \t]*)?$"
_DIVIDER = r"^={7}[ \t]*$"
# Lines between blocks that were surely meant as markers: with other counts, indented, with a colon.
_NEARLY = r"^[ \t]*(?-i:<{4,}[ \t]*SEARCH\b|>{4,}[ \t]*REPLACE\b)"

_FILE = r"^(?-i:(?P<verb>FILE|DELETE):[ \t]*(?P<path>\S.*))$"

_OUTSIDE = re.compile(f"(?P<search>{_SEARCH})|(?P<nearly>{_NEARLY})|{_OPEN}", re.MULTILINE | re.IGNORECASE)
_OF_FILES = re.compile(f"(?P<search>{_SEARCH})|(?P<nearly>{_NEARLY})|{_FILE}|{_OPEN}", re.MULTILINE | re.IGNORECASE)
_FILE_LINE = re.compile(_FILE)
_INSIDE = re.compile(f"(?P<search>{_SEARCH})|(?P<divider>{_DIVIDER})|(?P<end>{_END})", re.MULTILINE | re.IGNORECASE)
_CLOSE = {tag: re.compile(f"</{tag}>", re.IGNORECASE) for tag in ("NAME", "DESCRIPTION", "CODE")}
_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)([^`\n]*)$", re.MULTILINE)


def parse_patch(answer: str, kind: PatchKind, *, several: bool = False) -> Patch:
    """Read an answer. `kind` is what was asked for; `several`: programs have several files, so lines `FILE: path` and
    `DELETE: path` count.

    Whole code is taken from `<CODE>` whatever the kind; for the kinds that ask for it (full, cross, fix) an answer
    without that tag may also give it as its last fenced text. Blocks are read for every kind. A name is made
    short_snake_case and `unnamed` without one. Raises PatchError, and no other exception, whatever the answer.
    """
    reader = _Reader(answer.replace("\r\n", "\n"), kind, several=several)
    try:
        return reader.patch()
    except PatchError as error:
        if reader.code_at_fault is None:
            raise
        raise in_form(error, kind, code=reader.code_at_fault, several=several) from None


def format_patch(patch: Patch) -> str:
    """The answer text that reads back as `patch`, provided that no line of its texts looks like a marker."""
    head = f"<NAME>\n{patch.name}\n</NAME>\n\n<DESCRIPTION>\n{patch.description}\n</DESCRIPTION>\n\n"
    if patch.files:
        tag = "CODE" if patch.holds_code else "DIFF"
        return f"{head}<{tag}>\n{''.join(map(_format_edit, patch.files))}</{tag}>\n"
    if patch.source is not None:
        return f"{head}<CODE>\n{patch.source}</CODE>\n"
    return f"{head}<DIFF>\n{_format_blocks(patch.blocks)}</DIFF>\n"


def _format_blocks(blocks: Sequence[Block]) -> str:
    return "".join(f"<<<<<<< SEARCH\n{block.search}=======\n{block.replace}>>>>>>> REPLACE\n" for block in blocks)


def _format_edit(edit: FileEdit) -> str:
    if edit.deletes:
        return f"DELETE: {edit.path}\n"
    if edit.source is None:
        return f"FILE: {edit.path}\n{_format_blocks(edit.blocks)}"
    fence = fence_around(edit.source)
    return f"FILE: {edit.path}\n{fence}\n{edit.source}{fence}\n"


def fence_around(text: str) -> str:
    """A fence that is longer than any run of backticks in a text."""
    return "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))


def normalised_name(text: str) -> str:
    """A name as short_snake_case in ASCII; `unnamed` if nothing of it is left. More than 80 characters are cut, and the
    end says so."""
    first = next((line for line in text[: 20 * MAX_NAME].split("\n") if line.strip()), "")
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", first)
    name = re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_")
    if len(name) > MAX_NAME:
        name = f"{name[: MAX_NAME - len(_CUT)].rstrip('_')}{_CUT}"
    return name or "unnamed"


class _Reader:
    """One pass over an answer, from marker to marker; every character is looked at a bounded number of times."""

    def __init__(self, answer: str, kind: PatchKind, *, several: bool) -> None:
        self.answer = answer
        self.kind = kind
        self.several = several
        self.outside = _OF_FILES if several else _OUTSIDE
        self.path: str | None = None  # of the FILE line before the next block
        self.edits: dict[str, list[Block] | str | None] = {}  # blocks, whole text, or None: deleted
        self.code_at_fault: bool | None = None  # whether errors are about whole code or blocks; None: neither
        self.name: str | None = None
        self.description: str | None = None
        self.blocks: list[Block] = []
        self.source: str | None = None
        self.unclosed = False  # no </DESCRIPTION> follows: it is not searched for again

    def patch(self) -> Patch:
        position: int | None = 0
        kind = self.kind
        while position is not None:
            position = self.step(position)
        if not self.blocks and self.source is None and kind in (PatchKind.FULL, PatchKind.CROSS, PatchKind.FIX):
            self.code_at_fault = True
            if not self.several:
                self.source = _last_fence(self.answer)
            elif not any(isinstance(edit, str) for edit in self.edits.values()):
                self.edits |= _fenced_files(self.answer, closed=False)
            self.code_at_fault = None
        if not (self.edits if self.several else self.blocks or (self.source or "").strip()):
            raise PatchError(PatchReason.NO_PATCH, _no_patch(kind, several=self.several))
        return Patch(
            kind=kind,
            name=normalised_name(self.name or ""),
            description=(self.description or "").strip(),
            blocks=() if self.several else tuple(self.blocks),
            source=self.source,
            files=tuple(
                FileEdit(path=path, source=edit)
                if isinstance(edit, str)
                else FileEdit(path=path, blocks=tuple(edit or ()))
                for path, edit in self.edits.items()
            ),
        )

    def step(self, position: int) -> int | None:
        """Read the next section, tag or block from `position`; the position after it, or None at the end."""
        match = self.outside.search(self.answer, position)
        if match is None:
            return None
        self.code_at_fault = False
        if self.several and match["verb"] is not None:
            self.file(match["verb"], match["path"])
            self.code_at_fault = None
            return match.end()
        if match["search"] is not None:
            return self.block(match.end() + 1)
        if match["nearly"] is not None:
            raise PatchError(
                PatchReason.MALFORMED,
                f"After {len(self.blocks)} complete block(s) there is a line that is nearly a marker: "
                f"`{shown(self.line_at(match.start()))}`.",
                advice="\nA block begins with the line `<<<<<<< SEARCH`, is divided by `=======` and ends with "
                "`>>>>>>> REPLACE`, each with seven signs from the first column and nothing else on the line. " + AGAIN,
            )
        self.code_at_fault = None
        tag = match["tag"].upper()
        if tag == "DIFF":
            return match.end()
        if tag == "CODE":
            if self.blocks:
                raise PatchError(
                    PatchReason.MALFORMED,
                    f"The answer holds {len(self.blocks)} block(s) and a <CODE> section as well. Nothing was applied: "
                    f"send {asked_for(self.kind)}, and nothing else.",
                )
            self.code_at_fault = True
            if self.several:
                self.edits |= self.code_of_files(match.end())
            else:
                self.source = self.code(match.end())
            return None
        return self.section(tag, match.end())

    def file(self, verb: str, named: str) -> None:
        """Read a line `FILE: path` or `DELETE: path`."""
        path = plain_path(named)
        if verb == "DELETE":
            if path in self.edits:
                raise _named_twice(path)
            self.edits[path], self.path = None, None
            return
        if self.edits.get(path, ()) is None:
            raise _named_twice(path)
        self.path = path

    def code_of_files(self, start: int) -> dict[str, str | None]:
        """The files of the `<CODE>` section from `start` to the last `</CODE>`."""
        closings = [match.start() for match in _CLOSE["CODE"].finditer(self.answer, start)]
        return _fenced_files(self.answer[start : closings[-1] if closings else len(self.answer)], closed=bool(closings))

    def section(self, tag: str, start: int) -> int:
        """Read a name or description; the first one that is not blank counts. It ends at its closing tag.

        Without one, and a name in any case, it ends where the next tag or block begins.
        """
        close = following = None
        if tag == "NAME":
            following = self.outside.search(self.answer, start)
            close = _CLOSE[tag].search(self.answer, start, following.start() if following else len(self.answer))
        elif not self.unclosed:
            close = _CLOSE[tag].search(self.answer, start)
            self.unclosed = close is None
        if close is not None:
            stop, position = close.start(), close.end()
        else:
            following = following or self.outside.search(self.answer, start)
            stop = position = following.start() if following else len(self.answer)
        text = self.answer[start:stop]
        if tag == "NAME" and not (self.name or "").strip():
            self.name = text
        elif tag == "DESCRIPTION" and not (self.description or "").strip():
            self.description = text
        return position

    def block(self, start: int) -> int:
        """Read the block whose first line begins at `start`; the position after its last line."""
        number = len(self.blocks) + 1
        if self.several and self.path is None:
            raise PatchError(
                PatchReason.NO_FILE,
                f"Block {number} is for no file: the program has several.",
                detail=f"\nIts SEARCH begins: `{shown(self.line_at(start))}`",
                advice=f"\nPut a line `FILE: path` before the blocks of each file. {AGAIN}",
            )
        if number > MAX_BLOCKS:
            raise PatchError(
                PatchReason.TOO_LARGE,
                f"The patch has more than {MAX_BLOCKS} blocks.",
                advice=" Nothing was applied: send fewer, larger blocks.",
            )
        divider: re.Match[str] | None = None
        position = start
        while True:
            match = _INSIDE.search(self.answer, position)
            if match is None or match["search"] is not None:
                raise self.truncated(number, start, divided=divider is not None, at_end=match is None)
            if match["end"] is not None:
                break
            if divider is not None:
                raise self.malformed(number, start, "it has a second divider `=======`")
            divider = match
            position = match.end()
        if divider is None:
            raise self.malformed(number, start, "it has no divider `=======` between SEARCH and REPLACE")
        search = self.answer[start : divider.start()]
        replace = self.answer[divider.end() + 1 : match.start()]
        self.blocks.append(Block(search=search, replace=replace))
        if self.path is not None:
            of_file = self.edits.setdefault(self.path, [])
            assert isinstance(of_file, list)  # a file is not deleted and changed, and code ends the answer
            of_file.append(self.blocks[-1])
        return match.end()

    def code(self, start: int) -> str:
        """The text of the `<CODE>` section from `start` to the last `</CODE>`, without its fences."""
        closings = [match.start() for match in _CLOSE["CODE"].finditer(self.answer, start)]
        text = self.answer[start : closings[-1] if closings else len(self.answer)]
        # Blanks after the tag belong to the tag; the code begins on the next line.
        if (end := text.find("\n")) >= 0 and not text[:end].strip():
            text = text[end + 1 :]
        text, fenced = _unfenced(text)
        if not closings and not fenced and not any(marker(line) == "END" for line in text.split("\n")):
            raise PatchError(
                PatchReason.TRUNCATED,
                "The <CODE> section has no </CODE>, so the answer was probably cut off.",
                advice=" Nothing was applied: send the whole program again, shorter if need be.",
            )
        return text if not text or text.endswith("\n") else text + "\n"

    def truncated(self, number: int, start: int, *, divided: bool, at_end: bool) -> PatchError:
        missing = "`>>>>>>> REPLACE`" if divided else "`=======` and no `>>>>>>> REPLACE`"
        where = "the answer ends" if at_end else "the next `<<<<<<< SEARCH` begins"
        advice = (
            "The answer was probably cut off: send the patch again, shorter, with only the lines that change."
            if at_end
            else "Send the whole patch again with every block complete."
        )
        return PatchError(
            PatchReason.TRUNCATED,
            f"Block {number} is incomplete: {where} before it has a {missing}.",
            detail=f"\nIts SEARCH begins: `{shown(self.line_at(start))}`",
            advice=f"\nNothing was applied. {advice}",
        )

    def malformed(self, number: int, start: int, what: str) -> PatchError:
        return PatchError(
            PatchReason.MALFORMED,
            f"Block {number} cannot be read: {what}.",
            detail=f"\nIts SEARCH begins: `{shown(self.line_at(start))}`",
            advice="\nNothing was applied: send the whole patch again, each block with one SEARCH, one divider, one "
            "REPLACE. If the program itself must hold such a line, let it put the line together when it runs.",
        )

    def line_at(self, position: int) -> str:
        end = self.answer.find("\n", position)
        return self.answer[position : end if end >= 0 else len(self.answer)]


def shown(line: str, limit: int = 160) -> str:
    """One line of untrusted text for a message: cut, and safe to send as UTF-8."""
    text = line.rstrip()
    cut = text if len(text) <= limit else f"{text[:limit]} [...]"
    return cut.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")


def plain_path(named: str) -> str:
    """The path that a FILE line names, without the quotes and blanks around it."""
    return named.strip(" \t`'\"*").removeprefix("./")


def _named_twice(path: str) -> PatchError:
    return PatchError(
        PatchReason.MALFORMED,
        f"The file {shown(path)} is named by a DELETE line and once more.",
        advice=f"\nDelete it or change it. {AGAIN}",
    )


def _fenced_files(text: str, *, closed: bool) -> dict[str, str | None]:
    """The files in a text: under each line `FILE: path` a fence with all of it; None for `DELETE: path`. `closed`: the
    text itself is complete. Raises PatchError."""
    files: dict[str, str | None] = {}
    path: str | None = None
    fence, begins, at = "", 0, 0
    for line in split_lines(text):
        after = at + len(line)
        opening = _FENCE.match(line.rstrip("\n"))
        if fence:
            if opening is not None and opening[1].startswith(fence) and not opening[2].strip():
                assert path is not None
                files[path], path, fence = text[begins:at], None, ""
        elif opening is not None and path is not None:
            fence, begins = opening[1], after
        elif (named := _FILE_LINE.match(line.rstrip("\n"))) is not None:
            if path is not None:
                break
            path = plain_path(named["path"])
            if path in files:
                raise PatchError(
                    PatchReason.MALFORMED,
                    f"The file {shown(path)} is given twice.",
                    advice=f"\nSend each file once. {_AGAIN_FILES}",
                )
            if named["verb"] == "DELETE":
                files[path], path = None, None
        at = after
    if fence or path is not None:
        cut = fence or not closed
        raise PatchError(
            PatchReason.TRUNCATED if cut else PatchReason.MALFORMED,
            f"The file {shown(path or '')} "
            + (
                "is incomplete: its fence is never closed." if fence else "has no text: no fence follows its FILE line."
            ),
            advice=f"\nThe whole text of a file stands in a fence under the line `FILE: path`. {_AGAIN_FILES}",
        )
    if not files and closed:
        raise PatchError(
            PatchReason.NO_FILE,
            "The <CODE> section names no file, and the program has several.",
            advice=f"\nPut a line `FILE: path` before the fenced text of each file. {_AGAIN_FILES}",
        )
    return files


def _no_patch(kind: PatchKind, *, several: bool) -> str:
    if several:
        what = "no file" if asks_for_code(kind) else "no SEARCH/REPLACE block"
        return f"The answer holds {what}. Send {asked_for(kind, several=True)}."
    if asks_for_code(kind):
        return (
            "The answer holds no code: there is no <CODE> section and no complete fence. Send the whole program "
            "between <CODE> and </CODE>."
        )
    return (
        "The answer holds no SEARCH/REPLACE block. Send your change inside <DIFF> as one or more blocks: the line "
        "`<<<<<<< SEARCH`, lines copied exactly from the program, the line `=======`, the lines that replace them, "
        "the line `>>>>>>> REPLACE`."
    )


def _last_fence(answer: str) -> str | None:
    """The text of the last complete fence, None if there is none. Raises PatchError if a later one is cut off."""
    last: str | None = None
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(answer):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2].strip():
            last = answer[opened.end() + 1 : fence.start()]
            opened = None
    if opened is not None and answer[opened.end() :].strip():
        raise PatchError(
            PatchReason.TRUNCATED,
            f"The last fence, `{shown(opened[0])}`, is never closed, so the answer was probably cut off.",
            advice=" Nothing was applied: send the whole program again between <CODE> and </CODE>, shorter if need be.",
        )
    return last


def _unfenced(text: str) -> tuple[str, bool]:
    """Code without the fence that surrounds it, and whether a complete fence did."""
    opened = _FENCE.search(text)
    if opened is None or text[: opened.start()].strip():
        return text, False
    closed = None
    for fence in _FENCE.finditer(text, opened.end()):
        if fence[1].startswith(opened[1]) and not fence[2].strip():
            closed = fence
    return text[opened.end() + 1 : closed.start() if closed else len(text)], closed is not None

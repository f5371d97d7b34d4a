"""The patch format: a model's answer read into values. Applying a patch to a program is another module's.

An answer holds a `<NAME>`, a `<DESCRIPTION>`, and either blocks

    <<<<<<< SEARCH
    lines of the program
    =======
    lines that replace them
    >>>>>>> REPLACE

inside `<DIFF>`, or whole code inside `<CODE>`. Text, fences and tags may stand around the blocks and the closing
tags may be missing. The marker lines of a block begin in the first column with exactly seven signs. A line between
blocks that only looks like a marker is refused, since skipping it would apply half a patch.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from evolve.core.errors import PatchError
from evolve.core.program import PatchKind, marker

AGAIN: Final = "Nothing was applied: send the whole patch again."
_AGAIN_WHOLE: Final = "Nothing was applied: send the whole program again."


def asks_for_code(kind: PatchKind) -> bool:
    """Whether a prompt of that kind asks for the whole program; else for blocks."""
    return kind in (PatchKind.FULL, PatchKind.CROSS)


def asked_for(kind: PatchKind) -> str:
    """The form of answer that a prompt of that kind asks for."""
    return (
        "the whole program between <CODE> and </CODE>"
        if asks_for_code(kind)
        else "your change as SEARCH/REPLACE blocks inside <DIFF>"
    )


def in_form(error: PatchError, kind: PatchKind, *, code: bool) -> PatchError:
    """`error`, about an answer that holds whole code or (not `code`) blocks, in words that fit the kind asked for.

    Both forms are read for every kind, but a refusal never asks for another form than the prompt did: of an answer in
    the other form it says what is wrong, and asks for the right form."""
    whole, detail, advice = asks_for_code(kind), error.detail, error.advice.replace(AGAIN, _AGAIN_WHOLE)
    if code == whole:
        return PatchError(error.reason, error.fact, detail=detail, advice=advice) if whole else error
    held = "a whole program" if code else "SEARCH/REPLACE blocks"
    advice = f"\nThe answer holds {held}. Nothing was applied: send {asked_for(kind)}, as the form says."
    return PatchError(error.reason, error.fact, detail=detail.rstrip() if code else "", advice=advice)


MAX_BLOCKS = 256
MAX_NAME = 80
_CUT = "_cut"


class PatchReason(StrEnum):
    """Why a patch is refused: the closed set of `PatchError.reason`, next to the FinishReasons without an answer."""

    NO_PATCH = "no_patch"  # the answer holds neither blocks nor code
    TRUNCATED = "truncated"  # it ends, or the next block begins, before a block or the code is complete
    MALFORMED = "malformed"  # markers in an order that has no meaning
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
class Patch:
    """A model's answer, read: either `blocks`, or `source`, the whole code, is given. The description is untrusted."""

    kind: PatchKind
    name: str
    description: str
    blocks: tuple[Block, ...]
    source: str | None = None


_OPEN = r"(?:^|(?<=>))[ \t]*<(?P<tag>NAME|DESCRIPTION|DIFF|CODE)>"
_SEARCH = r"^(?:[ \t]*<DIFF>[ \t]*)?<{7}[ \t]*SEARCH[ \t]*$"
_END = r"^>{7}[ \t]*REPLACE[ \t]*(?:</DIFF>[ \t]*)?$"
_DIVIDER = r"^={7}[ \t]*$"
# Lines between blocks that were surely meant as markers: with other counts, indented, with a colon.
_NEARLY = r"^[ \t]*(?-i:<{4,}[ \t]*SEARCH\b|>{4,}[ \t]*REPLACE\b)"

_OUTSIDE = re.compile(f"(?P<search>{_SEARCH})|(?P<nearly>{_NEARLY})|{_OPEN}", re.MULTILINE | re.IGNORECASE)
_INSIDE = re.compile(f"(?P<search>{_SEARCH})|(?P<divider>{_DIVIDER})|(?P<end>{_END})", re.MULTILINE | re.IGNORECASE)
_CLOSE = {tag: re.compile(f"</{tag}>", re.IGNORECASE) for tag in ("NAME", "DESCRIPTION", "CODE")}
_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)([^`\n]*)$", re.MULTILINE)


def parse_patch(answer: str, kind: PatchKind) -> Patch:
    """Read an answer. `kind` is what was asked for.

    Whole code is taken from `<CODE>` whatever the kind; for the kinds that ask for it (full, cross, fix) an answer
    without that tag may also give it as its last fenced text. Blocks are read for every kind. A name is made
    short_snake_case and `unnamed` without one. Raises PatchError, and no other exception, whatever the answer.
    """
    reader = _Reader(answer.replace("\r\n", "\n"), kind)
    try:
        return reader.patch()
    except PatchError as error:
        raise (error if reader.code_at_fault is None else in_form(error, kind, code=reader.code_at_fault)) from None


def format_patch(patch: Patch) -> str:
    """The answer text that reads back as `patch`, provided that no line of its texts looks like a marker."""
    head = f"<NAME>\n{patch.name}\n</NAME>\n\n<DESCRIPTION>\n{patch.description}\n</DESCRIPTION>\n\n"
    if patch.source is not None:
        return f"{head}<CODE>\n{patch.source}</CODE>\n"
    blocks = "".join(
        f"<<<<<<< SEARCH\n{block.search}=======\n{block.replace}>>>>>>> REPLACE\n" for block in patch.blocks
    )
    return f"{head}<DIFF>\n{blocks}</DIFF>\n"


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

    def __init__(self, answer: str, kind: PatchKind) -> None:
        self.answer = answer
        self.kind = kind
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
            self.source = _last_fence(self.answer)
            self.code_at_fault = None
        if not self.blocks and not (self.source or "").strip():
            raise PatchError(PatchReason.NO_PATCH, _no_patch(kind))
        return Patch(
            kind=kind,
            name=normalised_name(self.name or ""),
            description=(self.description or "").strip(),
            blocks=tuple(self.blocks),
            source=self.source,
        )

    def step(self, position: int) -> int | None:
        """Read the next section, tag or block from `position`; the position after it, or None at the end."""
        match = _OUTSIDE.search(self.answer, position)
        if match is None:
            return None
        self.code_at_fault = False
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
            self.source = self.code(match.end())
            return None
        return self.section(tag, match.end())

    def section(self, tag: str, start: int) -> int:
        """Read a name or description; the first one that is not blank counts. It ends at its closing tag.

        Without one, and a name in any case, it ends where the next tag or block begins.
        """
        close = following = None
        if tag == "NAME":
            following = _OUTSIDE.search(self.answer, start)
            close = _CLOSE[tag].search(self.answer, start, following.start() if following else len(self.answer))
        elif not self.unclosed:
            close = _CLOSE[tag].search(self.answer, start)
            self.unclosed = close is None
        if close is not None:
            stop, position = close.start(), close.end()
        else:
            following = following or _OUTSIDE.search(self.answer, start)
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


def _no_patch(kind: PatchKind) -> str:
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

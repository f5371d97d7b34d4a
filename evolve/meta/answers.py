"""What models answer in the steps of an insights report, read once; and their texts made harmless.

`clean_line` and `clean_body` make a text unable to forge a heading, a section or the identifier of a program, and bound
its length. Both are idempotent.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evaluator.untrusted import block, inert_markdown, one_line
from evolve.archive.reports import SCRATCHPAD, SECTIONS
from evolve.completion import LINE_LIMIT, PROSE_LIMIT, UnusableAnswer

MAX_RECOMMENDATIONS = 5
_CUT = " [...]"

# Nothing here matches a blank in two ways, since a line of blanks would take minutes otherwise.
_NAME = re.compile(r"\s*+(?:#++\s*+)?\*\*Program Name\s*+(?::\s*+\*\*|\*\*\s*+:|:)", re.IGNORECASE)
_FIELD = re.compile(
    r"\s*+(?:[-*]\s*+)?\*\*(Implementation|Performance|Feedback)\s*+(?::\s*+\*\*|\*\*\s*+:)\s*+(.*)", re.IGNORECASE
)
_END = re.compile(r"\s*+(?:#++\s|\*\*Program Identifier\b|```)", re.IGNORECASE)
_ITEM = re.compile(r" {0,3}\d{1,3}[.)](?:\s+(.*)|$)")
_FENCE = re.compile(r" {0,3}(`{3,}+(?=[^`]*+$)|~{3,}+)")
_HEADING = re.compile(r" {0,3}#{1,2}(?=\s|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=++|-{2,}+)\s*+")
_TITLE = re.compile(r"\s{0,3}#{1,6}+\s*+(?:\d[.)]\s*+)?\**+([A-Za-z ]++)\**+\s*+:?\**+\s*+#*+\s*+")
_FORGED = re.compile(r"(?<!\*)\*{2,}+\s*+(Program (?:Identifier|Name))\b", re.IGNORECASE)


class SummaryAnswer(NamedTuple):
    """What a model says of a program. What it says of the performance is passed over: code states that."""

    name: str = ""
    implementation: str = ""
    feedback: str = ""


class NotesAnswer(NamedTuple):
    """The notes as a model writes them: Markdown, one text for each of SECTIONS, and what stands before them."""

    sections: Sequence[str]
    preface: str


def clean_line(text: str, limit: int = LINE_LIMIT) -> str:
    """Any text as one line of Markdown, of at most `limit` characters, that cannot be taken for one of ours."""
    words = " ".join(inert_markdown(_shortened(" ".join(text.split()), limit)).split())
    return _shortened(_FORGED.sub(r"*\1", one_line(words, len(words))), limit)


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - len(_CUT)].rstrip() + _CUT


def clean_body(text: str) -> str:
    """Any Markdown as the body of a section: headings above the third level become bold lines, and code fences end. At
    most PROSE_LIMIT characters, in lines of at most LINE_LIMIT."""
    lines: list[str] = []
    fence, room = "", PROSE_LIMIT
    for line in block(text[:PROSE_LIMIT], PROSE_LIMIT).split("\n"):
        inert = _FORGED.sub(r"*\1", inert_markdown(_shortened(line, LINE_LIMIT)).rstrip())
        line, following = _clean_body_line(_shortened(inert, LINE_LIMIT), fence)
        room -= len(line) + 1
        if room < len(following):  # the end of the fence has to fit too
            break
        fence = following
        lines.append(line)
    if fence:
        lines.append(fence)
    return "\n".join(lines).strip("\n").rstrip()


def _clean_body_line(line: str, fence: str) -> tuple[str, str]:
    """A line of a body made harmless, and the code fence that is open after it ("" for none)."""
    mark = _FENCE.match(line)
    if fence:
        if mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            return line, ""
        # A comment in code; in the first column it would read as a heading of ours.
        return (_shortened(f" {line}", LINE_LIMIT) if line.startswith("#") else line), fence
    if mark is not None:
        return line, mark[1]
    heading = _HEADING.match(line)
    if heading is not None:
        title = line[heading.end() :].rstrip().rstrip("#").strip().strip("*").strip()
        return (f"**{_shortened(title, LINE_LIMIT - 4)}**" if title else ""), ""
    underlines = _UNDERLINE.fullmatch(line)  # it would make the line above a heading
    return ("" if underlines else line), ""


def _summary_fields(lines: Iterable[str]) -> dict[str, str]:
    """What is there of `name`, `implementation`, `performance` and `feedback` in the lines on one program."""
    fields: dict[str, str] = {}
    current = ""
    for line in lines:
        if (name := _NAME.match(line)) is not None:
            fields.setdefault("name", line[name.end() :].strip().removesuffix("**").strip())
            current = ""
        elif (entry := _FIELD.fullmatch(line)) is not None:
            current = entry[1].lower()
            if current in fields:
                break  # a second program, which nobody asked for
            fields[current] = entry[2].strip()
        elif _END.match(line):
            current = ""
        elif current and line.strip():
            fields[current] += " " + line.strip()
    return fields


def read_summary(text: str) -> SummaryAnswer:
    """An answer to the first step. Raises UnusableAnswer when its implementation or feedback is missing; the name may
    be."""
    fields = {key: clean_line(value) for key, value in _summary_fields(text.split("\n")).items()}
    missing = [key for key in ("implementation", "feedback") if not fields.get(key)]
    if missing:
        raise UnusableAnswer(f"the answer has no {' and no '.join(missing)} line")
    return SummaryAnswer(fields.get("name", ""), fields["implementation"], fields["feedback"])


def read_scratchpad(text: str) -> NotesAnswer:
    """The four sections of an answer to the second step. Raises UnusableAnswer when one is missing or doubled."""
    titles = {title.lower(): title for title in SECTIONS}
    parts: dict[str, list[str]] = {"": []}
    current = ""
    for line in text.split("\n"):
        heading = _TITLE.fullmatch(line)
        title = titles.get(heading[1].strip().lower()) if heading is not None else None
        if title in parts:
            raise UnusableAnswer(f"the heading '## {title}' stands there twice")
        if title is not None:
            current, parts[title] = title, []
        elif line.strip() != f"# {SCRATCHPAD}":
            parts[current].append(line)
    bodies = {title: "\n".join(lines).strip("\n").rstrip() for title, lines in parts.items()}
    missing = [title for title in SECTIONS if not clean_body(bodies.get(title, ""))]
    if missing:
        raise UnusableAnswer(f"the answer has no section '{missing[0]}'")
    return NotesAnswer([bodies[title] for title in SECTIONS], bodies[""])


def read_recommendations(text: str) -> tuple[str, ...]:
    """The first MAX_RECOMMENDATIONS items of the numbered list that answers the third step, each with the lines that
    continue it. Raises UnusableAnswer without any."""
    items: list[str] = []
    for line in text.split("\n"):
        if (item := _ITEM.match(line)) is not None:
            items.append(item[1] or "")
        elif items:
            items[-1] += f" {line}"
    cleaned = tuple(filter(None, map(clean_line, items)))
    if not cleaned:
        raise UnusableAnswer("the answer has no numbered recommendation")
    return cleaned[:MAX_RECOMMENDATIONS]

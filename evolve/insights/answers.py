"""What models answer in the steps of an insights report, read once; and their texts made harmless.

`clean_line` and `clean_body` make a text unable to forge a heading, a section or the identifier of a program, and bound
its length. Both are idempotent.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from evaluator.untrusted import block, inert_markdown, one_line
from evolve.archive.reports import SCRATCHPAD, SECTIONS
from evolve.core.completion import LINE_LIMIT, PROSE_LIMIT

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
_OF_GENERATION = re.compile(
    r" {0,3}([#*]{0,8})[ *]{0,5}(?:Program\s+)?Gen(?:eration)?\s+(\d{1,9})\b(.*)", re.IGNORECASE
)
_RECOMMENDATIONS: Final = "recommendations"
_FORGED = re.compile(r"(?<!\*)\*{2,}+\s*+(Program (?:Identifier|Name))\b", re.IGNORECASE)


class SummaryAnswer(NamedTuple):
    """What a model says of a program. What it says of the performance is passed over: code states that."""

    name: str = ""
    implementation: str = ""
    feedback: str = ""


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


def read_summaries(text: str, generations: Sequence[int]) -> dict[int, SummaryAnswer]:
    """What an answer to the first question says of each of the programs that it was asked of, as far as that can be
    separated: by headings that name a generation. Where one has no parts, its text says what the program does."""
    fields: dict[int, list[str]] = {generations[0]: []} if len(generations) == 1 else {}
    lines: list[str] = fields.get(generations[0], [])
    for line in text.split("\n"):
        heading = _OF_GENERATION.match(line)
        if heading is not None and (heading[1] or not heading[3].strip(" :*\r")):  # else it is a sentence
            number = int(heading[2])
            lines = fields.setdefault(number, []) if number in generations else []
        else:
            lines.append(line)
    answers = {generation: _summary(lines) for generation, lines in fields.items()}
    return {generation: summary for generation, summary in answers.items() if any(summary)}


def _summary(lines: Sequence[str]) -> SummaryAnswer:
    fields = {key: clean_line(value) for key, value in _summary_fields(lines).items()}
    if not fields.get("implementation") and not fields.get("feedback"):
        return SummaryAnswer(fields.get("name", ""), clean_line(" ".join(lines)), "")
    return SummaryAnswer(fields.get("name", ""), fields.get("implementation", ""), fields.get("feedback", ""))


def read_insights(text: str) -> tuple[list[str], tuple[str, ...]]:
    """The scratchpad in an answer to the second question (what stands under no known heading, then a text for each of
    SECTIONS), and the first MAX_RECOMMENDATIONS recommendations: the numbered items behind a heading that calls them
    so. Without that heading they are those behind the last other one, and without any the numbered lines of the whole
    answer."""
    titles = {title.lower(): title for title in SECTIONS}
    parts: dict[str, list[str]] = {"": []}
    current = ""
    for line in text.split("\n"):
        heading = _TITLE.fullmatch(line)
        words = "" if heading is None else heading[1].strip().lower()
        if words.endswith(_RECOMMENDATIONS):
            current = _RECOMMENDATIONS
        elif words in titles:
            current = titles[words]
        elif line.strip() != f"# {SCRATCHPAD}":
            parts.setdefault(current, []).append(line)
            continue
        parts.setdefault(current, [])
    listed = _RECOMMENDATIONS if _RECOMMENDATIONS in parts else list(parts)[-1]
    rest, items = _items(parts[listed])
    if listed != _RECOMMENDATIONS:
        parts[listed] = rest
    bodies = {title: "\n".join(lines).strip("\n").rstrip() for title, lines in parts.items()}
    notes = [bodies.get(title, "") for title in ("", *SECTIONS)]
    return notes, tuple(filter(None, map(clean_line, items)))[:MAX_RECOMMENDATIONS]


def _items(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """The lines before a numbered list, and its items, each with the lines that continue it."""
    before, items = list[str](), list[str]()
    for line in lines:
        if (item := _ITEM.match(line)) is not None:
            items.append(item[1] or "")
        elif items:
            items[-1] += f" {line}"
        else:
            before.append(line)
    return before, items

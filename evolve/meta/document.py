"""The meta document: summaries of programs, insights, recommendations; as a value, as Markdown, and as models answer.

    > **WARNING**: ...                  one line, only when a program is quarantined; written by code
    # INDIVIDUAL PROGRAM SUMMARIES      an intro sentence, then one block of five lines for each program
    # GLOBAL INSIGHTS SCRATCHPAD        an intro sentence, perhaps a preface, then the four `## ` sections
    # META RECOMMENDATIONS              an intro sentence, then a numbered list
    # OUTCOMES OF EARLIER RECOMMENDATIONS    only where there are any; a list, written by code

Texts come from models. `clean` makes them unable to forge a heading, a section or an identifier line, and
`parse(render(document)) == clean(document)` holds for any text. `parse` also reads documents of other systems.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from evaluator.untrusted import block, inert_markdown, one_line
from evolve.completion import LINE_LIMIT, PROSE_LIMIT, UnusableAnswer
from evolve.errors import DocumentError

SUMMARIES = "INDIVIDUAL PROGRAM SUMMARIES"
SCRATCHPAD = "GLOBAL INSIGHTS SCRATCHPAD"
RECOMMENDATIONS = "META RECOMMENDATIONS"
OUTCOMES = "OUTCOMES OF EARLIER RECOMMENDATIONS"
SECTIONS = (
    "Successful Algorithmic Patterns",
    "Ineffective Approaches",
    "Implementation Insights",
    "Performance Analysis",
)
MAX_RECOMMENDATIONS = 5

_INTROS = {
    SUMMARIES: "What each program evaluated since the last document does, and how it did:",
    SCRATCHPAD: "What the run as a whole has taught so far:",
    RECOMMENDATIONS: "What the next proposals should try:",
}
_WARNING = "> **WARNING**: "
_NAME_LIMIT = 200
_CUT = " [...]"

_IDENTIFIER = re.compile(
    r"\*\*Program Identifier:\*\* Generation ([0-9]{1,9}) - Patch Name (.*) - Correct Program: (True|False)\s*"
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSummary:
    """Four lines about a program. Generation, patch name and correctness are the record's, never a model's."""

    generation: int
    patch_name: str
    correct: bool
    name: str = ""
    implementation: str = ""
    performance: str = ""
    feedback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratchpad:
    """The insights: Markdown, one text for each of SECTIONS, in that order."""

    sections: tuple[str, ...] = ("",) * len(SECTIONS)
    preface: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One meta document."""

    summaries: tuple[ProgramSummary, ...] = ()
    scratchpad: Scratchpad = field(default_factory=Scratchpad)
    recommendations: tuple[str, ...] = ()
    warning: str = ""  # for whoever reads the document; no prompt holds it
    outcomes: tuple[str, ...] = ()  # of the recommendations before it, a line each


def clean(document: Document) -> Document:
    """The document as it can be written: every text made harmless and brought to its own shape. Idempotent."""
    pad = document.scratchpad
    return Document(
        summaries=tuple(map(_clean_summary, document.summaries)),
        scratchpad=Scratchpad(sections=tuple(map(clean_body, pad.sections)), preface=clean_body(pad.preface)),
        recommendations=tuple(text for item in document.recommendations if (text := clean_line(item))),
        warning=clean_line(document.warning),
        outcomes=tuple(text for item in document.outcomes if (text := clean_line(item))),
    )


def _clean_summary(summary: ProgramSummary) -> ProgramSummary:
    return replace(
        summary,
        patch_name=clean_line(summary.patch_name, _NAME_LIMIT),
        name=clean_line(summary.name, _NAME_LIMIT),
        implementation=clean_line(summary.implementation),
        performance=clean_line(summary.performance),
        feedback=clean_line(summary.feedback),
    )


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


def render(document: Document) -> str:
    """The document as Markdown, ending in one newline."""
    document = clean(document)
    parts = [f"{_WARNING}{document.warning}"] if document.warning else []
    parts += [f"# {SUMMARIES}", _INTROS[SUMMARIES]]
    parts += map(render_summary, document.summaries)
    parts += [f"# {SCRATCHPAD}", _INTROS[SCRATCHPAD], render_scratchpad(document.scratchpad)]
    parts += [f"# {RECOMMENDATIONS}", _INTROS[RECOMMENDATIONS], render_recommendations(document.recommendations)]
    if document.outcomes:
        parts += [f"# {OUTCOMES}", "\n".join(f"- {text}" for text in document.outcomes)]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_summary(summary: ProgramSummary) -> str:
    """The block of one program."""
    shown = _clean_summary(summary)
    return (
        f"**Program Name: {shown.name}**\n"
        f"- **Implementation**: {shown.implementation}\n"
        f"- **Performance**: {shown.performance}\n"
        f"- **Feedback**: {shown.feedback}\n"
        f"**Program Identifier:** Generation {shown.generation} - Patch Name {shown.patch_name} - "
        f"Correct Program: {shown.correct}"
    )


def render_scratchpad(scratchpad: Scratchpad) -> str:
    """The scratchpad without its heading and intro, as it stands in the document and in prompts."""
    parts = [clean_body(scratchpad.preface)] if scratchpad.preface else []
    for title, body in zip(SECTIONS, scratchpad.sections, strict=True):
        parts.append(f"## {title}\n{clean_body(body)}".rstrip())
    return "\n\n".join(parts)


def render_recommendations(recommendations: Sequence[str]) -> str:
    """The numbered list."""
    return "\n".join(f"{number}.  {clean_line(text)}" for number, text in enumerate(recommendations, 1))


def parse(text: str) -> Document:
    """The document that `text` is. Raises DocumentError naming the heading that is missing or stands there twice."""
    parts = _split(text.replace("\r\n", "\n"), "# ", (SUMMARIES, SCRATCHPAD, RECOMMENDATIONS, OUTCOMES))
    missing = [title for title in (SUMMARIES, SCRATCHPAD, RECOMMENDATIONS) if title not in parts]
    if missing:
        raise DocumentError(f"not a meta document: it has no heading '# {missing[0]}'")
    warnings = [line.removeprefix(_WARNING) for line in parts[""].split("\n") if line.startswith(_WARNING)]
    return Document(
        warning=warnings[0] if warnings else "",
        summaries=tuple(parse_summaries(parts[SUMMARIES])),
        scratchpad=parse_scratchpad(_without_intro(parts[SCRATCHPAD])),
        recommendations=parse_recommendations(parts[RECOMMENDATIONS]),
        outcomes=tuple(line[2:] for line in parts.get(OUTCOMES, "").split("\n") if line.startswith("- ")),
    )


def parse_summaries(text: str) -> Iterator[ProgramSummary]:
    """The programs of a summaries part; one whose identifier line is missing is none."""
    lines: list[str] = []
    for line in text.split("\n"):
        if (identifier := _IDENTIFIER.fullmatch(line)) is None:
            if _NAME.match(line):
                lines = []
            lines.append(line)
            continue
        generation, patch_name, correct = identifier.groups()
        yield ProgramSummary(
            generation=int(generation), patch_name=patch_name, correct=correct == "True", **summary_fields(lines)
        )
        lines = []


def summary_fields(lines: Iterable[str]) -> dict[str, str]:
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


def parse_scratchpad(text: str) -> Scratchpad:
    """The scratchpad in `text`; a section that is not there is empty. Raises DocumentError for a second one."""
    parts = _split(text, "## ", SECTIONS)
    sections = tuple(parts.get(title, "").strip("\n").rstrip() for title in SECTIONS)
    return Scratchpad(sections=sections, preface=parts[""].strip("\n").rstrip())


def parse_recommendations(text: str) -> tuple[str, ...]:
    """The items of a numbered list, each with the lines that continue it. What stands before the list is none."""
    items: list[str] = []
    for line in text.split("\n"):
        if (item := _ITEM.match(line)) is not None:
            items.append(item[1] or "")
        elif items:
            items[-1] += f" {line}"
    return tuple(" ".join(item.split()) for item in items if item.strip())


def _split(text: str, mark: str, titles: Sequence[str]) -> dict[str, str]:
    """The text under each heading `mark + title` of `titles`, and under "" what stands before the first."""
    parts: dict[str, list[str]] = {"": []}
    current = ""
    for line in text.split("\n"):
        title = line[len(mark) :].strip() if line.startswith(mark) else ""
        if title in titles:
            if title in parts:
                raise DocumentError(f"the heading '{mark}{title}' stands there twice")
            current, parts[title] = title, []
        else:
            parts[current].append(line)
    return {title: "\n".join(lines) for title, lines in parts.items()}


def _without_intro(text: str) -> str:
    """`text` without its first paragraph when that is a plain sentence: the intro, which code writes."""
    head, _, rest = text.strip("\n").partition("\n\n")
    return text if head.startswith(("#", "-", "*")) or _ITEM.match(head) else rest


def read_summary(text: str) -> dict[str, str]:
    """The fields `name`, `implementation` and `feedback` of an answer to the first step.

    What it says of the performance is passed over: code states that. Raises UnusableAnswer when one is missing; the
    name may be.
    """
    found = {key: clean_line(value) for key, value in summary_fields(text.split("\n")).items() if key != "performance"}
    missing = [key for key in ("implementation", "feedback") if not found.get(key)]
    if missing:
        raise UnusableAnswer(f"the answer has no {' and no '.join(missing)} line")
    return found


def read_scratchpad(text: str) -> Scratchpad:
    """The four sections of an answer to the second step. Raises UnusableAnswer when one is missing or doubled."""
    titles = {title.lower(): title for title in SECTIONS}
    lines = []
    for line in text.split("\n"):
        heading = _TITLE.fullmatch(line)
        title = titles.get(heading[1].strip().lower()) if heading is not None else None
        lines.append(line if title is None else f"## {title}")
    try:
        pad = parse_scratchpad("\n".join(line for line in lines if line.strip() != f"# {SCRATCHPAD}"))
    except ValueError as doubled:
        raise UnusableAnswer(str(doubled)) from None
    missing = [title for title, body in zip(SECTIONS, pad.sections, strict=True) if not clean_body(body)]
    if missing:
        raise UnusableAnswer(f"the answer has no section '{missing[0]}'")
    return pad


def read_recommendations(text: str) -> tuple[str, ...]:
    """The first MAX_RECOMMENDATIONS items of an answer to the third step. Raises UnusableAnswer without any."""
    found = tuple(item for text in parse_recommendations(text) if (item := clean_line(text)))
    if not found:
        raise UnusableAnswer("the answer has no numbered recommendation")
    return found[:MAX_RECOMMENDATIONS]

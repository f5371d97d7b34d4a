"""The meta document: summaries of programs, a scratchpad of insights, recommendations; as a value and as Markdown.

    > **WARNING**: ...                  one line, only when a program is quarantined; written by code
    # INDIVIDUAL PROGRAM SUMMARIES      an intro sentence, then one block of five lines for each program
    # GLOBAL INSIGHTS SCRATCHPAD        an intro sentence, perhaps a preface, then the four `## ` sections
    # META RECOMMENDATIONS              an intro sentence, perhaps a preface, then a numbered list

Texts come from models. `clean` makes them unable to forge a heading, a section or an identifier line, and
`parse(render(document)) == clean(document)` holds for any text. `parse` also reads documents of other systems.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evaluator.untrusted import block, one_line

SUMMARIES = "INDIVIDUAL PROGRAM SUMMARIES"
SCRATCHPAD = "GLOBAL INSIGHTS SCRATCHPAD"
RECOMMENDATIONS = "META RECOMMENDATIONS"
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
_FIELD_LIMIT = 4000
_SECTION_LIMIT = 16_000
_CUT = "[...]"
_NAME_LIMIT = 200

_IDENTIFIER = re.compile(
    r"\*\*Program Identifier:\*\* Generation (\d+) - Patch Name (.*) - Correct Program: (True|False)\s*"
)
_NAME = re.compile(r"\*\*Program Name: ?(.*)\*\*\s*")
_FIELD = re.compile(r"- \*\*(Implementation|Performance|Feedback)\*\*: ?(.*)")
_ITEM = re.compile(r" {0,3}\d{1,3}[.)](?:\s+(.*)|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FORGED = re.compile(r"\*{2,}\s*(Program (?:Identifier|Name))\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSummary:
    """Four lines about a program. Generation, patch name and correctness are the record's, never a model's."""

    generation: int
    patch_name: str
    correct: bool
    name: str
    implementation: str
    performance: str
    feedback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratchpad:
    """The insights: Markdown, one text for each of SECTIONS, in that order."""

    patterns: str = ""
    ineffective: str = ""
    insights: str = ""
    performance: str = ""
    preface: str = ""

    @property
    def sections(self) -> tuple[str, str, str, str]:
        """The four texts in the order of SECTIONS."""
        return self.patterns, self.ineffective, self.insights, self.performance


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One meta document."""

    summaries: tuple[ProgramSummary, ...] = ()
    scratchpad: Scratchpad = field(default_factory=Scratchpad)
    recommendations: tuple[str, ...] = ()
    recommendations_preface: str = ""
    warning: str = ""  # for whoever reads the document; no prompt holds it


def clean(document: Document) -> Document:
    """The document as it can be written: every text made harmless and brought to its own shape. Idempotent."""
    pad = document.scratchpad
    patterns, ineffective, insights, performance = map(clean_body, pad.sections)
    return Document(
        summaries=tuple(map(_clean_summary, document.summaries)),
        scratchpad=Scratchpad(
            patterns=patterns,
            ineffective=ineffective,
            insights=insights,
            performance=performance,
            preface=clean_body(pad.preface),
        ),
        recommendations=tuple(text for item in document.recommendations if (text := clean_line(item))),
        recommendations_preface=_clean_preface(document.recommendations_preface),
        warning=clean_line(document.warning),
    )


def _clean_summary(summary: ProgramSummary) -> ProgramSummary:
    return ProgramSummary(
        generation=summary.generation,
        patch_name=clean_name(summary.patch_name),
        correct=summary.correct,
        name=clean_line(summary.name, _NAME_LIMIT),
        implementation=clean_line(summary.implementation),
        performance=clean_line(summary.performance),
        feedback=clean_line(summary.feedback),
    )


def clean_name(text: str) -> str:
    """A patch name as the identifier line shows it."""
    return _one_line(text, _NAME_LIMIT)


def clean_line(text: str, limit: int = _FIELD_LIMIT) -> str:
    """Any text as one line of Markdown that cannot be taken for one of ours."""
    return _FORGED.sub(r"*\1", _one_line(text, limit))


def _one_line(text: str, limit: int) -> str:
    words = " ".join(text.split())
    shown = one_line(words, len(words))
    return shown if len(shown) <= limit else shown[: limit - len(_CUT) - 1].rstrip() + f" {_CUT}"


def clean_body(text: str) -> str:
    """Any Markdown as the body of a section: headings above the third level become bold lines, and code fences end."""
    lines: list[str] = []
    fence, length = "", 0
    for line in block(text, len(text)).split("\n"):
        line, fence = _clean_body_line(_FORGED.sub(r"*\1", line.rstrip()), fence)
        length += len(line) + 1
        if length > _SECTION_LIMIT:
            lines.append(_CUT)
            break
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
        return (f" {line}" if line.startswith("#") else line), fence
    if mark is not None:
        return line, mark[1]
    heading = re.match(r" {0,3}#{1,2}(?:\s+(.*?)#*\s*|$)$", line)
    if heading is not None:
        title = (heading[1] or "").strip().strip("*").strip()
        return (f"**{title}**" if title else ""), ""
    underlines = re.fullmatch(r" {0,3}(=+|-{2,})\s*", line)  # it would make the line above a heading
    return ("" if underlines else line), ""


def _clean_preface(text: str) -> str:
    """A preface before a numbered list holds no line that would be an item of it."""
    return "\n".join(
        f"- {item[1] or ''}".rstrip() if (item := _ITEM.match(line)) else line for line in clean_body(text).split("\n")
    )


def render(document: Document) -> str:
    """The document as Markdown, ending in one newline."""
    document = clean(document)
    parts = [f"{_WARNING}{document.warning}"] if document.warning else []
    parts += [f"# {SUMMARIES}", _INTROS[SUMMARIES]]
    parts += map(render_summary, document.summaries)
    parts += [f"# {SCRATCHPAD}", _INTROS[SCRATCHPAD], render_scratchpad(document.scratchpad)]
    parts += [f"# {RECOMMENDATIONS}", _INTROS[RECOMMENDATIONS]]
    if document.recommendations_preface:
        parts.append(document.recommendations_preface)
    parts.append(render_recommendations(document.recommendations))
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
    """The document that `text` is. Raises ValueError naming the heading that is missing or stands there twice."""
    parts = _split(text.replace("\r\n", "\n"), "# ", (SUMMARIES, SCRATCHPAD, RECOMMENDATIONS))
    missing = [title for title in (SUMMARIES, SCRATCHPAD, RECOMMENDATIONS) if title not in parts]
    if missing:
        raise ValueError(f"not a meta document: it has no heading '# {missing[0]}'")
    preface, recommendations = parse_recommendations(_without_intro(parts[RECOMMENDATIONS]))
    warnings = [line.removeprefix(_WARNING) for line in parts[""].split("\n") if line.startswith(_WARNING)]
    return Document(
        warning=warnings[0] if warnings else "",
        summaries=tuple(parse_summaries(parts[SUMMARIES])),
        scratchpad=parse_scratchpad(_without_intro(parts[SCRATCHPAD])),
        recommendations=recommendations,
        recommendations_preface=preface,
    )


def parse_summaries(text: str) -> Iterator[ProgramSummary]:
    """The programs of a summaries part; one whose identifier line is missing is none."""
    fields: dict[str, str] = {}
    last = ""
    for line in text.split("\n"):
        if (name := _NAME.fullmatch(line)) is not None:
            fields, last = {"Name": name[1]}, ""
        elif (identifier := _IDENTIFIER.fullmatch(line)) is not None:
            yield ProgramSummary(
                generation=int(identifier[1]),
                patch_name=identifier[2],
                correct=identifier[3] == "True",
                name=fields.get("Name", ""),
                implementation=fields.get("Implementation", ""),
                performance=fields.get("Performance", ""),
                feedback=fields.get("Feedback", ""),
            )
            fields, last = {}, ""
        elif (entry := _FIELD.fullmatch(line)) is not None:
            last = entry[1]
            fields[last] = entry[2].strip()
        elif last and line.strip():
            fields[last] += " " + line.strip()


def parse_scratchpad(text: str) -> Scratchpad:
    """The scratchpad in `text`; a section that is not there is empty. Raises ValueError when one stands there twice."""
    parts = _split(text, "## ", SECTIONS)
    patterns, ineffective, insights, performance = (parts.get(title, "").strip("\n").rstrip() for title in SECTIONS)
    return Scratchpad(
        patterns=patterns,
        ineffective=ineffective,
        insights=insights,
        performance=performance,
        preface=parts[""].strip("\n").rstrip(),
    )


def parse_recommendations(text: str) -> tuple[str, tuple[str, ...]]:
    """What stands before a numbered list, and its items, each with the lines that continue it."""
    preface: list[str] = []
    items: list[list[str]] = []
    for line in text.split("\n"):
        if (item := _ITEM.match(line)) is not None:
            items.append([item[1] or ""])
        elif items:
            items[-1].append(line)
        else:
            preface.append(line)
    found = (" ".join(" ".join(lines).split()) for lines in items)
    return "\n".join(preface).strip("\n").rstrip(), tuple(item for item in found if item)


def _split(text: str, mark: str, titles: Sequence[str]) -> dict[str, str]:
    """The text under each heading `mark + title` of `titles`, and under "" what stands before the first."""
    parts: dict[str, list[str]] = {"": []}
    current = ""
    for line in text.split("\n"):
        title = line[len(mark) :].strip() if line.startswith(mark) else ""
        if title in titles:
            if title in parts:
                raise ValueError(f"the heading '{mark}{title}' stands there twice")
            current, parts[title] = title, []
        else:
            parts[current].append(line)
    return {title: "\n".join(lines) for title, lines in parts.items()}


def _without_intro(text: str) -> str:
    """`text` without its first paragraph when that is a plain sentence: the intro, which code writes."""
    head, _, rest = text.strip("\n").partition("\n\n")
    return text if head.startswith(("#", "-", "*")) or _ITEM.match(head) else rest

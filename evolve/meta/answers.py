"""Reading what a model answered to the three steps. An answer that is not whole is refused, with what is missing."""

import re

from evolve.completion import Completion
from evolve.meta.document import (
    MAX_RECOMMENDATIONS,
    SCRATCHPAD,
    SECTIONS,
    Scratchpad,
    clean_body,
    clean_line,
    parse_recommendations,
    parse_scratchpad,
)

_FIELD = re.compile(
    r"\s*[-*]?\s*\*\*(Implementation|Performance|Feedback)\s*(?::\s*\*\*|\*\*\s*:)\s*(.*)", re.IGNORECASE
)
_NAME = re.compile(r"\s*(?:#+\s*)?\*\*Program Name\s*(?::\s*\*\*|\*\*\s*:|:)\s*(.*?)\**\s*", re.IGNORECASE)
_END = re.compile(r"\s*(?:#+\s+|\*\*Program Identifier\b|```)", re.IGNORECASE)
_WRAPPED = re.compile(r"\s*```[a-zA-Z]*\n(.*?)\n?```\s*", re.DOTALL)


class UnusableAnswer(ValueError):
    """Raised when an answer is cut off, refused, empty, or lacks a part."""


def text_of(completion: Completion) -> str:
    """The text of a whole answer, out of a fence around all of it. Raises UnusableAnswer for any other ending."""
    if completion.finish_reason not in ("stop", "unknown"):
        raise UnusableAnswer(f"the answer ended with {completion.finish_reason}")
    text = completion.text.replace("\r\n", "\n")
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped is not None and "```" not in wrapped[1]:
        text = wrapped[1]
    if not text.strip():
        raise UnusableAnswer("the answer is empty")
    return text


def read_summary(text: str) -> dict[str, str]:
    """The fields `name`, `implementation`, `performance`, `feedback` of an answer to the first step.

    Name and performance may be missing (code can state both); raises UnusableAnswer when another one is.
    """
    fields: dict[str, str] = {}
    current = ""
    for line in text.split("\n"):
        if (name := _NAME.fullmatch(line)) is not None and "name" not in fields:
            fields["name"], current = name[1], ""
        elif (entry := _FIELD.fullmatch(line)) is not None:
            current = entry[1].lower()
            if current in fields:
                break  # a second program, which nobody asked for
            fields[current] = entry[2]
        elif _END.match(line):
            current = ""
        elif current:
            fields[current] += " " + line
    found = {key: clean_line(value) for key, value in fields.items()}
    missing = [key for key in ("implementation", "feedback") if not found.get(key)]
    if missing:
        raise UnusableAnswer(f"the answer has no {' and no '.join(missing)} line")
    return found


def read_scratchpad(text: str) -> Scratchpad:
    """The four sections of an answer to the second step. Raises UnusableAnswer when one is missing or doubled."""
    titles = {title.lower(): title for title in SECTIONS}
    lines = []
    for line in text.split("\n"):
        heading = re.fullmatch(r"\s{0,3}#{1,6}\s*(?:\d[.)]\s*)?\**([A-Za-z ]+?)\**\s*:?\**\s*#*\s*", line)
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
    _, items = parse_recommendations(text)
    found = tuple(item for text in items if (item := clean_line(text)))
    if not found:
        raise UnusableAnswer("the answer has no numbered recommendation")
    return found[:MAX_RECOMMENDATIONS]

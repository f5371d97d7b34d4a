"""A program of any language split into code, strings and comments; and its text without comments and layout.

A text that cannot be split for certain is used unchanged: two programs that differ in anything but comments and layout
are never called equal. In return, some equal programs are called different.
"""

import functools
import json
import re
from dataclasses import dataclass
from enum import StrEnum

from evolve.lang.languages import Language

# Ends of lines in some languages and not in others, and placeholders of spans in a line.
_CONTROLS = re.compile(r"\r(?!\n)|[\0\x01\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_JOINED = re.compile(r"\\[ \t]*\r?(?:\n|\Z)")
_OPENERS = r"""["'`]|/\*"""
_KEPT, _DROPPED = "\0", "\x01"
_BLANKED = re.compile(rf"(?:(?<![ \t])[ \t]++)?{_DROPPED}[ \t]*+")


class Kind(StrEnum):
    """The kinds of stretch of a text."""

    CODE = "code"
    KEPT = "kept"  # a string, or a comment that a compiler obeys
    COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start` to `stop` (not included) of a text."""

    kind: Kind
    start: int
    stop: int


@functools.lru_cache(maxsize=64)
def spans(source: str, language: Language) -> tuple[Span, ...] | None:
    """The spans of the whole text, in order; None where it cannot be split."""
    if not language.has_grammar or _CONTROLS.search(source):
        return None
    if language.never and re.search(language.never, source):
        return None
    search, split, position, code, risky = scanner(language).search, list[Span](), 0, 0, 0
    while (match := search(source, position)) is not None:
        start, position = match.span()
        group = match.lastgroup
        if group == "word":
            continue
        if group == "risky":
            risky = _line_end(source, position)
            continue
        if group == "opening" and language.nested is not None:
            position = _end_of_nested(source, position, language)
        if group in ("early", "unclosed", "doubt") or position < 0 or start < risky:
            return None
        is_kept = group == "kept"
        if not is_kept and _JOINED.search(source, start, position + 1):
            return None  # does the comment go on in the next line?
        if code < start:
            split.append(Span(Kind.CODE, code, start))
        split.append(Span(Kind.KEPT if is_kept else Kind.COMMENT, start, position))
        code = position
    if code < len(source):
        split.append(Span(Kind.CODE, code, len(source)))
    return tuple(split)


@functools.cache
def scanner(language: Language) -> re.Pattern[str]:
    """The pattern of the next stretch of a text that is not plain code: the name of the group says what it is."""
    groups = {
        "early": language.doubtful,
        "kept": "|".join(language.kept),
        "comment": "|".join(language.comments),
        "opening": "" if language.nested is None else re.escape(language.nested[0]),
        "unclosed": language.unclosed,
        "risky": language.risky,
        "word": language.word,
        "doubt": _OPENERS,
    }
    return re.compile("|".join(f"(?P<{name}>{part})" for name, part in groups.items() if part), re.MULTILINE)


def _end_of_nested(source: str, start: int, language: Language) -> int:
    """The end of the nested comment whose opening ends at `start`; -1 if it has none."""
    assert language.nested is not None
    opening, closing = language.nested
    depth, position, either = 1, start, re.compile(f"{re.escape(opening)}|{re.escape(closing)}")
    while depth:
        match = either.search(source, position)
        if match is None:
            return -1
        depth += 1 if match[0] == opening else -1
        position = match.end()
    return position


def normalised(source: str, language: Language) -> str:
    """A text that two programs share only if they differ in nothing but comments and layout."""
    split = spans(source, language)
    if split is None:
        return json.dumps(source)
    kept, parts = list[str](), list[str]()
    for span in split:
        text = source[span.start : span.stop]
        if span.kind is Kind.CODE:
            parts.append(text)
        elif span.kind is Kind.COMMENT and _may_go(source, span):
            parts.append(_DROPPED)
        else:
            kept.append(text)
            parts.append(_KEPT)
    lines = []
    for line in "".join(parts).split("\n"):
        bare = _BLANKED.sub(" ", line).rstrip(" \t\r")
        if bare.strip(" \t"):
            lines.append(bare.lstrip(" \t"))
    return json.dumps([lines, kept])


def _may_go(source: str, comment: Span) -> bool:
    """Whether a comment can be replaced by a blank. One that joins two lines is kept."""
    after = source[comment.stop : _line_end(source, comment.stop)].strip(" \t\r")
    if not after:
        return True
    before = source[source.rfind("\n", 0, comment.start) + 1 : comment.start].strip(" \t")
    return not before or "\n" not in source[comment.start : comment.stop]


def _line_end(source: str, position: int) -> int:
    end = source.find("\n", position)
    return end if end >= 0 else len(source)

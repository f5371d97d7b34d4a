"""The numbers of a program in any language, outside of its strings and comments: found, and given new values."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evolve.lang.languages import PYTHON, Language
from evolve.lang.lexing import Kind, spans

_NUMBER = re.compile(
    r"(?<![\w$@#'])(?<![^.]\.)(?P<digits>(?:\d[\d_]*(?:\.(?![.\w]))?(?:(?<=\d)\.\d[\d_]*)?|\.\d[\d_]*)(?:[eEdD][+-]?\d+)?)"
    r"(?P<suffix>[A-Za-z_]\w*)?(?![\w']|\.\w)"
)
_DIRECTIVE = re.compile(r"[ \t]*#(?![ \t]*define\b)")
_DEFINED = re.compile(
    r"#[ \t]*define[ \t]+(?P<defined>\w+)[ \t]+[-(]*$"
    r"|(?P<name>[^\W\d][\w']*)[ \t]*(?::[ \t]*[\w<>]+[ \t]*)?(?::=|<-|=)[ \t]*-?$"
)
_CONSTANT = re.compile(r"\b(?:const|constexpr|final|parameter|readonly|val)\b")
_ENDS = re.compile(r"[ \t]*(?:[;,)\r\n]|\Z)")
_ASSIGNMENT = re.compile(
    r"^[ \t]*(?:(?:export|readonly|my|our|local)[ \t]+)?\$?[A-Za-z_]\w*[ \t]*=[ \t]*-?[\d.][\w.+-]*"
    r"(?=[ \t]*;?[ \t]*(?:\#.*)?\r?$)",
    re.MULTILINE,
)
LOOK_BACK = 200  # characters to the left of a number in which its name may be


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A number: its digits are the characters `start` to `stop`; `name` is that of a constant, None without one."""

    start: int
    stop: int
    line: int
    name: str | None
    value: int | float


def literals(source: str, language: Language) -> tuple[Literal, ...]:
    """The decimal numbers of a program, in order, but for indices and preprocessor directives; none of a text that
    cannot be split. In shell, Perl, Ruby and the like: those of assignments on a line of their own."""
    if language.sign == "#" and not language.has_grammar and language is not PYTHON:
        places = [line.span() for line in _ASSIGNMENT.finditer(source)]
    else:
        places = [(span.start, span.stop) for span in spans(source, language) or () if span.kind is Kind.CODE]
    return tuple(_literals_in(source, places, language))


def with_values(source: str, values: dict[Literal, int | float]) -> str:
    """The source with new values for some of its numbers."""
    for literal in sorted(values, key=lambda literal: literal.start, reverse=True):
        written = _written(values[literal], source[literal.start : literal.stop])
        source = source[: literal.start] + written + source[literal.stop :]
    return source


def _written(value: int | float, digits: str) -> str:
    """A number in the style of `digits`: `1.5d0` has a double's exponent."""
    text = repr(value)
    if "d" not in digits.lower():
        return text
    return text.replace("e", "d") if "e" in text else f"{text}d0"


def _literals_in(source: str, places: Iterable[tuple[int, int]], language: Language) -> Iterator[Literal]:
    line, line_start, counted = 1, 0, 0  # lines are counted once: to count from the beginning takes quadratic time
    matches = ((match, stop) for start, stop in places for match in _NUMBER.finditer(source, start, stop))
    for match, stop in matches:
        first, last = match.span("digits")
        digits, suffix = match["digits"], match["suffix"] or ""
        value = _value(digits)
        line += source.count("\n", counted, first)
        line_start = max(line_start, source.rfind("\n", counted, first) + 1)
        counted = first
        if value is None or (language.sign != "#" and _DIRECTIVE.match(source, line_start)):
            continue
        if (digits == "0" and suffix and suffix[0] in "xXbBoO") or _is_index(source, first, match.end()):
            continue
        before = source[max(line_start, first - LOOK_BACK) : first]
        name = _name(before) if _ENDS.match(source, match.end(), stop) else None
        yield Literal(start=first, stop=last, line=line, name=name, value=value)


def _value(digits: str) -> int | float | None:
    plain = digits.replace("_", "").lower().replace("d", "e")
    if plain.isdecimal():
        return None if (len(plain) > 1 and plain[0] == "0") or len(plain) > 15 else int(plain)  # octal, elsewhere
    value = float(plain)
    return value if math.isfinite(value) else None


def _is_index(source: str, start: int, stop: int) -> bool:
    before, after = source[max(0, start - 8) : start].rstrip(" \t"), source[stop : stop + 8].lstrip(" \t")
    return before.endswith("[") and after.startswith("]")


def _name(line: str) -> str | None:
    """The name of the constant whose number follows `line`: in capitals, or declared constant."""
    match = _DEFINED.search(line)
    if match is None:
        return None
    name = match["name"]
    if name is None:
        return match["defined"]
    constant = (len(name) > 1 and name.isupper()) or _CONSTANT.search(line[: match.start()])
    return name if constant else None

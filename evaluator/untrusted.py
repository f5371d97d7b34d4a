"""Text that a candidate or a model wrote: made harmless for a terminal, a commit message or a log line."""

import re
import unicodedata

# Categories that move the cursor, hide or reorder text, or cannot be encoded: controls, formats (bidi overrides, zero
# width), surrogates, private use, unassigned, line and paragraph separators.
_HOSTILE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def _escaped(character: str) -> str:
    code = ord(character)
    if character == "\\":
        return "\\\\"
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _hostile(character: str, keep: str) -> bool:
    return character not in keep and unicodedata.category(character) in _HOSTILE


def _note(text: str, limit: int) -> str:
    """The note on characters beyond `limit`; empty, and nothing is cut, where it would be no shorter than they are."""
    note = f" [... {len(text) - limit} characters cut]"
    return note if len(text) - limit > len(note) else ""


def cut(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, with a note on how many were cut."""
    note = _note(text, limit)
    return f"{text[:limit]}{note}" if note else text


def one_line(text: str, limit: int = 200) -> str:
    """Untrusted `text` as a single printable line: no escape sequence, no newline, at most `limit` characters. A
    backslash is doubled only in texts that need escaping: ordinary text stays readable, and escaped text cannot imitate
    another."""
    note = _note(text, limit)
    short = text[:limit] if note else text
    if not (short.isascii() and short.isprintable()) and any(_hostile(character, "") for character in short):
        short = "".join(_escaped(c) if c == "\\" or _hostile(c, "") else c for c in short)
    return short + note


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")  # the hostile characters of ASCII, without line breaks and tabs
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_WEB = re.compile(r"(?i)\b(www\.)(?=\S)")


def inert_markdown(text: str) -> str:
    """Untrusted Markdown without anything that a viewer loads, runs or follows: HTML, images, links, their definitions.

    A blank makes each of them harmless (`< img`, `] (`, `: //`) and leaves the text readable. Code in backticks gets
    the blanks too: viewers differ on where a span of code ends. Idempotent.
    """
    text = _TAG.sub("< ", text)
    for mark in ("](", "]:", "]["):
        text = text.replace(mark, f"{mark[0]} {mark[1]}")
    return _WEB.sub(r"\1 ", text.replace("://", ": //"))


def block(text: str, limit: int = 64 * 1024) -> str:
    """Untrusted `text` with line breaks and tabs kept, and every other control character escaped."""
    note = _note(text, limit)
    shown = (text[:limit] if note else text).replace("\r\n", "\n")
    hostile = _CONTROL.search(shown) if shown.isascii() else any(_hostile(character, "\n\t") for character in shown)
    if hostile:
        shown = "".join(_escaped(c) if _hostile(c, "\n\t") else c for c in shown)
    return f"{shown}\n{note[1:]}" if note else shown

"""What a server said of an error, whatever the shape of its answer: the words, and what they point at. Pure.

OpenAI says {"error": {"message", "param", "code"}}, Mistral a list of pydantic's details, Gemini a list of such errors,
a gateway the JSON of the server behind it as text within its own.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from evaluator.untrusted import one_line

MOST_SAID = 6000  # characters that are read
_DEEP = 8
_TELLING = ("message", "detail", "msg", "error", "description", "reason", "metadata", "raw", "details", "title")
_STATUS = re.compile("[45][0-9]{2}")
_SENTENCE_END = re.compile(r"[.;!?]\s+|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """`text` is all of the words; `places` the fields that they point at (`temperature`, `reasoning.effort`); `code`
    and `status` what the body states as such; `numbers` the whole numbers beside the words (llama.cpp's `n_ctx`)."""

    text: str = ""
    places: frozenset[str] = frozenset()
    code: str | None = None
    status: int | None = None
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """The words, sentence by sentence."""
        return [part for part in _SENTENCE_END.split(self.text) if part]

    @property
    def line(self) -> str:
        """The words as one printable line."""
        return one_line(self.text.replace("\n", " "), 300)


def said_in_body(content: bytes) -> Said:
    """What the bytes of an HTTP error say: of JSON its field `error`, if it has one."""
    text = content.decode("utf-8", "replace").strip()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return said_in(text)
    return said_in(document.get("error", document) if isinstance(document, dict) else document)


def said_in(body: object) -> Said:
    """What the body of an error says: JSON of any shape, or a text."""
    texts: list[str] = []
    places: set[str] = set()
    numbers: dict[str, int] = {}
    codes: list[object] = []
    for key, value in _walk(body, "", 0):
        if key == "loc":
            places.add(str(value))
        elif key in ("param", "field") and isinstance(value, str) and value:
            places.add(value)
        elif key == "code" and isinstance(value, str | int):
            codes.append(value)
        elif isinstance(value, str) and key in ("", *_TELLING) and value not in texts and value.strip()[:1] != "<":
            texts.append(value)
        elif type(value) is int and key.startswith("n_"):
            numbers[key] = value
    return Said(
        text="\n".join(texts)[:MOST_SAID],
        places=frozenset(places),
        code=next((code for code in codes if isinstance(code, str)), None),
        status=next((int(code) for code in map(str, codes) if _STATUS.fullmatch(code)), None),
        numbers=numbers,
    )


def _walk(value: Any, key: str, depth: int) -> Iterator[tuple[str, object]]:
    """Every single value with the name of its field; a text that is JSON is gone into."""
    if depth > _DEEP:
        return
    if isinstance(value, str):
        inner = _json_in(value)
        if inner is None:
            yield key, value[:MOST_SAID]
        else:
            yield from _walk(inner, key, depth + 1)
    elif isinstance(value, dict):
        for name, item in list(value.items())[:100]:
            if name == "loc" and isinstance(item, list):
                for part in item:
                    if isinstance(part, str):
                        yield "loc", part
            elif name != "input":  # what was sent, which may be anything
                yield from _walk(item, str(name), depth + 1)
    elif isinstance(value, list):
        for item in value[:100]:
            yield from _walk(item, key, depth + 1)
    else:
        yield key, value


def _json_in(text: str) -> Any:
    """What a text holds that is a JSON object or list; None for any other."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None

"""Runs as one self-contained HTML file.

Its data is base64 of deflated JSON: `{"format": 1, "runs": [...], "rows": their rows in the table of runs, "compare":
the output of `evolve compare`, or null, "texts": [[4, 5, 6], ...], "lines": [...]}`. Prompts, answers and programs of a
run repeat many lines, so each line is stored once, and a text as the numbers of its lines: `{"$lines": 0}` is the first
of `texts`. Paths of this machine in a configuration are left out.
"""

import base64
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from evolve.archive.reader import RunReader
from evolve.review import comparison
from evolve.view import payload
from evolve.view.assets import report_page
from evolve.view.payload import run_summary

_FORMAT: Final = 1
_LINES: Final = "$lines"
_SHORT: Final = 120
"""The most characters of a line that is stored in place."""
_KEPT: Final = 128
"""The number of prompts and answers cached while generations are read."""


def report(runs: Mapping[str, RunReader]) -> str:
    """The HTML file about runs, by name. Raises InputError if one cannot be read, or they cannot be compared."""
    lines = _TextLines()
    packed = [_run(name, archive, lines) for name, archive in runs.items()]
    rows = [lines.packed(run_summary(name, archive)) for name, archive in runs.items()]
    compared = lines.packed(_compared(runs))
    document = {"format": _FORMAT, "runs": packed, "rows": rows, "compare": compared}
    document |= {"texts": lines.texts, "lines": lines.all}
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    deflate = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    data = deflate.compress(text.encode("ascii")) + deflate.flush()
    return report_page(base64.b64encode(data).decode("ascii"))


def _run(name: str, archive: RunReader, lines: "_TextLines") -> dict[str, Any]:
    document = without_model_paths(payload.run_document(name, archive, fingerprint=True))
    gens = document.pop("gens")
    document |= {key: without_paths(document[key]) for key in ("config", "sessions")}
    drawn = {0} if archive.best is None else {0, archive.best.generation}
    packed: dict[str, Any] = lines.packed(document)
    generations, text = {}, _reader_of_texts(archive)
    for number in archive.statuses:
        generation = without_model_paths(payload.generation_document(archive, number, text))
        if "pictures" in generation and number not in drawn:  # they are long; pages compare with these two
            generation |= {"pictures": {}, "pictures_problem": None}
        generations[str(number)] = lines.packed(generation)
    return packed | {"gens": gens, "gendocs": generations}


def _reader_of_texts(archive: RunReader) -> Callable[[str], str]:
    """A reader of texts by id, as they are shown. A text that is too long is read once, since a small archive can name
    texts of 16 MB in thousands of questions."""
    too_long: dict[str, str] = {}

    @lru_cache(maxsize=_KEPT)
    def read(name: str) -> str:
        whole = archive.text(name)
        text = shown(whole)
        if text is not whole:
            too_long[name] = text
        return text

    return lambda name: too_long.get(name) or read(name)


def _compared(runs: Mapping[str, RunReader]) -> dict[str, Any] | None:
    if len(runs) < 2:
        return None
    read = [comparison.read_run(*run) for run in runs.items()]
    if (twice := comparison.counted_twice(read)) is not None:
        return {"apart": f"{comparison.are_one(*twice)}, so these runs are not compared.", "judges": []}
    compared = comparison.comparison_json(comparison.grouped(read))
    judges = [judged | {"differences": without_paths(judged["differences"])} for judged in compared["judges"]]
    return compared | {"judges": judges}


class _TextLines:
    """Stores each line of all texts once, and each text as the numbers of its lines."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._characters, self._left = MOST_OF_ALL, MOST_LINES_OF_ALL
        self.texts: list[list[int]] = []

    @property
    def all(self) -> Sequence[str]:
        """The lines, by their numbers."""
        return list(self._numbers)

    def packed(self, value: Any) -> Any:
        """A value with its long texts replaced by references to their lines."""
        if isinstance(value, str) and (len(value) > _SHORT or "\n" in value):
            return self._packed_text(shown(value))
        if isinstance(value, Mapping):
            # A foreign key of that name gets one letter more.
            return {f"{key} " if key == _LINES else str(key): self.packed(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.packed(each) for each in value]
        return value

    def _packed_text(self, text: str) -> Any:
        if text not in self._places:
            lines = text.count("\n") + 1
            if len(text) > self._characters or lines > self._left:
                return LEFT_OUT
            self._characters -= len(text)
            self._left -= lines
            self._places[text] = len(self.texts)
            numbers = self._numbers
            self.texts.append([numbers.setdefault(line, len(numbers)) for line in text.split("\n")])
        return {_LINES: self._places[text]}


_VALUE: Final = re.compile(r"((?:[A-Za-z_.]+:)?)/(?!/)(?:[^\n]*/)?([^/\n]+)/?")
"""A text that is a path, maybe with a prefix (`scripted:/home/me/answers.yaml`)."""
_MODEL: Final = re.compile(r"(scripted:)/(?:[^\n]*/)?([^/\n]+)")
_QUOTED: Final = re.compile(rf'"{_VALUE.pattern}"'.replace(r"\n", r'"\n'))
_WITHIN: Final = re.compile(r"""(?<![\w.~/…-])/(?!/)(?:[^\s/'"`,;:()\[\]{}<>|]+/)+([^\s/'"`,;:()\[\]{}<>|]*)""")


def without_paths(value: Any) -> Any:
    """The value with each absolute path in its texts cut to its last part, `…/answers.yaml`. Addresses (`https://...`)
    and relative paths stay as they are."""
    return _with_texts(value, _without_paths)


def without_model_paths(value: Any) -> Any:
    """The value with the path cut from each text that is the name of a scripted model."""
    return _with_texts(value, lambda text: text if (whole := _MODEL.fullmatch(text)) is None else _last(whole))


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The value with each text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _with_texts(each, change) for key, each in value.items()}
    return [_with_texts(each, change) for each in value] if isinstance(value, list | tuple) else value


def _without_paths(text: str) -> str:
    if whole := _VALUE.fullmatch(text):
        return _last(whole)
    return _WITHIN.sub(r"…/\1", _QUOTED.sub(lambda match: f'"{_last(match)}"', text))


def _last(match: re.Match[str]) -> str:
    return f"{match[1]}…/{match[2]}"


MOST_CHARACTERS: Final = 1_000_000
MOST_LINES: Final = 20_000
"""The limits of a text; a longer one is left out."""
MOST_OF_ALL: Final = 256_000_000
MOST_LINES_OF_ALL: Final = 5_000_000
"""The limits of all different texts of a report together."""


def shown(text: str) -> str:
    """A text, or a note that it is left out."""
    lines = text.count("\n") + 1
    if len(text) <= MOST_CHARACTERS and lines <= MOST_LINES:
        return text
    size, most = f"{len(text):,} characters, {lines:,} lines", f"{MOST_CHARACTERS:,} and {MOST_LINES:,}"
    return f"(left out: longer than a report takes: {size}; at most {most})"


LEFT_OUT: Final = f"(left out: this report holds {MOST_OF_ALL:,} characters or {MOST_LINES_OF_ALL:,} lines already)"

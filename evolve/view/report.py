"""Runs as one HTML file, which asks nobody for anything.

What it shows stands in it as base64 of deflated JSON: `{"format": 1, "runs": [...], "compare": what
`evolve compare` says of them, or null, "lines": [...]}`. Prompts, answers and programs of a run repeat each other line
by line, so that each line stands there once, and a text is the numbers of its lines: `{"$lines": [4, 5, 6]}`.
"""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evolve.archive.archive import Archive
from evolve.review import comparison
from evolve.view import payload
from evolve.view.assets import report_page

_FORMAT: Final = 1
_LINES: Final = "$lines"
_SHORT: Final = 120
"""A text of one line that is no longer stands where it is."""


def report(runs: Mapping[str, Archive]) -> str:
    """The file, of runs by name. Raises InputError where one cannot be read, or they cannot be compared."""
    lines = _TextLines()
    packed = [_run(name, archive, lines) for name, archive in runs.items()]
    document = {"format": _FORMAT, "runs": packed, "compare": lines.packed(_compared(runs)), "lines": lines.all}
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    deflate = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    data = deflate.compress(text.encode("ascii")) + deflate.flush()
    return report_page(base64.b64encode(data).decode("ascii")).html


def _run(name: str, archive: Archive, lines: "_TextLines") -> dict[str, Any]:
    document = payload.run_document(name, archive, fingerprint=True)
    gens = document.pop("gens")
    drawn = {0} if archive.best is None else {0, archive.best.generation}
    generations = {}
    for number in archive.statuses:
        generation = payload.generation_document(archive, number)
        if "pictures" in generation and number not in drawn:  # they are long; these two are what others stand beside
            generation |= {"pictures": {}, "pictures_problem": None}
        generations[str(number)] = generation
    return {**lines.packed(document), "gens": gens, "gendocs": lines.packed(generations)}


def _compared(runs: Mapping[str, Archive]) -> dict[str, Any] | None:
    if len(runs) < 2:
        return None
    return comparison.comparison_json(comparison.grouped(comparison.read_run(*run) for run in runs.items()))


class _TextLines:
    """Each line of all texts, once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def all(self) -> Sequence[str]:
        """The lines, by their numbers."""
        return list(self._numbers)

    def packed(self, value: Any) -> Any:
        """A value with the long texts in it as numbers of lines."""
        if isinstance(value, str) and (len(value) > _SHORT or "\n" in value):
            return {_LINES: [self._numbers.setdefault(line, len(self._numbers)) for line in value.split("\n")]}
        if isinstance(value, Mapping):
            # What somebody else named like that is none of ours: its name gets a letter more.
            return {f"{key} " if key == _LINES else str(key): self.packed(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.packed(each) for each in value]
        return value

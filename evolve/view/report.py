"""Runs as one HTML file, which asks nobody for anything.

What it shows stands in it as base64 of deflated JSON: `{"format": 1, "runs": [...], "rows": what the
table of runs says of each, "compare": what `evolve compare` says of them, or null, "texts": [[4, 5, 6], ...], "lines":
[...]}`. Prompts, answers and programs of a run repeat each other line by line, so that each line stands there once, and
a text once as the numbers of its lines: `{"$lines": 0}` is the first of `texts`. Paths of this machine in a
configuration are left out.
"""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evolve.archive.archive import Archive
from evolve.review import comparison, grouping
from evolve.view import payload
from evolve.view.assets import report_page
from evolve.view.bounded import LEFT_OUT, TextBudget, reading_once, shown
from evolve.view.pathless import without_model_paths, without_paths
from evolve.view.summary import run_summary

_FORMAT: Final = 1
_LINES: Final = "$lines"
_SHORT: Final = 120
"""A text of one line that is no longer stands where it is."""


def report(runs: Mapping[str, Archive]) -> str:
    """The file, of runs by name. Raises InputError where one cannot be read, or they cannot be compared."""
    lines = _TextLines()
    packed = [_run(name, archive, lines) for name, archive in runs.items()]
    rows = [lines.packed(run_summary(name, archive)) for name, archive in runs.items()]
    compared = lines.packed(_compared(runs))
    document = {"format": _FORMAT, "runs": packed, "rows": rows, "compare": compared}
    document |= {"texts": lines.texts, "lines": lines.all}
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    deflate = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    data = deflate.compress(text.encode("ascii")) + deflate.flush()
    return report_page(base64.b64encode(data).decode("ascii")).html


def _run(name: str, archive: Archive, lines: "_TextLines") -> dict[str, Any]:
    document = without_model_paths(payload.run_document(name, archive, fingerprint=True))
    gens = document.pop("gens")
    document |= {key: without_paths(document[key]) for key in ("config", "sessions")}
    drawn = {0} if archive.best is None else {0, archive.best.generation}
    generations, text = {}, reading_once(archive.text)
    for number in archive.statuses:
        generation = without_model_paths(payload.generation_document(archive, number, text))
        if "pictures" in generation and number not in drawn:  # they are long; these two are what others stand beside
            generation |= {"pictures": {}, "pictures_problem": None}
        generations[str(number)] = generation
    return {**lines.packed(document), "gens": gens, "gendocs": lines.packed(generations)}


def _compared(runs: Mapping[str, Archive]) -> dict[str, Any] | None:
    if len(runs) < 2:
        return None
    read = [grouping.read_run(*run) for run in runs.items()]
    if (twice := grouping.counted_twice(read)) is not None:
        return {"apart": f"{grouping.are_one(*twice)}, so that these runs are not compared.", "judges": []}
    found = comparison.comparison_json(grouping.grouped(read))
    judges = [{**judged, "differences": without_paths(judged["differences"])} for judged in found["judges"]]
    return {**found, "judges": judges}


class _TextLines:
    """Each line of all texts, once, and each text."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._budget = TextBudget()
        self.texts: list[list[int]] = []
        """Each text as the numbers of its lines."""

    @property
    def all(self) -> Sequence[str]:
        """The lines, by their numbers."""
        return list(self._numbers)

    def packed(self, value: Any) -> Any:
        """A value with the long texts in it as numbers of lines."""
        if isinstance(value, str) and (len(value) > _SHORT or "\n" in value):
            return self._packed_text(shown(value))
        if isinstance(value, Mapping):
            # What somebody else named like that is none of ours: its name gets a letter more.
            return {f"{key} " if key == _LINES else str(key): self.packed(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.packed(each) for each in value]
        return value

    def _packed_text(self, text: str) -> Any:
        if text not in self._places:
            if not self._budget.take(text):
                return LEFT_OUT
            self._places[text] = len(self.texts)
            numbers = self._numbers
            self.texts.append([numbers.setdefault(line, len(numbers)) for line in text.split("\n")])
        return {_LINES: self._places[text]}

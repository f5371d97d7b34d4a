"""A run as a table for a spreadsheet: a row for each generation, with nothing in it that a spreadsheet would run."""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any, Final

from evolve.archive.archive import Archive
from evolve.review.generations import chosen, flat_row, reason, taken

_RUN: Final = "=+-@\t\n|%\uff1d\uff0b\uff0d\uff20"
"""What a text that a spreadsheet takes for a formula, or for a command, begins with."""


def csv_text(archive: Archive) -> str:
    """Every generation that was begun, in order, under the keys of `flat_row`, and `status` and `reason`: what is not
    known is empty, a list is joined by blanks, and a text that would be run begins with an apostrophe."""
    rows = [_row(archive, generation) for generation in chosen(archive, failed=False)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(map(harmless, names))
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return written.getvalue()


def _row(archive: Archive, generation: int) -> dict[str, Any]:
    program = archive.program(generation)
    ended = {"status": archive.statuses[generation].value, "reason": reason(archive, generation)}
    if program is not None:
        return {"generation": generation, **ended, **flat_row(archive, program)}
    asked = archive.generation(generation)
    return {
        "generation": generation,
        **ended,
        "parents": [archive.find(commit).generation for commit in asked.parents],
        "inspirations": [archive.find(commit).generation for commit in asked.inspirations],
        "island": asked.island,
        "patch_kind": asked.kind,
        "model": asked.model,
        **taken(archive, generation),
    }


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return harmless(" ".join(map(str, value)))
    return harmless(str(value))


def harmless(text: str) -> str:
    """A text as it may stand in a cell: no formula, and nothing that is no character. A carriage return, at which some
    readers end a row, is a line feed, for which every writer quotes a cell."""
    plain = re.sub("\r\n?", "\n", text).replace("\0", "\\x00")
    plain = plain.encode("utf-8", "backslashreplace").decode("utf-8")
    begins = {plain[:1], plain.lstrip()[:1]} - {""}
    return f"'{plain}" if begins & set(_RUN) else plain

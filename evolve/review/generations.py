"""A run's generations as tables: on a screen, and as CSV."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.archive.reader import SHORT, RunReader
from evolve.archive.records import OPEN
from evolve.insights.outcomes import followed_by_answers, recommendation_of
from evolve.review.calls import spending_brief
from evolve.review.generation_view import CSV, GenerationReader, GenerationView
from evolve.review.scores import value_text
from evolve.review.table import Cell, Fit, Table, TableOf, Tone, value_title
from evolve.review.texts import duration_text, patch_label


def generation_called(archive: RunReader, name: str) -> int:
    """The generation that a user names: any name that `RunReader.find` knows, or the number of a proposal without a
    program. Raises ArchiveError."""
    if name.isascii() and name.isdigit() and len(name) < SHORT and int(name) in archive.statuses:
        return int(name)
    return archive.find(name).generation


def all_generations(archive: RunReader, *, failed: bool = False) -> list[GenerationView]:
    """Every generation that was begun, in order; `failed`: only those that ended without a correct program."""
    views = GenerationReader(archive).views(sorted(archive.statuses))
    return [view for view in views if view.is_failed] if failed else views


def generations_table(archive: RunReader, views: Sequence[GenerationView], *, failed: bool) -> Table:
    """A row for each generation: its outcome, request, cost, and why it has no correct program. `failed`: the whole
    reason and no score."""
    table = TableOf(views)
    table.column("gen", lambda view: str(view.generation), number=True)
    table.column("ended as", _end_cell)
    if not failed:
        table.column(value_title(archive.programs), _value_cell, number=True)
    table.column("kind", lambda view: view.asked_kind)
    table.column("model", lambda view: one_line(view.asked_model, 30), fit=Fit.SPARE)
    table.column("after", lambda view: duration_text(view.t - archive.began), number=True, fit=Fit.SPARE)
    if any(view.called > 1 for view in views):
        table.column("calls", _calls, number=True, fit=Fit.SPARE)
    table.column("tokens", lambda view: f"{view.spent.tokens:,}" if view.spent else "-", number=True, fit=Fit.SPARE)
    table.column("USD", lambda view: spending_brief(view.spent) if view.spent else "-", number=True)
    if not failed and any(recommendation_of(view.questions) for view in views):
        table.column("advice", _advice, fit=Fit.SPARE)
    title, fit = ("why", Fit.FOLD) if failed else ("patch, or why there is none", Fit.CUT)
    table.column(title, partial(_why, failed=failed), fit=fit)
    return table.table()


def _end_cell(view: GenerationView) -> Cell:
    return Cell(view.ended_as, Tone.GOOD if view.is_correct else Tone.QUIET if view.status in OPEN else Tone.BAD)


def _value_cell(view: GenerationView) -> Cell:
    value = None if view.program is None else view.program.value
    return Cell(value_text(value), Tone.STRONG if view.is_correct else Tone.PLAIN)


def _calls(view: GenerationView) -> str:
    """The number of calls, with the repairs and retries among them: `3: 1 repair, 1 retry`."""
    again = ((view.spent_on("repair").calls, "repair", "repairs"), (view.spent_on("retry").calls, "retry", "retries"))
    repeats = ", ".join(f"{count} {singular if count == 1 else plural}" for count, singular, plural in again if count)
    return f"{view.called}: {repeats}" if repeats else str(view.called or "-")


def _advice(view: GenerationView) -> str:
    """The recommendation that a generation was given, and whether its answer followed it: `6.2 partly`."""
    given = recommendation_of(view.questions)
    return "" if given is None else f"{given[0]}.{given[1]} {followed_by_answers(view.questions) or ''}".rstrip()


def _why(view: GenerationView, *, failed: bool) -> str:
    """The patch, with the fault of its program if `failed`; without a program, why there is none."""
    if view.program is None:
        return view.fault
    label = patch_label(view.program)
    return f"{label}: {view.fault}" if failed and not view.is_correct else label


_FORMULA_STARTS: Final = "=+-@\t\n|%\uff1d\uff0b\uff0d\uff20"
"""The first characters of texts that a spreadsheet runs as a formula or a command."""


def csv_text(archive: RunReader) -> str:
    """Every generation that was begun, in order, under the keys of a row of `Run.programs`, `status` and `reason`. An
    unknown value is empty, a list is joined by blanks, a record is JSON, and a formula gets a leading apostrophe."""
    rows = [view.row(CSV) for view in all_generations(archive)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(map(harmless, names))
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return written.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return harmless(" ".join(map(str, value)))
    if isinstance(value, Mapping):
        return json.dumps(value)
    return harmless(str(value))


def harmless(text: str) -> str:
    """A text that is safe in a cell: no formula, no invalid character. Carriage returns become line feeds, since some
    readers end a row at them; writers quote line feeds."""
    plain = re.sub("\r\n?", "\n", text).replace("\0", "\\x00")
    plain = plain.encode("utf-8", "backslashreplace").decode("utf-8")
    begins = {plain[:1], plain.lstrip()[:1]} - {""}
    return f"'{plain}" if begins & set(_FORMULA_STARTS) else plain

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
    """The generation that a user means: as `RunReader.find` has it, or one that was proposed and became no program.
    Raises ArchiveError."""
    if name.isascii() and name.isdigit() and len(name) < SHORT and int(name) in archive.statuses:
        return int(name)
    return archive.find(name).generation


def all_generations(archive: RunReader, *, failed: bool = False) -> list[GenerationView]:
    """Every generation that was begun, in order; `failed`: those that ended without a correct program."""
    views = GenerationReader(archive).views(sorted(archive.statuses))
    return [view for view in views if view.is_failed] if failed else views


def generations_table(archive: RunReader, views: Sequence[GenerationView], *, failed: bool) -> Table:
    """A row for each generation: how it ended, what it was to be, what it took, and why it has no correct program.
    `failed`: the whole reason, and no score."""
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
    """How many calls it took, and how many of them mended an answer or sent a request again: `3: 1 repair, 1 retry`."""
    again = ((view.spent_on("repair").calls, "repair", "repairs"), (view.spent_on("retry").calls, "retry", "retries"))
    told = ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in again if count)
    return f"{view.called}: {told}" if told else str(view.called or "-")


def _advice(view: GenerationView) -> str:
    """Which recommendation a generation was given, and what its answer says of that: `6.2 partly`."""
    given = recommendation_of(view.questions)
    return "" if given is None else f"{given[0]}.{given[1]} {followed_by_answers(view.questions) or ''}".rstrip()


def _why(view: GenerationView, *, failed: bool) -> str:
    """The patch, and what is wrong with a program that `failed`; without a program, why there is none."""
    if view.program is None:
        return view.fault
    label = patch_label(view.program)
    return f"{label}: {view.fault}" if failed and not view.is_correct else label


_RUN: Final = "=+-@\t\n|%\uff1d\uff0b\uff0d\uff20"
"""What a text that a spreadsheet takes for a formula, or for a command, begins with."""


def csv_text(archive: RunReader) -> str:
    """Every generation that was begun, in order, under the keys of a row of `Run.programs`, and `status` and `reason`:
    what is not known is empty, a list is joined by blanks, a record is JSON, and a text that would be run begins with
    an apostrophe."""
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
    """A text as it may stand in a cell: no formula, and nothing that is no character. A carriage return, at which some
    readers end a row, is a line feed, for which every writer quotes a cell."""
    plain = re.sub("\r\n?", "\n", text).replace("\0", "\\x00")
    plain = plain.encode("utf-8", "backslashreplace").decode("utf-8")
    begins = {plain[:1], plain.lstrip()[:1]} - {""}
    return f"'{plain}" if begins & set(_RUN) else plain

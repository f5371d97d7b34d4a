"""A run's programs and generations as flat rows of plain values, for whoever makes tables of them; and which
generations gave no correct program, and why.

A row of a program has
    generation, commit, parents (generations; the first one was patched), inspirations (generations), island,
    patch_kind, patch_name, description, features, model,
    outcome, correct, combined_score, ceiling, gap, best_known, gap_to_best_known, self_judged, quarantined,
    quarantine (why), excluded, held_out, held_out_gap (of programs that were the best when they came),
    tokens, cost_usd (what its generation took; None where a price is not known), tuning_evaluations (what a search over
    its numbers took; None where there was none), t (wall seconds),
    and `metrics.<name>` for each metric of the judge.
A row of a generation has
    generation, status, reason (a short name for why there is no correct program), kind, model, guidance (the meta
    document and the number of its recommendation), followed (what the answer says of that), cost_usd, tokens,
    tuning_evaluations, t.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from evaluator.untrusted import one_line
from evolve.archive.calls import spending_of
from evolve.archive.ranking import better
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord, Status
from evolve.guidance.history import followed_by_answers, recommendation_of
from evolve.review.calls import asked_for, spending_brief
from evolve.review.catalogue import patch_label
from evolve.review.scores import change_of, change_text, held_out_value, score_json, value_text
from evolve.review.table import Cell, Fit, Table, TableOf, Tone, value_title
from evolve.review.texts import duration_text, short_commits
from evolve.usage import Spending

OPEN = (Status.ASKED, Status.ANSWERED)


def flat_row(archive: RunReader, program: ProgramRecord) -> dict[str, Any]:
    """One program."""
    score = score_json(program)
    metrics = score.pop("metrics")
    held_out = archive.held_out_scores.get(program.generation)
    return {
        "generation": program.generation,
        "commit": program.commit,
        "parents": [archive.find(commit).generation for commit in program.parents],
        "inspirations": [archive.find(commit).generation for commit in program.inspirations],
        "island": program.island,
        "patch_kind": program.origin.kind.value,
        "patch_name": program.origin.patch_name,
        "description": program.origin.description,
        "features": list(program.origin.features),
        "model": program.origin.model,
        **score,
        "quarantine": program.quarantine,
        "excluded": program.excluded,
        "held_out": None if held_out is None else held_out.combined_score,
        "held_out_gap": None if held_out is None else held_out.gap,
        **taken(archive, program.generation),
        **{f"metrics.{name}": value for name, value in metrics.items()},
    }


def generation_called(archive: RunReader, name: str) -> int:
    """The generation that a user means: as `Archive.find` has it, or one that was proposed and became no program.
    Raises ArchiveError."""
    if name.isascii() and name.isdigit() and len(name) < 10 and int(name) in archive.statuses:
        return int(name)
    return archive.find(name).generation


def generation_rows(archive: RunReader, *, failed: bool = False) -> list[dict[str, Any]]:
    """Every generation that was begun, in order; `failed`: those that ended without a correct program."""
    return [_generation_row(archive, generation) for generation in chosen(archive, failed=failed)]


def chosen(archive: RunReader, *, failed: bool) -> list[int]:
    """The generations of `generation_rows`."""
    return [
        generation
        for generation in sorted(archive.statuses)
        if not failed or (archive.statuses[generation] not in OPEN and reason(archive, generation) is not None)
    ]


def reason(archive: RunReader, generation: int) -> str | None:
    """A short name for why a generation has no correct program; None when it has one, or has not ended."""
    program = archive.program(generation)
    if program is not None:
        if program.quarantine is not None:
            return "quarantined"
        return None if program.correct else program.outcome.value
    attempts = archive.attempts(generation)
    return None if archive.statuses[generation] in OPEN or not attempts else attempts[-1].reason


def taken(archive: RunReader, generation: int) -> dict[str, Any]:
    """What a generation took, and when it came to its end."""
    spent = spending_of(asked_for(archive, generation))
    searched = [asked.tuning["evaluations"] for asked in archive.attempts(generation) if asked.tuning is not None]
    told = {"tuning_evaluations": sum(searched) if searched else None, "t": archive.times[generation]}
    return {"cost_usd": spent.cost_usd, "tokens": spent.tokens, **told}


def _generation_row(archive: RunReader, generation: int) -> dict[str, Any]:
    asked = archive.generation(generation) if archive.attempts(generation) else None
    return {
        "generation": generation,
        "status": archive.statuses[generation].value,
        "reason": reason(archive, generation),
        "kind": "initial" if asked is None else asked.kind,
        "model": "" if asked is None else asked.model,
        "guidance": recommendation_of(archive.attempts(generation)),
        "followed": followed_by_answers(archive.attempts(generation)),
        **taken(archive, generation),
    }


def new_bests(programs: Iterable[ProgramRecord]) -> list[ProgramRecord]:
    """The programs that were the best when they came, in order: the last one is the best of the run. What only an
    earlier judge scored is left out."""
    found: list[ProgramRecord] = []
    for program in programs:
        if not program.stale and better(program, found[-1] if found else None):
            found.append(program)
    return found


def bests_table(archive: RunReader, bests: Sequence[ProgramRecord]) -> Table:
    """Each new best in order: when it came, what had been spent by then, and how much better it is."""
    held_out, short = archive.held_out_scores, short_commits(program.commit for program in archive.programs)
    before = dict(zip((program.generation for program in bests), (None, *bests), strict=False))

    def change(program: ProgramRecord) -> Cell:
        return Cell(change_text(change_of(program, before[program.generation])), Tone.GOOD)

    table = TableOf(bests)
    table.column("gen", lambda program: str(program.generation), number=True)
    table.column("after", lambda p: duration_text(archive.times[p.generation] - archive.began), number=True)
    table.score_columns(lambda program: program)
    table.column("change", change, number=True)
    if held_out:
        table.column("held-out", lambda program: held_out_value(held_out.get(program.generation)), number=True)
    table.column("commit", lambda program: Cell(short[program.commit], Tone.QUIET), fit=Fit.SPARE)
    table.column("patch", patch_label, fit=Fit.CUT)
    return table.table()


class _Listed(NamedTuple):
    """A row of `generation_rows`, with the program that it became and what it took."""

    row: Mapping[str, Any]
    program: ProgramRecord | None
    spent: Spending

    @property
    def good(self) -> bool:
        return self.program is not None and self.program.correct


def generations_table(archive: RunReader, generations: Sequence[int], *, failed: bool) -> Table:
    """A row for each generation: how it ended, what it was to be, what it took, and why it has no correct program.
    `failed`: the whole reason, and no score."""
    table = TableOf(
        _Listed(_generation_row(archive, number), archive.program(number), spending_of(asked_for(archive, number)))
        for number in generations
    )
    table.column("gen", lambda one: str(one.row["generation"]), number=True)
    table.column("ended as", lambda one: _end_cell(archive, one))
    if not failed:
        table.column(value_title(archive.programs), _value_cell, number=True)
    table.column("kind", lambda one: str(one.row["kind"]))
    table.column("model", lambda one: one_line(one.row["model"], 30), fit=Fit.SPARE)
    table.column("after", lambda one: duration_text(one.row["t"] - archive.began), number=True, fit=Fit.SPARE)
    table.column("tokens", lambda one: f"{one.spent.tokens:,}" if one.spent else "-", number=True, fit=Fit.SPARE)
    table.column("USD", lambda one: spending_brief(one.spent) if one.spent else "-", number=True)
    if not failed and any(recommendation_of(archive.attempts(number)) for number in generations):
        table.column("advice", lambda one: _advice(one.row), fit=Fit.SPARE)
    why = partial(_why, archive, failed=failed)
    table.column("why" if failed else "patch, or why there is none", why, fit=Fit.FOLD if failed else Fit.CUT)
    return table.table()


def _end_cell(archive: RunReader, one: _Listed) -> Cell:
    generation = one.row["generation"]
    tone = Tone.GOOD if one.good else Tone.QUIET if archive.statuses[generation] in OPEN else Tone.BAD
    return Cell(_end(archive, generation), tone)


def _value_cell(one: _Listed) -> Cell:
    value = None if one.program is None else one.program.value
    return Cell(value_text(value), Tone.STRONG if one.good else Tone.PLAIN)


def _advice(row: Mapping[str, Any]) -> str:
    """Which recommendation a generation was given, and what its answer says of that: `6.2 partly`."""
    given = row["guidance"]
    return "" if given is None else f"{given[0]}.{given[1]} {row['followed'] or ''}".rstrip()


def _end(archive: RunReader, generation: int) -> str:
    status, short = archive.statuses[generation], reason(archive, generation)
    if status in OPEN:
        return "not ended"
    if status is Status.EVALUATED:
        return "ok" if short is None else short
    return status.value if short in (None, status.value) else f"{status.value}: {short}"


def _why(archive: RunReader, one: _Listed, *, failed: bool) -> str:
    if one.program is None:
        attempts = archive.attempts(one.row["generation"])
        return telling_line(attempts[-1].message or "") if attempts else ""
    if one.program.correct or not failed:
        return patch_label(one.program)
    return f"{patch_label(one.program)}: {why_failed(archive, one.program)}"


def telling_line(text: str) -> str:
    """The first line, or of a traceback what was raised at last."""
    lines = text.strip().split("\n")
    heads = [at for at, line in enumerate(lines) if line.startswith("Traceback")]
    if not heads or heads[0] > 0:
        return lines[0]
    return next((line for line in lines[heads[-1] + 1 :] if line and not line[0].isspace()), lines[-1])


def why_failed(archive: RunReader, program: ProgramRecord) -> str:
    """What is wrong with a program that is not correct, in a line: why it is quarantined, or what it raised."""
    return telling_line(program.quarantine or archive.evaluation(program).detail)


_RUN: Final = "=+-@\t\n|%\uff1d\uff0b\uff0d\uff20"
"""What a text that a spreadsheet takes for a formula, or for a command, begins with."""


def csv_text(archive: RunReader) -> str:
    """Every generation that was begun, in order, under the keys of `flat_row`, and `status` and `reason`: what is not
    known is empty, a list is joined by blanks, and a text that would be run begins with an apostrophe."""
    rows = [_row(archive, generation) for generation in chosen(archive, failed=False)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(map(harmless, names))
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return written.getvalue()


def _row(archive: RunReader, generation: int) -> dict[str, Any]:
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

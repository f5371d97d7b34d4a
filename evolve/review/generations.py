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

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluator.untrusted import one_line
from evolve.archive.archive import Archive
from evolve.archive.calls import spending_of
from evolve.archive.ranking import better
from evolve.archive.records import ProgramRecord, Status
from evolve.guidance.history import followed_by_answers, recommendation_of
from evolve.review.calls import asked_for, spending_brief
from evolve.review.catalogue import patch_label
from evolve.review.commits import short_commits
from evolve.review.scores import change_of, change_text, held_out_value, of_record, value_text
from evolve.review.table import Cell, Column, Fit, Table, Tone, score_cells, score_columns
from evolve.review.times import duration_text

OPEN = (Status.ASKED, Status.ANSWERED)


def flat_row(archive: Archive, program: ProgramRecord) -> dict[str, Any]:
    """One program."""
    score = of_record(program).to_json()
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


def generation_called(archive: Archive, name: str) -> int:
    """The generation that a user means: as `Archive.find` has it, or one that was proposed and became no program.
    Raises ArchiveError."""
    if name.isascii() and name.isdigit() and len(name) < 10 and int(name) in archive.statuses:
        return int(name)
    return archive.find(name).generation


def generation_rows(archive: Archive, *, failed: bool = False) -> list[dict[str, Any]]:
    """Every generation that was begun, in order; `failed`: those that ended without a correct program."""
    return [_generation_row(archive, generation) for generation in chosen(archive, failed=failed)]


def chosen(archive: Archive, *, failed: bool) -> list[int]:
    """The generations of `generation_rows`."""
    return [
        generation
        for generation in sorted(archive.statuses)
        if not failed or (archive.statuses[generation] not in OPEN and reason(archive, generation) is not None)
    ]


def reason(archive: Archive, generation: int) -> str | None:
    """A short name for why a generation has no correct program; None when it has one, or has not ended."""
    program = archive.program(generation)
    if program is not None:
        if program.quarantine is not None:
            return "quarantined"
        return None if program.correct else program.outcome.value
    attempts = archive.attempts(generation)
    return None if archive.statuses[generation] in OPEN or not attempts else attempts[-1].reason


def taken(archive: Archive, generation: int) -> dict[str, Any]:
    """What a generation took, and when it came to its end."""
    spent = spending_of(asked_for(archive, generation))
    searched = [asked.tuning["evaluations"] for asked in archive.attempts(generation) if asked.tuning is not None]
    told = {"tuning_evaluations": sum(searched) if searched else None, "t": archive.times[generation]}
    return {"cost_usd": spent.cost_usd, "tokens": spent.tokens, **told}


def _generation_row(archive: Archive, generation: int) -> dict[str, Any]:
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


def bests_table(archive: Archive, bests: Sequence[ProgramRecord]) -> Table:
    """Each new best in order: when it came, what had been spent by then, and how much better it is."""
    twin = (Column("held-out", number=True),) if archive.held_out_scores else ()
    standing = score_columns([of_record(program) for program in bests])
    columns = (
        Column("gen", number=True),
        Column("after", number=True),
        *standing,
        Column("change", number=True),
        *twin,
        Column("commit", fit=Fit.SPARE),
        Column("patch", fit=Fit.CUT),
    )
    short = short_commits(program.commit for program in archive.programs)
    rows = []
    before: ProgramRecord | None = None
    for program in bests:
        change = change_of(program, before)
        held = archive.held_out_scores.get(program.generation)
        rows.append(
            (
                Cell(str(program.generation)),
                Cell(duration_text(archive.times[program.generation] - archive.began)),
                *score_cells(of_record(program), standing),
                Cell(change_text(change), Tone.GOOD),
                *((Cell(held_out_value(held)),) if twin else ()),
                Cell(short[program.commit], Tone.QUIET),
                Cell(patch_label(program)),
            )
        )
        before = program
    return Table(columns=columns, rows=tuple(rows))


def generations_table(archive: Archive, generations: Sequence[int], *, failed: bool) -> Table:
    """A row for each generation: how it ended, what it was to be, what it took, and why it has no correct program.
    `failed`: the whole reason, and no score."""
    advised = any(recommendation_of(archive.attempts(number)) for number in generations)
    columns = (
        Column("gen", number=True),
        Column("ended as"),
        *(() if failed else (score_columns([of_record(program) for program in archive.programs])[0],)),
        Column("kind"),
        Column("model", fit=Fit.SPARE),
        Column("after", number=True, fit=Fit.SPARE),
        Column("tokens", number=True, fit=Fit.SPARE),
        Column("USD", number=True),
        *(() if failed or not advised else (Column("advice", fit=Fit.SPARE),)),
        Column("why" if failed else "patch, or why there is none", fit=Fit.FOLD if failed else Fit.CUT),
    )
    rows = (_cells(archive, number, failed=failed, advised=advised) for number in generations)
    return Table(columns=columns, rows=tuple(rows))


def _cells(archive: Archive, generation: int, *, failed: bool, advised: bool) -> tuple[Cell, ...]:
    row = _generation_row(archive, generation)
    program = archive.program(generation)
    spent = spending_of(asked_for(archive, generation))
    good = program is not None and program.correct
    open_still = archive.statuses[generation] in OPEN
    tone = Tone.GOOD if good else Tone.QUIET if open_still else Tone.BAD
    score = value_text(None if program is None else program.value)
    return (
        Cell(str(generation)),
        Cell(_end(archive, generation), tone),
        *(() if failed else (Cell(score, Tone.STRONG if good else Tone.PLAIN),)),
        Cell(row["kind"]),
        Cell(one_line(row["model"], 30)),
        Cell(duration_text(row["t"] - archive.began)),
        Cell(f"{spent.tokens:,}" if spent else "-"),
        Cell(spending_brief(spent) if spent else "-"),
        *(() if failed or not advised else (Cell(_advice(row)),)),
        Cell(_why(archive, generation, program, failed=failed)),
    )


def _advice(row: Mapping[str, Any]) -> str:
    """Which recommendation a generation was given, and what its answer says of that: `6.2 partly`."""
    given = row["guidance"]
    return "" if given is None else f"{given[0]}.{given[1]} {row['followed'] or ''}".rstrip()


def _end(archive: Archive, generation: int) -> str:
    status, short = archive.statuses[generation], reason(archive, generation)
    if status in OPEN:
        return "not ended"
    if status is Status.EVALUATED:
        return "ok" if short is None else short
    return status.value if short in (None, status.value) else f"{status.value}: {short}"


def _why(archive: Archive, generation: int, program: ProgramRecord | None, *, failed: bool) -> str:
    if program is None:
        attempts = archive.attempts(generation)
        return telling_line(attempts[-1].message or "") if attempts else ""
    if program.correct or not failed:
        return patch_label(program)
    return f"{patch_label(program)}: {why_failed(archive, program)}"


def telling_line(text: str) -> str:
    """The first line, or of a traceback what was raised at last."""
    lines = text.strip().split("\n")
    heads = [at for at, line in enumerate(lines) if line.startswith("Traceback")]
    if not heads or heads[0] > 0:
        return lines[0]
    return next((line for line in lines[heads[-1] + 1 :] if line and not line[0].isspace()), lines[-1])


def why_failed(archive: Archive, program: ProgramRecord) -> str:
    """What is wrong with a program that is not correct, in a line: why it is quarantined, or what it raised."""
    return telling_line(program.quarantine or archive.evaluation(program).detail)

"""Runs and their programs as rows: the plain values behind `evolve list`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.untrusted import one_line
from evolve.archive.records import HeldOutRecord, ProgramRecord, Status
from evolve.review.scores import ShownScore, of_record, score_text, sentence
from evolve.review.table import (
    SCORE_COLUMNS,
    Cell,
    Column,
    Fit,
    Table,
    Tone,
    metric_cells,
    metric_columns,
    outcome_cell,
    score_cells,
)


def run_row(
    name: str,
    identity: Mapping[str, Any],
    programs: Sequence[ProgramRecord],
    best: ProgramRecord | None,
    finished: str | None,
) -> dict[str, Any]:
    """One run. `programs` is their number, `best` a score beside its ceiling and gap, `finished` why it stopped."""
    return {
        "run": name,
        "task": identity["task"],
        "suite": identity["suite"],
        "programs": len(programs),
        "best": None if best is None else best.combined_score,
        "ceiling": None if best is None else best.ceiling,
        "gap": None if best is None else best.gap,
        "finished": finished,
    }


def runs_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The rows of `run_row` as a table."""
    columns = (
        Column("run", fit=Fit.FOLD),
        Column("task", fit=Fit.SPARE),
        Column("suite"),
        Column("programs", number=True),
        Column("best", number=True),
        *SCORE_COLUMNS[1:],
        Column("finished"),
    )
    return Table(columns=columns, rows=tuple(_run_cells(row) for row in rows))


def _run_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    return (
        Cell(row["run"], Tone.STRONG),
        Cell(row["task"]),
        Cell(row["suite"]),
        Cell(str(row["programs"])),
        Cell(score_text(row["best"]), Tone.STRONG),
        Cell(score_text(row["ceiling"])),
        Cell(score_text(row["gap"])),
        Cell(row["finished"] or "not finished", Tone.PLAIN if row["finished"] else Tone.QUIET),
    )


def program_row(program: ProgramRecord) -> dict[str, Any]:
    """One program: the keys of `evolve list RUN --json`, but for `held_out`."""
    return {
        "generation": program.generation,
        "commit": program.commit,
        "parents": list(program.parents),
        "island": program.island,
        "patch_kind": program.origin.kind.value,
        "patch_name": program.origin.patch_name,
        "model": program.origin.model,
        **of_record(program).to_json(),
    }


def held_out_json(held_out: HeldOutRecord | None) -> dict[str, Any] | None:
    """A score on the held-out suite, beside its ceiling and gap; None for a program that was never the best."""
    if held_out is None:
        return None
    return {
        "suite": held_out.suite,
        "combined_score": held_out.combined_score,
        "correct": held_out.correct,
        "ceiling": held_out.ceiling,
        "gap": held_out.gap,
    }


def programs_table(
    programs: Sequence[ProgramRecord], best: ProgramRecord | None, held_out: Mapping[int, HeldOutRecord]
) -> Table:
    """Programs in the order given, the best one marked; a held-out column when there are such scores."""
    scores = [of_record(program) for program in programs]
    metrics = metric_columns(scores)
    twin = (Column("held-out", number=True),) if held_out else ()
    columns = (
        Column("gen", number=True),
        Column("commit"),
        *SCORE_COLUMNS,
        *twin,
        *metrics,
        Column("patch", fit=Fit.CUT),
        Column("outcome"),
    )
    return Table(
        columns=columns,
        rows=tuple(
            _program_cells(p, s, metrics, best, (held_out.get(p.generation),) if twin else ())
            for p, s in zip(programs, scores, strict=True)
        ),
    )


def _program_cells(
    program: ProgramRecord,
    shown: ShownScore,
    metrics: Sequence[Column],
    best: ProgramRecord | None,
    held_out: Sequence[HeldOutRecord | None],
) -> tuple[Cell, ...]:
    is_best = best is not None and program.commit == best.commit
    return (
        Cell(str(program.generation), Tone.GOOD if is_best else Tone.PLAIN),
        Cell(program.commit[:8], Tone.QUIET),
        *score_cells(shown),
        *(Cell(score_text(None if held is None else held.combined_score)) for held in held_out),
        *metric_cells(shown, metrics),
        Cell(patch_label(program)),
        outcome_cell(shown),
    )


def patch_label(program: ProgramRecord, limit: int = 60) -> str:
    """What made a program: its patch's name, and its kind unless it is a plain edit or the initial program."""
    kind, full = program.origin.kind.value, program.origin.patch_name
    name = one_line(full[:limit]) + ("..." if len(full) > limit else "")
    if not name:
        return kind
    return name if kind in ("diff", "initial") else f"{name} ({kind})"


def quarantined(programs: Sequence[ProgramRecord], shown: int = 3) -> list[str]:
    """Why programs are quarantined, a line each, and what that says; empty when none is."""
    found = [program for program in programs if program.quarantine is not None]
    lines = [f"generation {p.generation} is quarantined: {one_line(p.quarantine or '', 300)}" for p in found[:shown]]
    if len(found) > shown:
        lines.append(f"and {len(found) - shown} more are quarantined")
    return [*lines, "The evaluator or the task has a hole: mend it before you believe a score."] if found else []


def headline(
    name: str, identity: Mapping[str, Any], programs: Sequence[ProgramRecord], best: ProgramRecord | None
) -> str:
    """A run in one line: what it works on, how many programs it has, and its best score."""
    count = f"{len(programs)} program" + ("" if len(programs) == 1 else "s")
    top = "no correct program yet"
    if best is not None:
        top = f"best is generation {best.generation}: {sentence(of_record(best))}"
    return f"{one_line(name, 60)}: {identity['task']}/{identity['suite']}, {count}, {top}"


def state(finished: str | None, statuses: Mapping[int, Status]) -> str:
    """Whether a run is over, and how its generations ended."""
    counts = Counter(status.value for status in statuses.values())
    ends = ", ".join(f"{counts[status.value]} {status.value}" for status in Status if counts[status.value])
    how = f"stopped: {finished}" if finished else "not finished"
    return f"{how}; generations: {ends}" if ends else how

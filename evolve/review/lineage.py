"""The way from the initial program to another one, as a chain of small steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from evolve.archive.records import ProgramRecord
from evolve.errors import ArchiveError
from evolve.review.catalogue import patch_label, program_row
from evolve.review.difference import program_label, unified_diff
from evolve.review.scores import change_text, of_record, score_text, sentence
from evolve.review.table import SCORE_COLUMNS, Cell, Column, Fit, Table, Tone, outcome_cell, score_cells


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageStep:
    """One program of a chain, with the parent whose patching made it (None for the initial program).

    `others` are its further parents, as of a crossover. `change` is the score change against `parent`.
    """

    program: ProgramRecord
    parent: ProgramRecord | None
    others: tuple[ProgramRecord, ...]

    @property
    def change(self) -> float | None:
        """How much the score grew from the parent to this program; None for the initial one."""
        return None if self.parent is None else self.program.combined_score - self.parent.combined_score


def chain(by_commit: Mapping[str, ProgramRecord], program: ProgramRecord) -> list[LineageStep]:
    """The steps from the initial program to `program`, first parents all the way, oldest first.

    Raises ArchiveError when a parent is not on record, or is no earlier generation.
    """
    steps: list[LineageStep] = []
    current: ProgramRecord | None = program
    while current is not None:
        parents = [_parent(by_commit, current, commit) for commit in current.parents]
        first = parents[0] if parents else None
        steps.append(LineageStep(program=current, parent=first, others=tuple(parents[1:])))
        current = first
    return steps[::-1]


def _parent(by_commit: Mapping[str, ProgramRecord], child: ProgramRecord, commit: str) -> ProgramRecord:
    parent = by_commit.get(commit)
    if parent is None:
        raise ArchiveError(f"generation {child.generation} names the parent {commit[:12]}, which is not on record")
    if parent.generation >= child.generation:
        raise ArchiveError(
            f"generation {child.generation} names generation {parent.generation} as its parent, which is not earlier"
        )
    return parent


def diffs(steps: Sequence[LineageStep], source: Callable[[ProgramRecord], str]) -> list[str]:
    """The diff of each step against its parent; empty for the initial program. Each source is read once."""
    texts = [source(step.program) for step in steps]
    found = [""]
    for (before, step), (old, new) in zip(pairwise(steps), pairwise(texts), strict=True):
        found.append(unified_diff(old, new, program_label(before.program), program_label(step.program)))
    return found


def step_json(step: LineageStep, diff: str) -> dict[str, Any]:
    """One step: the keys of `evolve list RUN --json`, with the reason, the score change and the diff."""
    return {
        **program_row(step.program),
        "description": step.program.origin.description,
        "quarantine": step.program.quarantine,
        "change": step.change,
        "diff": diff,
    }


def title(steps: Sequence[LineageStep]) -> str:
    """Where the chain leads, and how far."""
    first, last = steps[0].program, steps[-1].program
    if len(steps) == 1:
        return f"Generation {last.generation} is the initial program: {sentence(of_record(last))}"
    count = f"{len(steps) - 1} step" + ("" if len(steps) == 2 else "s")
    start = score_text(first.combined_score)
    return f"Generation {last.generation} in {count}: {start} -> {sentence(of_record(last))}"


def table(steps: Sequence[LineageStep]) -> Table:
    """One row for each step."""
    columns = (
        Column("gen", number=True),
        Column("commit"),
        *SCORE_COLUMNS,
        Column("change", number=True),
        Column("patch", fit=Fit.CUT),
        Column("outcome"),
    )
    return Table(columns=columns, rows=tuple(_cells(step) for step in steps))


def _cells(step: LineageStep) -> tuple[Cell, ...]:
    shown = of_record(step.program)
    return (
        Cell(str(step.program.generation)),
        Cell(step.program.commit[:8], Tone.QUIET),
        *score_cells(shown),
        Cell(change_text(step.change), _tone(step.change)),
        Cell(patch_label(step.program)),
        outcome_cell(shown),
    )


def step_title(step: LineageStep) -> str:
    """A step's heading: its generation and its patch."""
    return f"Generation {step.program.generation}: {patch_label(step.program, 200)}"


def step_fields(step: LineageStep) -> list[tuple[str, Cell]]:
    """What stands above a step's diff: the score change, the reason, and who else had a part in it."""
    program, parent = step.program, step.parent
    before = "" if parent is None else f"{score_text(parent.combined_score)} -> "
    score = Cell(f"{before}{sentence(of_record(program))}, {change_text(step.change)}", _tone(step.change))
    fields = [("score", score), ("reason", Cell(program.origin.description or "none was given"))]
    if parent is not None:
        parents = [parent, *step.others]
        fields.append(("from", Cell(" and ".join(f"generation {p.generation}" for p in parents))))
    fields.append(("by", Cell(f"{program.origin.kind.value}, {program.origin.model}")))
    return fields


def _tone(change: float | None) -> Tone:
    if not change:
        return Tone.PLAIN
    return Tone.GOOD if change > 0 else Tone.BAD

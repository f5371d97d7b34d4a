"""The way from the initial program to another one, as a chain of small steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.errors import ArchiveError
from evolve.program import PatchKind
from evolve.review.meta_documents import recommendation_followed
from evolve.review.scores import change_of, change_text, held_out_text, held_out_value, sentence, value_text
from evolve.review.table import Cell, Fit, Table, TableOf, Tone, outcome_cell
from evolve.review.texts import patch_label, program_label, short_commits, unified_diff


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageStep:
    """One program of a chain, with the parent whose patching made it (None for the initial program).

    `others` are its further parents, `inspirations` what was shown beside them; both had a part in a crossover.
    `change` is the score change against `parent`.
    """

    program: ProgramRecord
    parent: ProgramRecord | None
    others: tuple[ProgramRecord, ...] = ()
    inspirations: tuple[ProgramRecord, ...] = ()

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
        inspirations = tuple(_parent(by_commit, current, commit) for commit in current.inspirations)
        first = parents[0] if parents else None
        steps.append(LineageStep(program=current, parent=first, others=tuple(parents[1:]), inspirations=inspirations))
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


def diffs(steps: Sequence[LineageStep], source: Callable[[ProgramRecord], str], short: Mapping[str, str]) -> list[str]:
    """The diff of each step against its parent; empty for the initial program. Each source is read once."""
    texts = [source(step.program) for step in steps]
    found = [""]
    for (before, step), (old, new) in zip(pairwise(steps), pairwise(texts), strict=True):
        found.append(unified_diff(old, new, program_label(before.program, short), program_label(step.program, short)))
    return found


def title(steps: Sequence[LineageStep]) -> str:
    """Where the chain leads, and how far."""
    first, last = steps[0].program, steps[-1].program
    if len(steps) == 1:
        return f"Generation {last.generation} is the initial program: {sentence(last)}"
    count = f"{len(steps) - 1} step" + ("" if len(steps) == 2 else "s")
    start = value_text(first.value)
    return f"Generation {last.generation} in {count}: {start} -> {sentence(last)}"


def table(archive: RunReader, steps: Sequence[LineageStep]) -> Table:
    """One row for each step; a held-out column when there are such scores."""
    held_out, short = archive.held_out_scores, short_commits(program.commit for program in archive.programs)
    table = TableOf(steps)
    table.column("gen", lambda step: str(step.program.generation), number=True)
    table.column("commit", lambda step: Cell(short[step.program.commit], Tone.QUIET), fit=Fit.SPARE)
    table.score_columns(lambda step: step.program)
    table.column("change", lambda step: Cell(_gain(step), _tone(step.change)), number=True)
    if held_out:
        table.column("held-out", lambda step: held_out_value(held_out.get(step.program.generation)), number=True)
    table.column("patch", lambda step: patch_label(step.program), fit=Fit.CUT)
    table.column("outcome", lambda step: outcome_cell(step.program))
    return table.table()


def _gain(step: LineageStep) -> str:
    """The change against the parent; that it is correct where that failed, which has no value to be compared with."""
    if step.parent is not None and step.program.correct and not step.parent.correct:
        return "first correct"
    return change_text(change_of(step.program, step.parent))


def step_title(step: LineageStep) -> str:
    """A step's heading: its generation and its patch."""
    return f"Generation {step.program.generation}: {patch_label(step.program, 200)}"


def step_fields(archive: RunReader, step: LineageStep) -> list[tuple[str, Cell]]:
    """What stands above a step's diff: the score change, the reason, and who and what had a part in it."""
    program, parent = step.program, step.parent
    before = "" if parent is None else f"{value_text(parent.value)} -> "
    change = _gain(step)
    score = Cell(f"{before}{sentence(program)}, {change}", _tone(step.change))
    fields = [("score", score)]
    held_out = archive.held_out_scores.get(program.generation)
    if held_out is not None:
        fields.append(("held-out", Cell(f"{held_out_text(held_out)} ({held_out.suite})")))
    fields.append(("reason", Cell(program.origin.description or "none was given")))
    fields += [(name, Cell(text)) for name, text in _contributors(step)]
    followed = recommendation_followed(archive, program.generation)
    if followed is not None:
        fields.append(("followed", Cell(followed)))
    return [*fields, ("by", Cell(f"{program.origin.kind.value}, {program.origin.model}"))]


def _contributors(step: LineageStep) -> list[tuple[str, str]]:
    """Whose code a program is made of, and what was shown beside it."""
    if step.parent is None:
        return []
    if step.program.origin.kind is PatchKind.CROSS:
        parts = {program.commit: program for program in (step.parent, *step.others, *step.inspirations)}
        return [("from", _listed([*parts.values()]))]
    beside = [("inspired by", _listed(step.inspirations))] if step.inspirations else []
    return [("from", _listed([step.parent, *step.others])), *beside]


def _listed(programs: Sequence[ProgramRecord]) -> str:
    *first, last = [f"generation {program.generation}" for program in programs]
    return f"{', '.join(first)} and {last}" if first else last


def _tone(change: float | None) -> Tone:
    if not change:
        return Tone.PLAIN
    return Tone.GOOD if change > 0 else Tone.BAD

"""The way from the initial program to another one, as a chain of small steps."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from evolve.archive.ranking import paired_scores
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.program import PatchKind
from evolve.review.generation_view import GenerationView
from evolve.review.meta_documents import recommendation_followed
from evolve.review.overview import author, held_out_field
from evolve.review.scores import change_text, held_out_value, sentence, value_text
from evolve.review.table import Cell, Fields, Fit, Table, TableOf, Tone, known_fields, outcome_cell
from evolve.review.texts import counted, patch_label, program_label, short_commits, unified_diff


def chain(archive: RunReader, program: ProgramRecord) -> list[ProgramRecord]:
    """The programs from the initial one to `program`, first parents all the way, oldest first."""
    line = [program]
    while line[-1].parents:  # a parent is recorded before its child, so this ends
        line.append(archive.find(line[-1].parents[0]))
    return line[::-1]


def diffs(line: Sequence[ProgramRecord], source: Callable[[ProgramRecord], str], short: Mapping[str, str]) -> list[str]:
    """The diff of each program against the one before it; empty for the first. Each source is read once."""
    found = [""]
    for (before, old), (after, new) in pairwise((program, source(program)) for program in line):
        found.append(unified_diff(old, new, program_label(before, short), program_label(after, short)))
    return found


def title(line: Sequence[ProgramRecord]) -> str:
    """Where the chain leads, and how far."""
    first, last = line[0], line[-1]
    if len(line) == 1:
        return f"Generation {last.generation} is the initial program: {sentence(last)}"
    steps = counted(len(line) - 1, "step")
    return f"Generation {last.generation} in {steps}: {value_text(first.value)} -> {sentence(last)}"


def table(archive: RunReader, line: Sequence[ProgramRecord]) -> Table:
    """One row for each program; a held-out column when there are such scores."""
    held_out, short = archive.held_out_scores, short_commits(program.commit for program in archive.programs)
    before = dict(zip((program.generation for program in line), (None, *line), strict=False))
    table = TableOf(line)
    table.column("gen", lambda program: str(program.generation), number=True)
    table.column("commit", lambda program: Cell(short[program.commit], Tone.QUIET), fit=Fit.SPARE)
    table.score_columns(lambda program: program)
    table.column("change", lambda program: _gain(program, before[program.generation]), number=True)
    if held_out:
        table.column("held-out", lambda program: held_out_value(held_out.get(program.generation)), number=True)
    table.column("patch", patch_label, fit=Fit.CUT)
    table.column("outcome", outcome_cell)
    return table.table()


def _gain(program: ProgramRecord, parent: ProgramRecord | None) -> Cell:
    """The change against the parent; that it is correct where that failed, which has no value to be compared with."""
    if parent is None:
        return Cell(change_text(program, parent))
    score, than = paired_scores(program, parent)
    tone = Tone.GOOD if score > than else Tone.BAD if score < than else Tone.PLAIN
    return Cell("first correct" if program.correct and not parent.correct else change_text(program, parent), tone)


def step_fields(view: GenerationView, program: ProgramRecord) -> Fields:
    """What stands above a step's diff: the score change, the reason, and who and what had a part in it."""
    parent, reader = view.parent, view.reader
    before, gain = "" if parent is None else f"{value_text(parent.value)} -> ", _gain(program, parent)
    parents, shown = reader.generations(program.parents), reader.generations(program.inspirations)
    if program.origin.kind is PatchKind.CROSS:  # it is made of all of them
        parents, shown = list(dict.fromkeys((*parents, *shown))), []
    return known_fields(
        ("score", Cell(f"{before}{sentence(program)}, {gain.text}", gain.tone)),
        ("held-out", held_out_field(view)),
        ("reason", program.origin.description or "none was given"),
        ("from", _listed(parents)),
        ("inspired by", _listed(shown)),
        ("followed", recommendation_followed(reader.archive, program.generation)),
        ("by", author(program)),
    )


def _listed(generations: Sequence[int]) -> str:
    *first, last = [f"generation {generation}" for generation in generations] or [""]
    return f"{', '.join(first)} and {last}" if first else last

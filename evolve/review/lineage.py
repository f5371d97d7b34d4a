"""The lineage from the initial program to another one, as a chain of small steps."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.core.program import PatchKind
from evolve.review.catalogue import gain_cell
from evolve.review.generation_view import GenerationView
from evolve.review.insights_reports import recommendation_followed
from evolve.review.overview import author, held_out_field
from evolve.review.scores import sentence, value_text
from evolve.review.table import Cell, Fields, known_fields
from evolve.review.texts import counted, program_label, unified_diff


def chain(archive: RunReader, program: ProgramRecord) -> list[ProgramRecord]:
    """The programs from the initial one to `program`, first parents all the way, oldest first."""
    line = [program]
    while line[-1].parents:  # a parent is recorded before its child, so this ends
        line.append(archive.find(line[-1].parents[0]))
    return line[::-1]


def diffs(line: Sequence[ProgramRecord], source: Callable[[ProgramRecord], str], short: Mapping[str, str]) -> list[str]:
    """The diff of each program against its predecessor; empty for the first. Each source is read once."""
    texts = [""]
    for (before, old), (after, new) in pairwise((program, source(program)) for program in line):
        texts.append(unified_diff(old, new, program_label(before, short), program_label(after, short)))
    return texts


def title(line: Sequence[ProgramRecord]) -> str:
    """The end of the chain and its length."""
    first, last = line[0], line[-1]
    if len(line) == 1:
        return f"Generation {last.generation} is the initial program: {sentence(last)}"
    steps = counted(len(line) - 1, "step")
    return f"Generation {last.generation} in {steps}: {value_text(first.value)} -> {sentence(last)}"


def step_fields(view: GenerationView, program: ProgramRecord) -> Fields:
    """The head of a step's diff: score change, description, parents, inspirations, recommendation and author."""
    parent, reader = view.parent, view.reader
    before, gain = "" if parent is None else f"{value_text(parent.value)} -> ", gain_cell(program, parent)
    parents, shown = reader.generations(program.parents), reader.generations(program.inspirations)
    if program.origin.kind is PatchKind.CROSS:  # made of all of them
        parents, shown = list(dict.fromkeys((*parents, *shown))), []
    return known_fields(
        ("score", Cell(f"{before}{sentence(program)}, {gain.text}", gain.tone)),
        ("held-out", held_out_field(view)),
        ("description", program.origin.description or "none was given"),
        ("from", _listed(parents)),
        ("inspired by", _listed(shown)),
        ("followed", recommendation_followed(reader.archive, program.generation)),
        ("by", author(program)),
    )


def _listed(generations: Sequence[int]) -> str:
    *first, last = [f"generation {generation}" for generation in generations] or [""]
    return f"{', '.join(first)} and {last}" if first else last

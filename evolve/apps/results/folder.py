"""Reads a result folder of another system."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from evaluator.untrusted import one_line
from evolve.apps.results.openevolve import is_openevolve, read_openevolve
from evolve.apps.results.reading import FolderReader
from evolve.apps.results.shinka import is_shinka, read_reports, read_shinka
from evolve.apps.results.values import ResultFolder, ResultProgram, unused
from evolve.core.errors import InputError

MAX_NOTES_OF_ONE: Final = 20
"""Notes that are kept of one program."""


def read_results(folder: Path) -> ResultFolder:
    """Read a result folder of ShinkaEvolve or OpenEvolve. Nothing of it is run or loaded, and nothing is written.

    Raises InputError where it is no such folder, or holds no program.
    """
    reader = FolderReader(folder)
    if is_shinka(reader):
        system, reports = "ShinkaEvolve", read_reports(reader)
        programs = read_shinka(reader, reports)
    elif is_openevolve(reader):
        system, programs, reports = "OpenEvolve", read_openevolve(reader), []
    else:
        raise InputError(
            f"{one_line(str(folder))}: is no result folder of ShinkaEvolve (programs.sqlite or gen_<n>/) "
            "nor of OpenEvolve (checkpoints/ or best/)"
        )
    if not programs:
        why = f": {reader.notes[0]}" if reader.notes else ""
        raise InputError(f"{one_line(str(folder))}: a result folder of {system} without a program{why}")
    return ResultFolder(
        folder=folder,
        system=system,
        programs=tuple(map(_in_words, _in_order(programs))),
        reports=tuple(reports),
        notes=tuple(reader.notes),
    )


def _in_words(program: ResultProgram) -> ResultProgram:
    """A program whose notes, which quote the folder, are each one printable line, and at most MAX_NOTES_OF_ONE."""
    notes = tuple(one_line(note, 400) for note in program.claimed.notes[:MAX_NOTES_OF_ONE])
    more = len(program.claimed.notes) - len(notes)
    notes = (*notes, f"and {more} more notes") if more else notes
    return replace(program, claimed=replace(program.claimed, notes=notes))


def _in_order(programs: Iterable[ResultProgram]) -> list[ResultProgram]:
    """The programs by when they came, each after its parent. Where parents form a circle, one of them gets a note."""
    waiting: dict[str, ResultProgram] = {}
    for program in sorted(programs, key=lambda program: program.ancestry.order):
        named = program.renamed(unused(program.id, waiting))
        waiting[named.id] = named
    ordered: dict[str, ResultProgram] = {}
    for program in waiting.values():
        chain: dict[str, ResultProgram] = {}
        current: ResultProgram | None = program
        while current is not None and current.id not in ordered and current.id not in chain:
            chain[current.id] = current
            parent = current.ancestry.parent
            if parent is not None and parent not in waiting:
                chain[current.id] = current.noted(f"its parent {one_line(parent, 60)} is not in the folder")
            current = None if parent is None else waiting.get(parent)
        if current is not None and current.id in chain:
            last = next(reversed(chain))
            chain[last] = chain[last].noted(f"it is its own ancestor, by its parent {one_line(current.id, 60)}")
        ordered |= dict(reversed(chain.items()))
    return list(ordered.values())

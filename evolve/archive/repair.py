"""Cutting a damaged journal after its last sound line, when somebody asks for that. What is cut off is kept."""

import itertools
import os
from pathlib import Path

from evolve.archive.archive import Archive
from evolve.archive.disk import sync_folder, using, write_file
from evolve.archive.journal import DamagedJournal, Journal
from evolve.archive.layout import JOURNAL, require_folder


def repair(folder: Path) -> str:
    """Cut the journal of a run before its first damaged line, and put what comes after aside. Returns what was done, in
    a sentence.

    Raises ArchiveError when there is nothing sound to go on with, something else is damaged, or another process writes
    the run; MachineError.
    """
    require_folder(folder)
    path = folder / JOURNAL
    journal = Journal(path, write=True)
    try:
        try:
            Archive.open(folder, write=False).close()
        except DamagedJournal as damage:
            if damage.offset == 0:
                raise
            return _cut(journal, damage)
    finally:
        journal.close()
    return f"{path}: every line is sound; nothing was cut off"


def _cut(journal: Journal, damage: DamagedJournal) -> str:
    with using(journal.path, "read"), journal.path.open("rb") as file:
        file.seek(damage.offset)
        rest = file.read()
    with using(journal.path.parent, "written"):
        for number in itertools.count(1):
            aside = journal.path.with_name(f"journal.cut-off-{number}")
            if not os.path.lexists(aside):
                write_file(aside, rest)
                sync_folder(aside.parent)
                break
    journal.cut(damage.offset)
    return (
        f"{journal.path}: line {damage.line} is damaged ({damage.why}), so the journal was cut off before it; "
        f"the {len(rest)} bytes cut off are kept in {aside.name}, and what they told of is done again"
    )

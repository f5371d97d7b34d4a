"""Cutting a damaged journal after its last sound line, when somebody asks for that. What is cut off is kept."""

import itertools
import os
import shutil
from pathlib import Path

from evolve.archive.disk import sync_folder, using
from evolve.archive.journal import DamagedJournal, Journal
from evolve.archive.layout import JOURNAL, require_folder
from evolve.archive.reader import RunReader

_CHUNK = 1024 * 1024


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
            RunReader.open(folder).close()
        except DamagedJournal as damage:
            if damage.offset == 0:
                raise
            return _cut(journal, damage)
    finally:
        journal.close()
    return f"{path}: every line is sound; nothing was cut off"


def _cut(journal: Journal, damage: DamagedJournal) -> str:
    names = (journal.path.with_name(f"journal.cut-off-{number}") for number in itertools.count(1))
    with using(journal.path.parent, "written"):
        aside = next(path for path in names if not os.path.lexists(path))
        with journal.path.open("rb") as file, aside.open("xb") as copy:
            try:
                file.seek(damage.offset)
                shutil.copyfileobj(file, copy, _CHUNK)
                copy.flush()
                os.fsync(copy.fileno())
            except OSError:  # the disk is full: the journal stays whole, and no half of a copy beside it
                aside.unlink()
                raise
            length = copy.tell()
        sync_folder(aside.parent)
    journal.cut(damage.offset)
    return (
        f"{journal.path}: line {damage.line} is damaged ({damage.why}), so the journal was cut off before it; "
        f"the {length} bytes cut off are kept in {aside.name}, and the work that they recorded is done again"
    )

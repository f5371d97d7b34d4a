"""From the events of a journal to the state that they add up to: nothing is believed before it was looked at."""

from collections.abc import Iterable, Sequence

from evaluator.untrusted import one_line
from evolve.archive.journal import Entry, Journal
from evolve.archive.objects import Objects
from evolve.archive.records import ProgramRecord
from evolve.archive.schema import require_sound
from evolve.archive.state import State
from evolve.archive.truth import contradiction, misjudged
from evolve.errors import ArchiveError


def read_on(state: State, journal: Journal, entries: Iterable[Entry], objects: Objects) -> int:
    """Add what a journal holds further to the state; how many events that were.

    Raises DamagedJournal at an event that cannot be right, ArchiveError when the commit of a program is missing.
    """
    known, read = len(state.programs), 0
    for entry in entries:
        read += 1
        try:
            why = _add(state, entry)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError) as cause:
            why = f"it lacks {cause}" if isinstance(cause, KeyError) else one_line(str(cause), 300)
        if why is not None:
            raise journal.damaged(entry, why)
    _require_commits(state, objects, state.programs[known:])
    return read


def _add(state: State, entry: Entry) -> str | None:
    """Add an event that was read. Why it cannot be true, if it cannot: what becomes the best is computed again."""
    require_sound(entry.event)
    best = state.best
    why = contradiction(entry.event)
    if why is None:
        state.apply(entry)
        if state.best is not best and "evaluation" in entry.event:
            why = misjudged(entry.event["evaluation"], state.identity)
    return why


def _require_commits(state: State, objects: Objects, programs: Sequence[ProgramRecord]) -> None:
    missing = objects.missing([record.commit for record in programs])
    if missing:
        record = state.by_commit[missing[0]]
        raise ArchiveError(
            f"{objects.repository}: the commit {one_line(record.commit)} of generation {record.generation} is missing"
            + (f", and {len(missing) - 1} more" if len(missing) > 1 else "")
            + "; restore the folder from a copy"
        )

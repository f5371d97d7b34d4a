"""Which program a user means."""

from evaluator.untrusted import one_line
from evolve.archive.records import ProgramRecord
from evolve.archive.state import State
from evolve.errors import ArchiveError

_HEX = frozenset("0123456789abcdef")


def find_program(state: State, name: str, *, where: str) -> ProgramRecord:
    """The program called `name`: `best`, a generation, or the first letters of a commit.

    Raises ArchiveError, which begins with `where` and says what there is, if there is none or more than one.
    """
    if name in state.by_commit:
        return state.by_commit[name]
    if name == "best":
        if state.best is None:
            raise ArchiveError(f"{where}: there is no correct program yet, so no best one; {_choice(state)}")
        return state.best
    if name.isascii() and name.isdigit():
        number = int(name) if len(name) < 20 else -1
        if number in state.by_generation:
            return state.by_generation[number]
        status = state.statuses.get(number)
        how = "was not begun" if status is None else f"made no program ({status.value})"
        raise ArchiveError(f"{where}: generation {one_line(name, 20)} {how}; {_choice(state)}")
    prefix = name.lower()
    found = [r for r in state.programs if r.commit.startswith(prefix)] if prefix and set(prefix) <= _HEX else []
    if len(found) > 1:
        which = ", ".join(f"{r.commit[:12]} (generation {r.generation})" for r in found[:5])
        raise ArchiveError(f"{where}: {len(found)} commits begin with {prefix!r}: {which}; give more letters")
    if not found:
        raise ArchiveError(f"{where}: there is no program {one_line(name, 60)!r}; {_choice(state)}")
    return found[0]


def _choice(state: State) -> str:
    if not state.programs:
        return "it has no programs"
    return (
        f"it has {len(state.programs)}, of generations {min(state.by_generation)} to {max(state.by_generation)}: "
        "give a generation, `best`, or the first letters of a commit"
    )

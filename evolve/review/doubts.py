"""What is known against the programs of a run, in sentences: read them before you believe a score."""

from collections.abc import Sequence

from evaluator.untrusted import one_line
from evolve.archive.events import FreshState
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord


def why_overfitted(archive: RunReader, program: ProgramRecord) -> str | None:
    """Why what a program gains on the suite is not believed to hold elsewhere: by the held-out suite, or by fresh
    instances."""
    check = archive.fresh_check(program.generation)
    counts = check.counts if check.state is FreshState.FAILED else None
    return program.overfitted or (None if counts is None else counts.overfitted)


def quarantined(programs: Sequence[ProgramRecord], shown: int = 3) -> list[str]:
    """Why programs are quarantined, a line each, and what that says; empty when none is."""
    found = [program for program in programs if program.quarantine is not None]
    lines = [f"generation {p.generation} is quarantined: {one_line(p.quarantine or '', 300)}" for p in found[:shown]]
    if len(found) > shown:
        lines.append(f"and {len(found) - shown} more are quarantined")
    return [*lines, "The evaluator or the task has a hole: mend it before you believe a score."] if found else []


def overfitted(archive: RunReader) -> list[str]:
    """That the best program is overfitted or looked up, and what that says; empty when it is not."""
    best = archive.best
    why = None if best is None else why_overfitted(archive, best)
    if best is None or why is None:
        return []
    return [f"generation {best.generation}, the best, is OVERFITTED OR LOOKED UP: {one_line(why, 400)}."]


def unknown_elsewhere(archive: RunReader) -> list[str]:
    """That the best program is not correct on the held-out suite or on fresh instances, or was not tried on all of
    these, so that its gains are not known to hold; empty where they are."""
    best, held_out = archive.best, archive.held_out_of_best
    if best is None or best.overfitted is not None:
        return []
    check, known = archive.fresh_check(best.generation), "its gains are not known to hold there"
    places = [one_line(held_out.suite, 60)] if held_out is not None and not held_out.correct else []
    failed = check.state is FreshState.FAILED and why_overfitted(archive, best) is None
    places += ["fresh instances"] if failed else []
    found = [f"generation {best.generation}, the best, is not correct on {where}: {known}." for where in places]
    if check.samples and check.state in (FreshState.NOT_TRIED, FreshState.PARTLY_TRIED):
        how = "not tried" if check.state is FreshState.NOT_TRIED else "only partly tried"
        found.append(f"generation {best.generation}, the best, was {how} on fresh instances: {known}.")
    return found


def held_out_change(archive: RunReader) -> str | None:
    """How the best does on the held-out suite against the best before it that was tried there: `4 slots worse than the
    best before, generation 16 (276)`; None where there is no such pair."""
    best, scores = archive.best, archive.held_out_scores
    if best is None:
        return None
    bests = [program.generation for _, program in archive.reigns if program is not None]
    before = next((scores[n] for n in reversed(bests) if n != best.generation and n in scores), None)
    now = scores.get(best.generation)
    if now is None or before is None or now.value is None or before.value is None:
        return None
    change = now.value - before.value
    than = f"{best.objective.worded(change)} {'than' if change else 'as'} the best before"
    return f"{than}, generation {before.generation} ({best.objective.amount(before.value)})"


def against_best(archive: RunReader) -> list[str]:
    """What is to be warned of before the best program is believed, a sentence each; empty where nothing is known."""
    return [*overfitted(archive), *unknown_elsewhere(archive)]

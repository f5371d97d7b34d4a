"""Reasons to doubt the programs of a run, in sentences: read them before you trust a score."""

from collections.abc import Sequence

from evaluator.untrusted import one_line
from evolve.archive.events import FreshState
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.review.scores import value_text
from evolve.review.texts import time_text
from evolve.trust import own_audit


def why_overfitted(archive: RunReader, program: ProgramRecord) -> str | None:
    """Why a program's gain on the suite is not trusted: by the held-out suite or by fresh instances; None without a
    reason."""
    check = archive.fresh_check(program.generation)
    counts = check.counts if check.state is FreshState.FAILED else None
    return program.overfitted or (None if counts is None else counts.overfitted)


def quarantined(programs: Sequence[ProgramRecord], shown: int = 3) -> list[str]:
    """Why programs are quarantined, a line each, and what to do; empty when none is."""
    untrusted = [program for program in programs if program.quarantine is not None]
    lines = [
        f"generation {p.generation} is quarantined: {one_line(p.quarantine or '', 300)}" for p in untrusted[:shown]
    ]
    if len(untrusted) > shown:
        lines.append(f"and {len(untrusted) - shown} more are quarantined")
    return [*lines, "The evaluator or the task has a bug: fix it before you trust a score."] if untrusted else []


def overfitted(archive: RunReader) -> list[str]:
    """A sentence if the best program is overfitted; else empty."""
    best = archive.best
    why = None if best is None else why_overfitted(archive, best)
    if best is None or why is None:
        return []
    return [f"generation {best.generation}, the best, is OVERFITTED: {one_line(why, 400)}."]


def unknown_elsewhere(archive: RunReader) -> list[str]:
    """Sentences if the best program is not correct on the held-out suite or on fresh instances, or was not tried on all
    fresh instances, so that its gains may not hold there; else empty."""
    best, held_out = archive.best, archive.held_out_of_best
    if best is None or best.overfitted is not None:
        return []
    check, consequence = archive.fresh_check(best.generation), "its gains are not known to hold there"
    places = [one_line(held_out.suite, 60)] if held_out is not None and not held_out.correct else []
    failed = check.state is FreshState.FAILED and why_overfitted(archive, best) is None
    places += ["fresh instances"] if failed else []
    sentences = [
        f"generation {best.generation}, the best, is not correct on {where}: {consequence}." for where in places
    ]
    if check.samples and check.state in (FreshState.NOT_TRIED, FreshState.PARTLY_TRIED):
        how = "not tried" if check.state is FreshState.NOT_TRIED else "only partly tried"
        sentences.append(f"generation {best.generation}, the best, was {how} on fresh instances: {consequence}.")
    return sentences


def held_out_change(archive: RunReader) -> str | None:
    """The best program on the held-out suite against the previous best tried there: `4 slots worse than the best
    before, generation 16 (276)`; None without such a pair."""
    best, scores = archive.best, archive.held_out_scores
    if best is None:
        return None
    bests = [program.generation for _, program in archive.best_history if program is not None]
    before = next((scores[n] for n in reversed(bests) if n != best.generation and n in scores), None)
    now = scores.get(best.generation)
    if now is None or before is None or now.value is None or before.value is None:
        return None
    change = now.value - before.value
    than = f"{best.objective.worded(change, now.value)} {'than' if change else 'as'} the previous best"
    return f"{than}, generation {before.generation} ({best.objective.amount(before.value)})"


def against_best(archive: RunReader) -> list[str]:
    """The warnings about the best program, a sentence each; empty without any."""
    return [*overfitted(archive), *unknown_elsewhere(archive), *fallen(archive)]


def fallen(archive: RunReader) -> list[str]:
    """A sentence if the record of the best program did not hold in the newest audit; else empty. What the folder of an
    imported program claims is no record of ours."""
    best, audited = archive.best, own_audit(archive)
    if best is None or audited is None or best.claimed is not None:
        return []
    claims = [claim for claim in audited.falls if claim["generation"] == best.generation]
    return [
        f"generation {best.generation}, the best, did not hold in the audit of {time_text(audited.t)}: recorded "
        f"{value_text(claim['claimed'])}, measured {value_text(claim['measured'])} ({one_line(claim['why'], 300)})."
        for claim in claims
    ]

"""A run as flat rows of plain values: for `evolve list --json` and for whoever makes tables of them.

A row of a program has
    generation, commit, parents (generations; the first one was patched), inspirations (generations), island,
    patch_kind, patch_name, description, features, model,
    outcome, correct, combined_score, ceiling, gap, quarantined, quarantine (why),
    held_out, held_out_gap (of programs that were the best when they came),
    tokens, cost_usd (what its generation took), and `metrics.<name>` for each metric of the judge.
A row of a generation has
    generation, status, reason (why there is no program), kind, model, tokens, cost_usd.
"""

from typing import Any

from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord
from evolve.completion import patch_key
from evolve.review.calls import calls_of
from evolve.review.scores import of_record
from evolve.usage import Usage


def flat_row(archive: Archive, program: ProgramRecord) -> dict[str, Any]:
    """One program."""
    score = of_record(program).to_json()
    metrics = score.pop("metrics")
    held_out = archive.held_out_scores.get(program.generation)
    return {
        "generation": program.generation,
        "commit": program.commit,
        "parents": [archive.find(commit).generation for commit in program.parents],
        "inspirations": [archive.find(commit).generation for commit in program.inspirations],
        "island": program.island,
        "patch_kind": program.origin.kind.value,
        "patch_name": program.origin.patch_name,
        "description": program.origin.description,
        "features": list(program.origin.features),
        "model": program.origin.model,
        **score,
        "quarantine": program.quarantine,
        "held_out": None if held_out is None else held_out.combined_score,
        "held_out_gap": None if held_out is None else held_out.gap,
        **_taken(archive, program.generation),
        **{f"metrics.{name}": value for name, value in metrics.items()},
    }


def generation_rows(archive: Archive) -> list[dict[str, Any]]:
    """Every generation that was begun, in order."""
    return [_generation_row(archive, generation) for generation in sorted(archive.statuses)]


def _generation_row(archive: Archive, generation: int) -> dict[str, Any]:
    attempts = archive.attempts(generation)
    asked = archive.generation(generation) if attempts else None
    return {
        "generation": generation,
        "status": archive.statuses[generation].value,
        "reason": attempts[-1].reason if attempts else None,
        "kind": "initial" if asked is None else asked.kind,
        "model": "" if asked is None else asked.model,
        **_taken(archive, generation),
    }


def _taken(archive: Archive, generation: int) -> dict[str, Any]:
    used = usage_of(archive, generation)
    return {
        "tokens": sum(usage.tokens_in + usage.tokens_out for usage in used),
        "cost_usd": sum(u.cost_usd for u in used),
    }


def usage_of(archive: Archive, generation: int) -> list[Usage]:
    """What each call for a generation took, the failed ones included; empty where no model was asked."""
    found: list[Usage] = []
    for attempt in archive.attempts(generation):
        calls = calls_of(attempt, archive.calls(patch_key(generation, attempt.attempt)))
        found += [call.usage for call in calls]
    return found

"""A generation at its end, as the search and whoever counts are told of it."""

from collections.abc import Sequence

from evolve.archive.calls import LOST, Asked, calls_of, spending_of
from evolve.archive.ranking import better, measured_against
from evolve.archive.records import BEGINNING, Contribution, EndedGeneration, ProgramRecord, Status
from evolve.archive.state import State
from evolve.completion import FAILURE_REASONS, patch_key
from evolve.program import PatchKind

_APPLIED = (Status.EVALUATED, Status.DUPLICATE)


def ended_generation(state: State, generation: int) -> EndedGeneration:
    """A generation at its end. Raises KeyError for one that was not begun."""
    asked = state.generations.get(generation)
    program = state.by_generation.get(generation)
    counts = program is not None and not (program.stale or program.excluded)
    searched = asked is not None and asked.kind == PatchKind.TUNE  # which asks no model
    attempts = [] if searched else list(state.attempts.get(generation, {}).values())
    known = state.accounts.calls
    questions = [(one, calls_of(one, known.get(patch_key(generation, one.attempt), ()))) for one in attempts]
    return EndedGeneration(
        generation=generation,
        status=state.statuses[generation],
        parent=None if asked is None else asked.parents[0],
        program=program if counts else None,
        moment=state.moments.get(generation, BEGINNING),
        improvement=None if program is None or not counts else _improvement(state, program),
        models=_contributions(questions),
        arm=_arm(state, generation),
        kind=PatchKind.INITIAL if asked is None else PatchKind(asked.kind),
    )


def _improvement(state: State, program: ProgramRecord) -> float | None:
    if not program.parents:
        return None
    seen = [state.by_commit[commit] for commit in (program.parents[0], *program.inspirations)]
    base = measured_against(program, seen)
    if base.stale or not better(program, base if base.correct else None):
        return None
    return max(0.0, program.combined_score - base.combined_score) if base.correct else 0.0


def _contributions(questions: Sequence[Asked]) -> tuple[Contribution, ...]:
    by_model: dict[str, list[Asked]] = {}
    for question in questions:
        by_model.setdefault(question[0].model, []).append(question)
    return tuple(_contribution(model, asked) for model, asked in by_model.items())


def _contribution(model: str, asked: Sequence[Asked]) -> Contribution:
    kept = [(attempt, [call for call in calls if call.status != LOST]) for attempt, calls in asked]
    sent = [(attempt, calls) for attempt, calls in kept if calls or attempt.answer is not None]
    return Contribution(
        model=model,
        answered=any(attempt.answer is not None for attempt, _ in asked),
        applied=asked[-1][0].status in _APPLIED,
        failed=sum(call.status in FAILURE_REASONS for _, calls in asked for call in calls),
        spent=spending_of(asked),
        fair=spending_of(sent),
    )


def _arm(state: State, generation: int) -> str | None:
    """The model that `search.models` chose for a generation."""
    attempts = state.attempts.get(generation)
    if not attempts or state.generations[generation].kind == PatchKind.TUNE:
        return None
    first = next(iter(attempts.values()))
    sent = first.answer is not None or patch_key(generation, first.attempt) in state.accounts.calls
    return first.model if sent and "repair" not in first.departs else None

"""What a generation without an end stands at: what resume goes on with."""

from collections.abc import Callable
from typing import cast

from evolve.archive.records import AttemptRecord, Status, Unfinished
from evolve.archive.state import State
from evolve.completion import Completion, FinishReason


def unfinished(state: State, generation: int, text: Callable[[str], str]) -> Unfinished:
    """A generation to go on with; `text` reads a prompt or an answer by its object's id."""
    chosen = state.generations[generation]
    attempts = list(state.attempts[generation].values())
    last = attempts[-1]
    refusals = tuple(
        (text(record.answer), record.message, record.reason or "")
        for record in attempts
        if record.answer is not None and record.message is not None
    )
    return Unfinished(
        generation=generation,
        attempt=last.attempt + (last.status not in (Status.ASKED, Status.ANSWERED)),
        model=chosen.model,
        kind=chosen.kind,
        island=chosen.island,
        parents=chosen.parents,
        inspirations=chosen.inspirations,
        refusals=refusals,
        why=chosen.why,
        answer=_completion(last, text) if last.status is Status.ANSWERED else None,
    )


def _completion(attempt: AttemptRecord, text: Callable[[str], str]) -> Completion:
    assert attempt.answer is not None
    return Completion(
        text=text(attempt.answer), finish_reason=cast(FinishReason, attempt.finish_reason), usage=attempt.usage
    )

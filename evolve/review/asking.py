"""Why a generation was asked for as it was, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.untrusted import one_line
from evolve.archive.archive import Archive
from evolve.archive.records import AttemptRecord
from evolve.guidance.history import followed_by_answers, guidance_of


def asked_how(archive: Archive, generation: int) -> list[str]:
    """What was particular to the question, and what the answer says of the recommendation in it; empty where nothing
    was, and of the initial program, which nobody was asked for."""
    attempts = archive.attempts(generation)
    if not attempts:
        return []
    asked = archive.generation(generation)
    told = ["asked without guidance"] if asked.unguided else []
    told += _model(asked.why.get("picked"), attempts)
    given, followed = guidance_of(attempts), followed_by_answers(attempts)
    if given is not None and "recommendation" not in given:
        told.append("given the notes alone")
    return told if followed is None else [*told, f"followed: {followed.value}"]


_BY = {"bandit": "whose yield for its cost may be the highest", "trial": "of which too little was known"}
_UNITS = {"usd": "USD", "tokens": "tokens", "proposals": "proposals"}


def _model(picked: Mapping[str, Any] | None, attempts: Sequence[AttemptRecord]) -> list[str]:
    """Why these models were asked, where they were not drawn by weight."""
    told = []
    repairs = [attempt for attempt in attempts if "repair" in attempt.departs]
    if picked is not None and len(repairs) < len(attempts):
        told.append(f"asked of {one_line(attempts[0].model, 60)}, {_why_picked(picked)}")
    if repairs:
        what = "the program" if repairs[0] is attempts[0] else "the answer"
        told.append(f"{what} to be mended by {one_line(repairs[0].model, 60)} (repair_model)")
    return told


def _why_picked(picked: Mapping[str, Any]) -> str:
    said = _BY[picked["by"]]
    if not picked.get("proposals"):
        return f"{said}: no proposal of it had ended"
    cost = f"{picked['cost']:.4g} {_UNITS[picked['unit']]}" if picked["unit"] != "proposals" else "as much as any other"
    return f"{said}: {picked['proposals']} proposals, mean reward {picked['reward']:.3f}, each for {cost}"

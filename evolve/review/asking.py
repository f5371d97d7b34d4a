"""Why a generation was asked for as it was, in words."""

from evolve.archive.archive import Archive
from evolve.guidance.history import followed_by_answers, guidance_of


def asked_how(archive: Archive, generation: int) -> list[str]:
    """What was particular to the question, and what the answer says of the recommendation in it; empty where nothing
    was, and of the initial program, which nobody was asked for."""
    attempts = archive.attempts(generation)
    if not attempts:
        return []
    asked, why = archive.generation(generation), archive.generation(generation).why
    told = ["asked without guidance"] if asked.unguided else []
    if why.get("stagnant"):
        told.append(f"asked for a larger step after {why['stagnant']} generations without a new best")
    if why.get("focus") is not None:
        told.append(f"asked with instance {why['focus']} in mind")
    given, followed = guidance_of(attempts), followed_by_answers(attempts)
    if given is not None and "recommendation" not in given:
        told.append("given the notes alone")
    return told if followed is None else [*told, f"followed: {followed.value}"]

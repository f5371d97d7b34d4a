"""The outcome of a rerun, in words and as JSON."""

from dataclasses import asdict
from typing import Any

from evolve.loop.rerun.driving import Repeated
from evolve.review.texts import counted


def to_json(result: Repeated) -> dict[str, Any]:
    """The keys of `evolve rerun --json`."""
    return {
        "run": result.run,
        "equal": result.equal,
        "fingerprint": {"recorded": result.recorded_fingerprint, "found": result.fingerprint},
        "parted": None if result.divergence is None else asdict(result.divergence),
        "generations": result.generations,
        **asdict(result.tally),
        "questions_as_recorded": result.tally.tuned,
        "verdicts": asdict(result.verdicts),
        "sandbox": {"recorded": result.sandbox[0], "found": result.sandbox[1]},
        "kept": None if result.kept is None else str(result.kept),
    }


def fields(result: Repeated) -> list[tuple[str, str]]:
    """What was done, by name."""
    verdicts, tally = result.verdicts, result.tally
    scored = verdicts.exact + verdicts.within
    return [
        ("questions", f"{tally.questions - tally.tuned} chosen, rendered and compared"),
        ("answers", f"{tally.answers} from the record; {tally.patches_refused} refused, as recorded"),
        ("programs", f"{scored} made, scored and compared again"),
        ("reports", f"{counted(tally.documents, 'insights report')} written and compared again"),
        *([] if result.kept is None else [("kept", str(result.kept))]),
    ]


def remarks(result: Repeated) -> list[str]:
    """What could not be repeated, or was compared only in part."""
    verdicts, tally, lines = result.verdicts, result.tally, []
    if tally.tuned:
        lines.append(
            f"{_many(tally.tuned, 'question', 'of the command `tune` stand')} as recorded: a person chose the program. "
            "The result was applied, evaluated and compared."
        )
    if verdicts.as_recorded:
        lines.append(
            f"{_many(verdicts.as_recorded, 'verdict', 'stand')} as recorded: the judge was replaced during the run, "
            "and the earlier one is not installed."
        )
    if verdicts.refuted:
        lines.append(
            f"{_many(verdicts.refuted, 'verdict', 'stand')} as recorded: a worker reported it that was expelled later. "
            "Its programs were scored again, and that was compared."
        )
    if verdicts.within:
        lines.append(
            f"{_many(verdicts.within, 'verdict', 'hold')} within the recorded spread: a clock or the program itself "
            "contributes to the score. The recorded values stand."
        )
    if verdicts.again:
        lines.append(
            f"{_many(verdicts.again, 'verdict', 'agree')} only after a second evaluation, alone: a time limit may have "
            "been met under load."
        )
    if result.sandbox[0] != result.sandbox[1]:
        lines.append(f"The sandbox level is {result.sandbox[1]}; in the run it was {result.sandbox[0]}.")
    return lines if result.unnoted is None else [*lines, f"The kept archive: {result.unnoted}."]


def _many(count: int, what: str, do: str) -> str:
    """`1 question stands`, `2 questions stand`."""
    return f"{count} {what}{'s' * (count != 1)} {do}{'s' * (count == 1)}"


def conclusion(result: Repeated) -> list[str]:
    """Whether the rerun equals the record; else where and how it differs."""
    if result.equal:
        return [f"Equal: the rerun is the same as the record, fingerprint {result.fingerprint}."]
    part = result.divergence
    assert part is not None
    where = "The rerun differs" + ("" if part.generation is None else f" from generation {part.generation} on")
    return [f"{where}: {part.what}.", f"  recorded  {part.recorded}", f"  found     {part.found}"]

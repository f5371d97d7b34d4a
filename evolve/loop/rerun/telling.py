"""The outcome of a rerun, in words and as JSON."""

from dataclasses import asdict
from typing import Any

from evolve.loop.rerun.driving import Repeated


def to_json(found: Repeated) -> dict[str, Any]:
    """The keys of `evolve rerun --json`."""
    return {
        "run": found.run,
        "equal": found.equal,
        "fingerprint": {"recorded": found.recorded_fingerprint, "found": found.fingerprint},
        "parted": None if found.divergence is None else asdict(found.divergence),
        "generations": found.generations,
        **asdict(found.tally),
        "questions_as_recorded": found.tally.tuned,
        "verdicts": asdict(found.verdicts),
        "sandbox": {"recorded": found.sandbox[0], "found": found.sandbox[1]},
        "kept": None if found.kept is None else str(found.kept),
    }


def fields(found: Repeated) -> list[tuple[str, str]]:
    """What was done, by name."""
    verdicts, tally = found.verdicts, found.tally
    scored = verdicts.exact + verdicts.within
    return [
        ("questions", f"{tally.questions - tally.tuned} chosen, rendered and compared"),
        ("answers", f"{tally.answers} from the record; {tally.patches_refused} patches refused as then"),
        ("programs", f"{scored} made again, scored again and compared"),
        ("documents", f"{tally.documents} put together again"),
        *([] if found.kept is None else [("kept", str(found.kept))]),
    ]


def remarks(found: Repeated) -> list[str]:
    """What else a reader must know: what could not be repeated, and was compared in part or not at all."""
    verdicts, tally, lines = found.verdicts, found.tally, []
    if tally.tuned:
        lines.append(
            f"{_many(tally.tuned, 'question', 'of a search over numbers stand')} as recorded: somebody chose whose "
            "numbers were searched. What was found was applied, judged and compared."
        )
    if verdicts.as_recorded:
        lines.append(
            f"{_many(verdicts.as_recorded, 'verdict', 'stand')} as recorded: an earlier judge made them, and another "
            "one is installed (the run was rescored)."
        )
    if verdicts.within:
        lines.append(
            f"{verdicts.within} verdicts were compared as far as they repeat: a clock, or the program itself, has a "
            "hand in their scores. They agree as far as that, and stand as recorded."
        )
    if verdicts.again:
        lines.append(
            f"{verdicts.again} verdicts agreed only when the program was scored again, alone (limits of time)."
        )
    if found.sandbox[0] != found.sandbox[1]:
        lines.append(f"The sandbox level was {found.sandbox[0]} then, and is {found.sandbox[1]} now.")
    return lines


def _many(count: int, what: str, do: str) -> str:
    """`1 question stands`, `2 questions stand`."""
    return f"{count} {what}{'s' * (count != 1)} {do}{'s' * (count == 1)}"


def conclusion(found: Repeated) -> list[str]:
    """The answer."""
    if found.equal:
        return [f"Equal: all of it came again as recorded, fingerprint {found.fingerprint}."]
    part = found.divergence
    assert part is not None
    where = "It parts from its record" if part.generation is None else f"It parts at generation {part.generation}"
    return [f"{where}: {part.what}.", f"  recorded  {part.recorded}", f"  found     {part.found}"]

"""Histories of runs that never were, and what a search chooses after them."""

import random
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evolve.archive.events import Status
from evolve.archive.records import Contribution, EndedGeneration, ProgramRecord
from evolve.core.config import KindWeights, SearchConfig
from evolve.core.program import PatchKind
from evolve.core.usage import Spending
from evolve.proposal import Choice, SearchSettings
from evolve.seams import Search
from tests.builders import make_origin, make_record

ALL = frozenset({PatchKind.DIFF, PatchKind.FULL, PatchKind.CROSS, PatchKind.FIX})
ASKED = range(1, 12)


def record(
    generation: int,
    parents: tuple[str, ...],
    score: float,
    behaviour: int,
    how: str,
    *,
    kind: PatchKind = PatchKind.DIFF,
    lines: int | None = None,
    **changes: Any,
) -> ProgramRecord:
    """A program that is correct, fails or is quarantined."""
    return make_record(
        generation,
        score,
        outcome=Outcome.EXCEPTION if how == "fails" else Outcome.OK,
        quarantine="impossible" if how == "quarantined" else None,
        origin=make_origin(kind, model="a", description="", lines=lines),
        parents=parents,
        ceiling=None,
        metrics={},
        behaviour=str(behaviour),
        **changes,
    )


def asking(rng: random.Random) -> dict[str, Any]:
    """Who was asked in a generation, what that took, and by how much it is better."""
    spent = Spending(calls=1, tokens_in=rng.randrange(9), known_usd=rng.choice([0.0, 0.5, 2.0]))
    part = Contribution(model=rng.choice("abc"), answered=True, applied=True, failed=0, spent=spent, fair=spent)
    gained = rng.choice([None, 0.0, rng.random()])
    return {"models": (part,), "arm": rng.choice([part.model, part.model, None]), "improvement": gained}


@st.composite
def histories(draw: st.DrawFn) -> list[EndedGeneration]:
    """Generations in the order in which they ended: programs that are correct (often with the behaviour of another),
    fail or are quarantined; refusals, duplicates and failures; each made from a program that was there.

    How many is drawn, what they are like comes from one number: to draw each value would take most of the tests' time.
    """
    rng = random.Random(draw(st.integers(0, 2**32)))

    def costs() -> str:
        return " ".join(str(Fraction(rng.randint(0, 9), 3)) for _ in range(3))

    def score() -> float:
        return rng.choice([0.0, 30.0, rng.uniform(0, 30), float(rng.randint(0, 30))])

    # What behaves alike scores alike.
    scored = [(score(), costs()) for _ in range(rng.choice([3, 10, 30]))]
    first = record(0, (), scored[0][0], 0, rng.choice(["correct", "fails"]), costs=scored[0][1])
    history = [EndedGeneration(generation=0, status=Status.EVALUATED, parent=None, program=first)]
    sound = [first.commit]
    numbers = list(range(1, draw(st.integers(1, 25))))
    rng.shuffle(numbers)
    for number in numbers:
        how = rng.choice(["correct", "correct", "fails", "quarantined", "refused", "duplicate", "failed"])
        parent = rng.choice(sound)
        program = None
        status = Status.EVALUATED
        if how in ("correct", "fails", "quarantined"):
            others = tuple(rng.sample(sound, rng.randint(0, min(2, len(sound)))))
            behaviour = rng.randrange(len(scored))
            details = {"inspirations": others, "kind": rng.choice([PatchKind.DIFF, PatchKind.CROSS])}
            details |= {"costs": scored[behaviour][1], "lines": rng.choice([0, 1, 1, 2, 3, 40])}
            program = record(number, (parent,), scored[behaviour][0], behaviour, how, **details)
            if how != "quarantined":
                sound.append(program.commit)
        else:
            status = Status(how)
        history.append(EndedGeneration(generation=number, status=status, parent=parent, program=program, **asking(rng)))
    return history


def settings_of(
    seed: int, *, elites: int = 5, inspirations: int = 2, offline: bool = False, **search: object
) -> SearchSettings:
    kinds = frozenset({PatchKind.DIFF, PatchKind.CROSS, PatchKind.TUNE}) if offline else ALL
    return SearchSettings(
        config=SearchConfig(
            elites=elites,
            inspirations=inspirations,
            kinds=KindWeights(diff=0.4, full=0.2, cross=0.2, fix=0.2),
            **search,  # type: ignore[arg-type]
        ),
        seed=seed,
        shares={"never": 0.0, "a": 1.0, "b": 2.0, "c": 1.0},
        kinds=dict.fromkeys(("never", "a", "b", "c"), kinds),
    )


def choices(search: Search) -> list[Choice]:
    return [search.choose(generation) for generation in ASKED]

"""One generation under way: chosen by the search, or taken up again where an earlier session left it."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from evolve.archive.archive import Archive
from evolve.archive.records import Unfinished
from evolve.completion import Completion, FinishReason
from evolve.config import Config
from evolve.program import PatchKind
from evolve.proposal import Choice, Refusal
from evolve.run.candidate import NewProgram
from evolve.run.population import Population
from evolve.seams import Proposer
from evolve.search.select import choose, choose_model
from evolve.usage import Usage


@dataclass(slots=True)
class Flight:
    """What is asked in a generation, of whom, and how far it has come."""

    generation: int
    attempt: int
    choice: Choice
    proposer: Proposer
    refusals: list[Refusal] = field(default_factory=list)
    program: NewProgram | None = None  # set once an answer became a program


def chosen(
    generation: int,
    *,
    archive: Archive,
    population: Population,
    proposers: Mapping[str, tuple[Proposer, float]],
    config: Config,
) -> Flight:
    """A new generation, as the search decides from what is recorded; `proposers` by name, each with its share."""
    rng = random.Random(f"{config.seed}:{generation}:choose")
    name = choose_model({name: share for name, (_, share) in proposers.items()}, rng=rng)
    proposer = proposers[name][0]
    weights = config.search.kinds
    kinds = {
        PatchKind.DIFF: weights.diff,
        PatchKind.FULL: weights.full,
        PatchKind.CROSS: weights.cross,
        PatchKind.FIX: weights.fix,
    }
    choice = choose(
        population.elites,
        archive.programs[0],
        population.offspring,
        failed=population.failed,
        kinds={kind: weight for kind, weight in kinds.items() if kind in proposer.kinds},
        inspirations=config.search.inspirations,
        model=name,
        rng=rng,
    )
    return Flight(generation=generation, attempt=0, choice=choice, proposer=proposer)


def taken_up(unfinished: Unfinished, archive: Archive, proposer: Proposer) -> Flight:
    """A generation that was begun earlier, with the choice that was recorded."""
    return Flight(
        generation=unfinished.generation,
        attempt=unfinished.attempt,
        choice=Choice(
            kind=PatchKind(unfinished.kind),
            island=unfinished.island,
            parent=archive.find(unfinished.parents[0]),
            inspirations=tuple(archive.find(commit) for commit in unfinished.inspirations),
            model=unfinished.model,
        ),
        proposer=proposer,
        refusals=[Refusal(answer=answer, message=message) for answer, message in unfinished.refusals],
    )


def answer_of(unfinished: Unfinished) -> Completion | None:
    """The answer that is written down and was not judged; None if there is none."""
    if unfinished.answer is None:
        return None
    return Completion(
        text=unfinished.answer,
        finish_reason=cast(FinishReason, unfinished.finish_reason),
        usage=Usage(tokens_out=unfinished.tokens_out),
    )

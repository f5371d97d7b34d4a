"""Chooses the parent, the inspirations and the kind of patch.

All functions are pure: the generator is an argument. Their cost depends on the number of elites, which is
bounded, never on the size of the archive.
"""

import math
import random
import statistics
from bisect import insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from evolve.archive.ranking import rank_key, rank_score
from evolve.archive.records import ProgramRecord
from evolve.core.program import PatchKind

# How sharply a parent's weight follows its score (ShinkaEvolve's lambda, arXiv 2509.19349).
SELECTION_PRESSURE = 10.0


def admit(elites: tuple[ProgramRecord, ...], record: ProgramRecord, *, size: int) -> tuple[ProgramRecord, ...]:
    """The elites after `record` was evaluated: the `size` best correct programs, best first, one per behaviour.

    Of two programs that do the same on every instance the earlier one stays, so that copies of one idea cannot
    fill the pool. The best program can never drop out, since the pool is cut at its other end.
    """
    if not record.correct or any(elite.behaviour == record.behaviour for elite in elites):
        return elites
    grown = list(elites)
    insort(grown, record, key=rank_key)
    return tuple(grown[:size])


def parent_weights(elites: Sequence[ProgramRecord], offspring: Mapping[str, int]) -> list[float]:
    """Relative chances of the elites: sigmoid of the score's distance from the median, in units of the median
    absolute deviation, times 1 / (1 + children so far). The weighting of ShinkaEvolve (arXiv 2509.19349); and of those
    with one score, shorter ones are likelier."""
    scores = [rank_score(elite) for elite in elites]
    median = statistics.median(scores)
    spread = statistics.median([abs(score - median) for score in scores]) or 1e-9
    weights = []
    for elite, score, short in zip(elites, scores, shortness(elites), strict=True):
        # Clamped: math.exp overflows above 709, and the weight is 0 to the last digit long before.
        exponent = max(-60.0, min(60.0, -SELECTION_PRESSURE * (score - median) / spread))
        weights.append(short / (1 + math.exp(exponent)) / (1 + offspring.get(elite.commit, 0)))
    return weights


def shortness(records: Sequence[ProgramRecord]) -> list[float]:
    """How much likelier each is for being short: the length of the shortest one of its score over its own."""
    shortest: dict[float, int] = {}
    scores = [rank_score(record) for record in records]
    for record, score in zip(records, scores, strict=True):
        shortest[score] = min(shortest.get(score, record.length), record.length)
    return [
        shortest[score] / record.length if record.length else 1.0 for record, score in zip(records, scores, strict=True)
    ]


def choose_inspirations(
    elites: Sequence[ProgramRecord],
    champions: Iterable[ProgramRecord],
    *,
    count: int,
    rng: random.Random,
    fits: Callable[[ProgramRecord], bool],
) -> tuple[ProgramRecord, ...]:
    """Up to `count` programs that fit: the best elite, and the rest at random from the better half of the elites and
    from those that are the best on some instance. Best last, as a prompt shows them."""
    fitting = [elite for elite in elites if fits(elite)]
    # The worse half mostly holds ancestors of the better one under other names. Who is the best on an instance knows
    # something, whatever the rest of it scores. Half of those that fit, so that a long line of descent leaves some.
    upper = fitting[: max(count, (len(fitting) + 1) // 2)]
    upper += {champion.commit: champion for champion in champions if champion not in upper and fits(champion)}.values()
    if count == 0 or not upper:
        return ()
    chosen = [upper[0], *rng.sample(upper[1:], min(count, len(upper)) - 1)]
    return tuple(sorted(chosen, key=rank_key, reverse=True))


def choose_kind(
    kinds: Mapping[PatchKind, float], *, impossible: Collection[PatchKind] = (), rng: random.Random
) -> PatchKind:
    """A patch kind by weight, out of those that are possible now."""
    possible = {kind: weight for kind, weight in kinds.items() if kind not in impossible and weight > 0}
    if not possible:
        return PatchKind.DIFF
    return rng.choices(list(possible), weights=list(possible.values()))[0]


def choose_model(shares: Mapping[str, float], *, rng: random.Random) -> str:
    """The name of the model that is asked, by share."""
    return rng.choices(list(shares), weights=list(shares.values()))[0]


def is_guided(seed: int, generation: int, *, unguided: float) -> bool:
    """Whether a generation is given what the run has learned: drawn from nothing but the seed and its number, so that
    neither its parent nor anything else differs between the two."""
    return random.Random(f"{seed}:{generation}:guided").random() >= unguided

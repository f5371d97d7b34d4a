"""Who becomes a parent, what stands beside it, and what kind of patch is asked for.

All functions are pure: the generator is an argument. Their cost depends on the number of elites, which is
bounded, never on the size of the archive.
"""

import math
import random
import statistics
from bisect import insort
from collections.abc import Collection, Mapping, Sequence

from evolve.archive.ranking import rank_key
from evolve.archive.records import ProgramRecord
from evolve.program import PatchKind
from evolve.proposal import Choice

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
    absolute deviation, times 1 / (1 + children so far). The weighting of ShinkaEvolve (arXiv 2509.19349)."""
    scores = [elite.combined_score for elite in elites]
    median = statistics.median(scores)
    spread = statistics.median([abs(score - median) for score in scores]) or 1e-9
    weights = []
    for elite in elites:
        # Clamped: math.exp overflows above 709, and the weight is 0 to the last digit long before.
        exponent = max(-60.0, min(60.0, -SELECTION_PRESSURE * (elite.combined_score - median) / spread))
        weights.append(1 / (1 + math.exp(exponent)) / (1 + offspring.get(elite.commit, 0)))
    return weights


def choose(
    elites: Sequence[ProgramRecord],
    nearest: ProgramRecord | None,
    offspring: Mapping[str, int],
    *,
    failed: Sequence[ProgramRecord] = (),
    kinds: Mapping[PatchKind, float],
    inspirations: int,
    model: str,
    rng: random.Random,
) -> Choice:
    """What the next generation works on.

    `nearest` is the parent while no program is correct; it is then asked to be mended, if the proposer knows that
    kind. `failed` are programs that may be mended later on. `kinds` maps the patch kinds that the proposer writes to
    their weights.
    """
    if not elites:
        if nearest is None:
            raise ValueError("nothing is on record that could be a parent")
        kind = PatchKind.FIX if PatchKind.FIX in kinds else PatchKind.DIFF
        return Choice(kind=kind, island=nearest.island, parent=nearest, inspirations=(), model=model)
    mendable = [record for record in failed if not offspring.get(record.commit, 0)]
    kind = choose_kind(kinds, impossible=_impossible(len(elites), mendable, inspirations), rng=rng)
    if kind is PatchKind.FIX:
        broken = rng.choice(mendable)
        others = choose_inspirations(elites, broken, count=min(1, inspirations), rng=rng)
        return Choice(kind=kind, island=broken.island, parent=broken, inspirations=others, model=model)
    parent = rng.choices(elites, weights=parent_weights(elites, offspring))[0]
    others = choose_inspirations(elites, parent, count=inspirations, rng=rng)
    return Choice(kind=kind, island=parent.island, parent=parent, inspirations=others, model=model)


def choose_inspirations(
    elites: Sequence[ProgramRecord], parent: ProgramRecord, *, count: int, rng: random.Random
) -> tuple[ProgramRecord, ...]:
    """Up to `count` other elites: the best one, and the rest at random. Best last, as a prompt shows them."""
    others = [elite for elite in elites if elite.commit != parent.commit]
    if count == 0 or not others:
        return ()
    chosen = [others[0], *rng.sample(others[1:], min(count - 1, len(others) - 1))]
    return tuple(sorted(chosen, key=rank_key, reverse=True))


def choose_kind(
    kinds: Mapping[PatchKind, float], *, impossible: Collection[PatchKind], rng: random.Random
) -> PatchKind:
    """A patch kind by weight, out of those that are possible now."""
    possible = {kind: weight for kind, weight in kinds.items() if kind not in impossible and weight > 0}
    if not possible:
        return PatchKind.DIFF
    return rng.choices(list(possible), weights=list(possible.values()))[0]


def choose_model(shares: Mapping[str, float], *, rng: random.Random) -> str:
    """The name of the model that is asked, by share."""
    return rng.choices(list(shares), weights=list(shares.values()))[0]


def _impossible(elites: int, mendable: Sequence[ProgramRecord], inspirations: int) -> set[PatchKind]:
    """Crossover needs something to cross with, mending something to mend."""
    found = set()
    if elites < 2 or inspirations == 0:
        found.add(PatchKind.CROSS)
    if not mendable:
        found.add(PatchKind.FIX)
    return found

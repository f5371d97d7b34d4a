"""Packs many items well, without a proof: repairs pairs of bins, each split again as evenly as possible."""

import random
from collections.abc import Sequence

from evaluator.tasks.placement.packing import Bins

_ITEMS_SPLIT = 14  # the most items of a pair of bins that are split again: 2 ** 14 subsets are tried
_IDLE_TRIES_PER_BIN = 10  # times the number of bins, tries in a row without a change end the repair


def balanced(weights: Sequence[int], bins: int) -> Bins:
    """Every item in some bin, the heaviest first, each in the bin that is lightest so far."""
    sums = [0] * bins
    packed: Bins = [[] for _ in range(bins)]
    for item in sorted(range(len(weights)), key=lambda item: (-weights[item], item)):
        lightest = min(range(bins), key=sums.__getitem__)
        sums[lightest] += weights[item]
        packed[lightest].append(item)
    return packed


def repair(weights: Sequence[int], capacity: int, packed: Bins, rng: random.Random) -> Bins | None:
    """`packed` with items moved until no bin is above `capacity`; None where that fails."""
    bins = [list(items) for items in packed]
    sums = [sum(weights[item] for item in items) for items in bins]
    over = [place for place, total in enumerate(sums) if total > capacity]
    idle = 0
    while over:
        idle += 1
        if idle > _IDLE_TRIES_PER_BIN * len(bins):
            return None
        worst = over[rng.randrange(len(over))]
        other = rng.randrange(len(bins))
        if sums[other] >= sums[worst]:
            continue
        split = _split(weights, bins[worst], bins[other], rng)
        totals = [sum(weights[item] for item in half) for half in split]
        if max(totals) >= sums[worst]:
            continue
        for place, half, total in zip((worst, other), split, totals, strict=True):
            bins[place], sums[place] = half, total
        over = [place for place, total in enumerate(sums) if total > capacity]
        idle = 0
    return bins


def shaken(packed: Bins, rng: random.Random) -> Bins:
    """`packed` with as many random moves of an item to a random bin as there are bins."""
    bins = [list(items) for items in packed]
    for _ in bins:
        source = bins[rng.randrange(len(bins))]
        if source:
            bins[rng.randrange(len(bins))].append(source.pop(rng.randrange(len(source))))
    return bins


def search(weights: Sequence[int], capacity: int, packed: Bins, rng: random.Random, *, attempts: int) -> Bins | None:
    """The first repair that succeeds: of `packed`, then of `packed` shaken, `attempts` times in all."""
    for attempt in range(attempts):
        repaired = repair(weights, capacity, shaken(packed, rng) if attempt else packed, rng)
        if repaired is not None:
            return repaired
    return None


def _split(weights: Sequence[int], first: list[int], second: list[int], rng: random.Random) -> tuple[list[int], ...]:
    """The items of two bins, divided again as evenly as possible; of many items only some may move."""
    both = [(item, 0) for item in first] + [(item, 1) for item in second]
    if len(both) > _ITEMS_SPLIT:
        rng.shuffle(both)
    halves: tuple[list[int], list[int]] = ([], [])
    for item, side in both[_ITEMS_SPLIT:]:
        halves[side].append(item)
    lean = sum(weights[item] for item in halves[0]) - sum(weights[item] for item in halves[1])
    free = [item for item, _ in both[:_ITEMS_SPLIT]]
    for item, take in zip(free, even_split([weights[item] for item in free], lean), strict=True):
        halves[0 if take else 1].append(item)
    return halves


def even_split(weights: Sequence[int], lean: int = 0) -> list[bool]:
    """Which items to take so that their weight plus `lean` is nearest to the weight of the rest."""
    import numpy as np

    sums = np.zeros(1, dtype=np.int64)
    for weight in weights:
        sums = np.concatenate([sums, sums + weight])
    subset = int(np.abs(2 * sums + (lean - sum(weights))).argmin())
    return [bool(subset >> place & 1) for place in range(len(weights))]

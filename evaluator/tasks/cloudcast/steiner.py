"""Cheapest arborescences in whole numbers: the dynamic program of Dreyfus and Wagner (1971), for directed links.

`cost[subset][region]` is the least cost of a tree from `region` to the terminals in `subset`: a cheapest path to a
region where the subset splits in two. All subsets of k terminals are tried with all their halves, 3^k steps in all.
"""

from collections.abc import Sequence
from typing import Final

MOST_TERMINALS: Final = 10
"""With more terminals the program takes minutes; `dual_ascent` bounds the cost then."""

Costs = Sequence[Sequence[int]]
"""The cost of each link, by the numbers of its two regions; not negative, and 0 from a region to itself."""


def cheapest_arborescence(costs: Costs, source: int, terminals: Sequence[int]) -> int:
    """The least cost of links that lead from the source to every terminal."""
    paths = _shortest(costs)
    regions, whole = range(len(costs)), (1 << len(terminals)) - 1
    to_terminal = [[row[terminal] for row in paths] for terminal in terminals]
    cost: list[list[int]] = [[0] * len(costs)]
    for subset in range(1, whole + 1):
        if subset & (subset - 1) == 0:
            cost.append(to_terminal[subset.bit_length() - 1])
            continue
        split = _split(cost, subset)
        cost.append([min(map(int.__add__, paths[region], split)) for region in regions])
    return cost[whole][source]


def _split(cost: Sequence[Sequence[int]], subset: int) -> list[int]:
    """For each region the least cost of two trees from it that share out the terminals of a subset."""
    best: list[int] | None = None
    half = (subset - 1) & subset
    while half > subset ^ half:
        both = map(int.__add__, cost[half], cost[subset ^ half])
        best = list(both) if best is None else list(map(min, best, both))
        half = (half - 1) & subset
    assert best is not None  # a subset of at least two terminals has two halves
    return best


def _shortest(costs: Costs) -> list[list[int]]:
    """The cost of the cheapest path between any two regions (Floyd and Warshall)."""
    paths = [list(row) for row in costs]
    for middle, onward in enumerate(paths):
        for row in paths:
            to_middle = row[middle]
            row[:] = [min(direct, to_middle + rest) for direct, rest in zip(row, onward, strict=True)]
    return paths


def dual_ascent(costs: Costs, source: int, terminals: Sequence[int]) -> int:
    """A cost that no arborescence is below, for any number of terminals (Wong 1984), exactly.

    A cut is a set of regions with a terminal and without the source: every arborescence has a link into it. Cuts get
    weights, one after another, as long as no link enters cuts of a larger weight than its cost. Then no arborescence
    costs less than all weights together. A cut is what leads to a terminal over links that have nothing left, the
    smallest first; it gets the least that is left of any link into it.
    """
    left = [list(row) for row in costs]
    open_to: list[list[int]] = [[a for a, row in enumerate(costs) if a != b and not row[b]] for b in range(len(costs))]
    active = {terminal: {terminal} for terminal in terminals}
    bound = 0
    while active:
        terminal = min(active, key=lambda each: (len(active[each]), each))
        cut = _leading_to(open_to, terminal)
        grown = len(cut) > len(active[terminal])
        active[terminal] = cut
        if source in cut:
            del active[terminal]
        elif not grown:  # else a smaller one may come first now
            outside = [a for a in range(len(costs)) if a not in cut]
            weight = min(left[a][b] for a in outside for b in cut)
            bound += weight
            for a in outside:
                for b in cut:
                    left[a][b] -= weight
                    if not left[a][b]:
                        open_to[b].append(a)
    return bound


def _leading_to(open_to: Sequence[Sequence[int]], terminal: int) -> set[int]:
    """The regions from which open links lead to a terminal."""
    reached, waiting = {terminal}, [terminal]
    while waiting:
        for region in open_to[waiting.pop()]:
            if region not in reached:
                reached.add(region)
                waiting.append(region)
    return reached

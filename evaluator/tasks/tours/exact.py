"""Lower bounds on tours: 1-trees with weights on the points (Held and Karp 1970), in whole numbers."""

from collections.abc import Sequence
from typing import Final

from evaluator.task import BoundCheck, Instance
from evaluator.tasks.tours.distance import distance

ROUNDS: Final = 300
_SCALE: Final = 1000
"""Weights are whole multiples of one thousandth of a unit of length."""


def lower_bound(points: Sequence[Sequence[int]], rounds: int = ROUNDS) -> int:
    """A length that no tour is shorter than.

    A tour is a 1-tree (a tree on all points but the first, and two edges at that one) in which every point has two
    edges. With a weight on each point every tour grows by twice their sum, so that the shortest 1-tree under such
    lengths, less that sum, is never longer than the shortest tour, whatever the weights. They are moved toward what
    gives each point two edges.
    """
    lengths = [[_SCALE * distance(a, b) for b in points] for a in points]
    weights, best = [0] * len(points), 0
    step = sum(min(row[:i] + row[i + 1 :]) for i, row in enumerate(lengths)) // len(points) // 4
    for number in range(rounds):
        total, degrees = _one_tree(lengths, weights)
        best = max(best, total - 2 * sum(weights))
        size = step * (rounds - number) // rounds
        weights = [weight + size * (degree - 2) for weight, degree in zip(weights, degrees, strict=True)]
    return -(-best // _SCALE)  # a tour's length is a whole number


def _one_tree(lengths: Sequence[Sequence[int]], weights: Sequence[int]) -> tuple[int, list[int]]:
    """The length of the shortest 1-tree under the weights, and how many of its edges each point has."""
    count = len(lengths)
    degrees, total = [0] * count, 0
    nearest, cost, outside = [1] * count, [0] * count, list(range(2, count))
    for point in outside:
        cost[point] = lengths[1][point] + weights[1] + weights[point]
    while outside:
        point = min(outside, key=cost.__getitem__)
        outside.remove(point)
        total += cost[point]
        degrees[point] += 1
        degrees[nearest[point]] += 1
        row, weight = lengths[point], weights[point]
        for other in outside:
            through = row[other] + weight + weights[other]
            if through < cost[other]:
                cost[other], nearest[other] = through, point
    ends = sorted(range(1, count), key=lambda other: lengths[0][other] + weights[other])[:2]
    for end in ends:
        total += lengths[0][end] + weights[0] + weights[end]
        degrees[0] += 1
        degrees[end] += 1
    return total, degrees


def verify(instance: Instance, *, limit_s: float) -> BoundCheck:
    """Whether the listed bound is at most the one that a 1-tree proves."""
    if instance.bound is None:
        return BoundCheck(instance=instance.index, holds=False, detail="there is no bound")
    proven = lower_bound(instance.data["points"])
    detail = f"a 1-tree proves that no tour is shorter than {proven}; the bound listed is {instance.bound}"
    return BoundCheck(instance=instance.index, holds=instance.bound <= proven, detail=detail)

"""Measures a tour: every point once, and back to the first one."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from evaluator import InvalidAnswer
from evaluator.tasks.tours.distance import distance
from evaluator.tasks.tours.recipes import draw_points


def judge(instance: Mapping[str, Any], answer: object) -> int:
    """The length of a tour, which is the list of the numbers of the points in its order."""
    points = instance["points"]
    if not isinstance(answer, list) or len(answer) != len(points):
        raise InvalidAnswer(f"the answer must be a list of {len(points)} numbers")
    if any(type(point) is not int or not 0 <= point < len(points) for point in answer):
        raise InvalidAnswer(f"a point must be a whole number from 0 to {len(points) - 1}")
    if len(set(answer)) < len(answer):
        twice = next(point for point in answer if answer.count(point) > 1)
        raise InvalidAnswer(f"point {twice} is visited more than once")
    return length(points, answer)


def length(points: Sequence[Sequence[int]], tour: Sequence[int]) -> int:
    """The length of a closed tour."""
    return sum(distance(points[a], points[b]) for a, b in zip(tour, [*tour[1:], tour[0]], strict=True))


def describe(instance: Mapping[str, Any]) -> str:
    """How many points there are, and how they lie."""
    return f"{len(instance['points'])} points, {instance['shape']}"


def draw_instance(rng: random.Random, suite: str) -> dict[str, Any]:
    """A new instance of the recipe, which is the same for every suite."""
    return draw_points(rng)

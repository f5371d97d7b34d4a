"""Choose as many points of an n x n grid as possible, no three of them on one line. The judge counts them."""

import itertools

from evaluator import Infeasible, InvalidAnswer

INSTANCES = [6, 8, 11, 15]


def judge(instance, answer):
    n = instance
    if not isinstance(answer, list) or len(answer) > n * n:
        raise InvalidAnswer("the answer must be a list of points")
    for point in answer:
        if not isinstance(point, list) or len(point) != 2 or not all(type(c) is int and 0 <= c < n for c in point):
            raise InvalidAnswer(f"a point must be [column, row], two ints from 0 to {n - 1}")
    if len({tuple(point) for point in answer}) < len(answer):
        raise InvalidAnswer("a point is listed twice")
    for (ax, ay), (bx, by), (cx, cy) in itertools.combinations(answer, 3):
        if (bx - ax) * (cy - ay) == (cx - ax) * (by - ay):
            raise Infeasible(f"[{ax}, {ay}], [{bx}, {by}] and [{cx}, {cy}] lie on one line")
    return len(answer)

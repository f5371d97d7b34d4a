"""The judge: it decides what an answer is worth. It runs outside the program's process and trusts no answer."""

import itertools
from fractions import Fraction

from evaluator import Infeasible, InvalidAnswer

# The instances, one call each: plain data (numbers, texts, lists, dictionaries with text keys).
# A dictionary's keys become the arguments of the entry point; anything else is its only argument.
INSTANCES = [5, 7, 10, 13]


def judge(instance, answer):
    """n times the smallest squared distance, computed exactly: a float is a fraction.

    Check the answer completely, since it may be any JSON value. Raise InvalidAnswer for a wrong type or shape,
    Infeasible for a broken rule; the author of the next program reads the text.
    """
    n = instance
    if not isinstance(answer, list) or len(answer) != n:
        raise InvalidAnswer(f"the answer must be a list of {n} points")
    points = []
    for point in answer:
        if not isinstance(point, list) or len(point) != 2 or not all(type(x) in (int, float) for x in point):
            raise InvalidAnswer("a point must be [x, y], two numbers")
        if not all(0 <= x <= 1 for x in point):  # false for NaN, too
            raise Infeasible("a point lies outside the unit square")
        points.append((Fraction(point[0]), Fraction(point[1])))
    pairs = itertools.combinations(points, 2)
    return n * min((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 for a, b in pairs)


def describe(instance):
    """A few words for messages."""
    return f"{instance} points"


def draw(instance, answer):
    """A picture of an answer."""
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="0.02"/>' for x, y in answer)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-0.05 -0.05 1.1 1.1">{dots}</svg>'

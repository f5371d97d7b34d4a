"""The cost of an answer is its distance from the number, plus 1, times a weight: never below the weight."""

from fractions import Fraction

from evaluator import InvalidAnswer


def judge(instance, answer):
    """The cost of one answer."""
    if type(answer) not in (int, float):
        raise InvalidAnswer("the answer is not a number")
    weight = 1 + instance["n"] // 10
    return weight * (1 + abs(Fraction(answer) - instance["n"]))

"""The cost of an answer is its squared distance from sin(x), to 9 digits."""

import math
from fractions import Fraction

from evaluator import InvalidAnswer


def judge(instance, answer):
    if isinstance(answer, bool) or not isinstance(answer, int | float) or abs(answer) > 1e6:
        raise InvalidAnswer("the answer must be a number of at most a million")
    wanted = round(math.sin(instance["x"]), 9)
    return Fraction(answer - wanted) ** 2


def summarise(verdicts, instances):
    costs = [verdict.cost for verdict in verdicts if verdict.cost is not None]
    score = 1 / (1 + float(sum(costs) / len(costs))) if costs else 0.0
    return {"closeness": score, "combined_score": 1 + score, "published_score": score}

"""The cost of an answer is its squared distance from sin(x), to 9 digits."""

import math
from fractions import Fraction

from evaluator.evaluation import Outcome, Summary, Verdict


def judge(instance, answer):
    if isinstance(answer, bool) or not isinstance(answer, int | float) or abs(answer) > 1e6:
        return Verdict(outcome=Outcome.INVALID_OUTPUT, detail="the answer must be a number of at most a million")
    wanted = round(math.sin(instance.data["x"]), 9)
    return Verdict(outcome=Outcome.OK, cost=Fraction(answer - wanted) ** 2)


def summarise(verdicts, instances):
    costs = [verdict.cost for verdict in verdicts if verdict.cost is not None]
    rate = len(costs) / len(instances)
    score = 1 / (1 + float(sum(costs) / len(costs))) if costs else 0.0
    return Summary(
        score=rate + score if rate == 1 else rate, published_score=score, metrics={"success_rate": rate, "closeness": score}
    )

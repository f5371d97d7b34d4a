"""The cost of an answer grows with its distance from the number; there is no end to the scale, so no ceiling."""

from fractions import Fraction

from evaluator.evaluation import Outcome, Summary, Verdict


def judge(instance, answer):
    """The verdict on one answer."""
    if type(answer) not in (int, float):
        return Verdict(outcome=Outcome.INVALID_OUTPUT, detail="the answer is not a number")
    return Verdict(outcome=Outcome.OK, cost=4 + abs(Fraction(answer) - instance.data["n"]) / 10)


def summarise(verdicts, instances):
    """The score: the share of the instances answered, plus 100 / the mean cost when it is all of them."""
    costs = [float(verdict.cost) for verdict in verdicts if verdict.cost is not None]
    rate = len(costs) / len(verdicts)
    inverse = 100 * len(costs) / sum(costs) if rate == 1 else 0.0
    return Summary(score=rate + inverse, published_score=rate + inverse, metrics={"success_rate": rate})

"""The cost of an answer grows with its distance from the number; there is no end to the scale, so no ceiling."""

from fractions import Fraction

from evaluator import InvalidAnswer


def judge(instance, answer):
    """The cost of one answer."""
    if type(answer) not in (int, float):
        raise InvalidAnswer("the answer is not a number")
    return 4 + abs(Fraction(answer) - instance["n"]) / 10


def summarise(verdicts, instances):
    """The score: 1 + 100 / the mean cost when all instances are answered."""
    costs = [float(verdict.cost) for verdict in verdicts if verdict.cost is not None]
    rate = len(costs) / len(verdicts)
    inverse = 100 * len(costs) / sum(costs) if rate == 1 else 0.0
    return {"combined_score": rate + inverse, "published_score": rate + inverse}

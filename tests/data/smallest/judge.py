"""The cost of an answer is the item that it picks."""

from fractions import Fraction

from evaluator.evaluation import Outcome, Summary, Verdict


def judge(instance, answer):
    """The verdict on one answer."""
    items = instance.data["items"]
    if type(answer) is not int or not 0 <= answer < len(items):
        return Verdict(outcome=Outcome.INVALID_OUTPUT, detail="the answer is not an index")
    return Verdict(outcome=Outcome.OK, cost=Fraction(items[answer]))


def summarise(verdicts, instances):
    """The score: the share of the instances answered, plus 1 / the mean cost when it is all of them."""
    costs = [float(verdict.cost) for verdict in verdicts if verdict.cost is not None]
    rate = len(costs) / len(verdicts)
    inverse = len(costs) / sum(costs) if rate == 1 else 0.0
    return Summary(score=rate + inverse, published_score=rate + inverse, metrics={"success_rate": rate})


def describe(instance):
    """How many items there are."""
    return f"{len(instance.data['items'])} items"

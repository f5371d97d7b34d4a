"""The cost of an answer is the item that it picks."""

from evaluator import InvalidAnswer


def judge(instance, answer):
    """The cost of one answer."""
    items = instance["items"]
    if type(answer) is not int or not 0 <= answer < len(items):
        raise InvalidAnswer("the answer is not an index")
    return items[answer]


def summarise(verdicts, instances):
    """The score: 1 + 1 / the mean cost when all instances are answered."""
    costs = [float(verdict.cost) for verdict in verdicts if verdict.cost is not None]
    rate = len(costs) / len(verdicts)
    inverse = len(costs) / sum(costs) if rate == 1 else 0.0
    return {"combined_score": rate + inverse, "published_score": rate + inverse}


def describe(instance):
    """How many items there are."""
    return f"{len(instance['items'])} items"

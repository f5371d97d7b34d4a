"""The cost of an answer is the item that it names. Instances are drawn from a recipe."""

from evaluator import InvalidAnswer


def judge(instance, answer):
    """The cost of one answer."""
    if type(answer) is not int or not 0 <= answer < len(instance["items"]):
        raise InvalidAnswer("the answer is no index")
    return instance["items"][answer]


def summarise(verdicts, instances):
    """The score: 1 + 100 / the mean cost when all instances are answered."""
    costs = [float(verdict.cost) for verdict in verdicts if verdict.cost is not None]
    rate = len(costs) / len(verdicts)
    score = rate + (100 * len(costs) / sum(costs) if rate == 1 else 0.0)
    return {"combined_score": score, "published_score": score}


def draw_instance(rng, suite):
    """Four items, the first one large."""
    return {"items": [rng.randrange(600, 1000), *(rng.randrange(10, 100) for _ in range(3))]}

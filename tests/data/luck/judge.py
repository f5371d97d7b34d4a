"""The makespan of an answer is what it says. The order of the jobs means nothing, and a program may go by it."""

from evaluator import InvalidAnswer


def judge(instance, answer):
    """The cost of one answer."""
    if type(answer) is not int:
        raise InvalidAnswer("the answer is not a whole number")
    return answer


def permuted(data, rng):
    """The jobs in another order."""
    return {"jobs": rng.sample(data["jobs"], len(data["jobs"]))}

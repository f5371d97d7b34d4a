"""An answer is right or wrong: the clock makes the score."""

from evaluator import Infeasible, InvalidAnswer


def judge(instance, answer):
    if not isinstance(answer, list) or any(type(number) is not int for number in answer):
        raise InvalidAnswer("the answer must be a list of ints")
    if answer != sorted(instance["numbers"]):
        raise Infeasible("these are not the numbers, smallest first")
    return 1


def describe(instance):
    return f"{len(instance['numbers'])} numbers"

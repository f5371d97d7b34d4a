"""An answer is right or wrong: the clock makes the score."""

from fractions import Fraction

from evaluator.evaluation import Outcome, Summary, Verdict


def judge(instance, answer):
    if answer != sorted(instance.data["numbers"]) or any(type(number) is not int for number in answer):
        return Verdict(outcome=Outcome.INFEASIBLE, detail="these are not the numbers, smallest first")
    return Verdict(outcome=Outcome.OK, cost=Fraction(1))


def summarise(verdicts, instances):
    rate = sum(verdict.outcome is Outcome.OK for verdict in verdicts) / len(instances)
    return Summary(score=rate, published_score=rate, metrics={"success_rate": rate})


def describe(instance):
    return f"{len(instance.data['numbers'])} numbers"

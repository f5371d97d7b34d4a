"""The feedback to the author of a program: which instances, which numbers, in few words."""

import dataclasses
from fractions import Fraction

from evaluator.evaluation import InstanceResult, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.feedback import feedback
from evaluator.suite_scorer import score_results
from evaluator.task import Task
from tests.builders import one_file


def test_after_success_the_instances_farthest_from_their_bound_are_named(evaluator: SandboxedEvaluator) -> None:
    evaluation = evaluator.evaluate(one_file("def smallest(items):\n    return 0\n"))
    assert evaluation.feedback == (
        "All 5 instances succeeded; 2 reach their bound exactly. Farthest from the bound: "
        "instance 0 (3 items): cost 3, bound 1 (200.0 % above); "
        "instance 2 (4 items): cost 9, bound 7 (28.6 % above); "
        "instance 1 (2 items): cost 5, bound 4 (25.0 % above)."
    )


def test_failures_are_counted_by_kind_with_one_example_each(evaluator: SandboxedEvaluator) -> None:
    source = "def smallest(items):\n    return items.index(1) if len(items) == 3 else 99\n"
    evaluation = evaluator.evaluate(one_file(source))
    assert evaluation.feedback == (
        "4 of 5 instances failed, so the program counts as incorrect. "
        "invalid_output: 3 (instance 1, 2, 4). exception: 1 (instance 3). "
        "instance 1 (2 items): the answer is not an index. "
        "instance 3 (3 items): ValueError: 1 is not in list (line 2, in smallest)."
    )


def test_feedback_stays_short_whatever_the_program_says(evaluator: SandboxedEvaluator) -> None:
    evaluation = evaluator.evaluate(one_file("raise ValueError('long ' * 10_000)"))
    assert len(evaluation.feedback) <= 1000
    assert evaluation.feedback.startswith("The program does not load, so no instance was run.")


def test_distances_are_given_on_either_side_of_zero(smallest: Task) -> None:
    suite = smallest.suite()
    bounds = [Fraction(-4), Fraction(0), Fraction(4), Fraction(-1), Fraction(0)]
    costs = [Fraction(-3), Fraction(1, 2), Fraction(5), Fraction(-1), Fraction(0)]
    instances = tuple(dataclasses.replace(i, bound=b) for i, b in zip(suite.instances, bounds, strict=True))
    suite = dataclasses.replace(suite, instances=instances)
    results = [InstanceResult(instance=i, outcome=Outcome.OK, cost=cost) for i, cost in enumerate(costs)]
    evaluation = dataclasses.replace(score_results(smallest, suite, results), quarantine=None)
    text = feedback(smallest, suite, evaluation)
    assert text == (
        "All 5 instances succeeded; 2 reach their bound exactly. Farthest from the bound: "
        "instance 1 (2 items): cost 0.5, bound 0; "
        "instance 0 (3 items): cost -3, bound -4 (25.0 % above); "
        "instance 2 (4 items): cost 5, bound 4 (25.0 % above)."
    )
    farther = dataclasses.replace(suite, instances=(*instances[:4], dataclasses.replace(instances[4], bound=-1)))
    assert feedback(smallest, farther, evaluation).startswith("All 5 instances succeeded; 1 reaches its bound exactly.")

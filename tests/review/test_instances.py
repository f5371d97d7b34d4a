from fractions import Fraction

import pytest

from evaluator.evaluation import InstanceResult, Outcome
from evolve.review.instances import Against, compared


def result(cost):
    outcome = Outcome.TIMEOUT if cost is None else Outcome.OK
    return InstanceResult(instance=0, outcome=outcome, cost=None if cost is None else Fraction(cost))


@pytest.mark.parametrize(
    ("one", "other", "against"),
    [
        ("1/3", "1/2", Against.BETTER),
        ("1/2", "1/3", Against.WORSE),
        ("2/4", "1/2", Against.SAME),
        (None, "9", Against.WORSE),
        ("9", None, Against.BETTER),
        (None, None, Against.SAME),
    ],
)
def test_costs_are_compared_exactly_and_any_cost_is_better_than_none(one, other, against):
    assert compared(result(one), result(other)) is against

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import InstanceResult, Outcome
from evaluator.objective import Direction
from evolve.evidence.credit import Tally, ratio, steps
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


COSTS = st.lists(
    st.tuples(*[st.none() | st.fractions(max_denominator=5).map(str) | st.sampled_from(["2/4", "1/2", "-6/3"])] * 2)
)


@given(COSTS, st.sampled_from(Direction))
def test_counted_together_they_are_what_they_are_one_by_one(pairs, direction):
    found = [compared(result(one), result(other), direction) for one, other in pairs]
    ours, theirs = ([ratio(pair[side]) for pair in pairs] for side in (0, 1))
    assert Tally.of(steps(ours, theirs, direction)) == tuple(found.count(against) for against in Against)

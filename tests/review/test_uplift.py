"""Whether guidance helps: what can be said of it, and when nothing can."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.review.uplift import LEAST, Proposal, uplift
from tests.examples import part_of_the_examples


def some(count: int, improved: int, *, guided: bool, change: float | None = None) -> list[Proposal]:
    return [Proposal(guided=guided, improved=n < improved, change=change) for n in range(count)]


def test_nothing_is_said_of_too_few_nor_where_nobody_was_guided() -> None:
    few = uplift(some(LEAST - 1, 9, guided=True) + some(200, 3, guided=False))
    assert few is not None and few.rate is None and few.p is None
    assert "too few to say" in few.describe() and few.to_json()["rate"] is None
    assert uplift(some(50, 5, guided=False)) is None


def test_two_shares_are_shown_with_the_published_interval() -> None:
    """Newcombe (1998), table II, contrast (a), method 10: 56/70 - 48/80 is 0.2 (0.0524 to 0.3339)."""
    found = uplift(some(70, 56, guided=True) + some(80, 48, guided=False))
    assert found is not None and found.rate is not None
    assert found.rate == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_mean_changes_are_compared_where_there_are_enough() -> None:
    both = some(30, 9, guided=True, change=0.25) + some(30, 9, guided=False, change=-0.25)
    found = uplift(both)
    assert found is not None and found.change == pytest.approx((0.5, 0.5, 0.5)) and found.p == 1
    assert found.describe().endswith(
        "0 points more (95 % interval 22 points fewer to 22 points more), p = 1; "
        "on average 0.5000 better (0.5000 better to 0.5000 better)."
    )
    assert uplift(some(30, 9, guided=True, change=0.25) + some(30, 9, guided=False)).change is None  # type: ignore[union-attr]


@part_of_the_examples(6)
@given(st.integers(0, 3), st.integers(0, 2))
def test_the_chance_is_that_of_all_ways_to_deal_the_improvements_out(one: int, other: int) -> None:
    found = uplift(some(LEAST, one, guided=True) + some(LEAST, other, guided=False))
    assert found is not None
    hits = [sum(place < LEAST for place in places) for places in combinations(range(2 * LEAST), one + other)]
    far = sum(abs(2 * hit - one - other) >= abs(one - other) for hit in hits)
    assert found.p == Fraction(far, len(hits))

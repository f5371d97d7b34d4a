"""The exact tests count what every way to deal things out, tried one by one, comes to."""

from fractions import Fraction
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from evaluator.exact_tests import as_far, as_uneven, at_most

FEW = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=6)


@given(st.integers(1, 10), st.data())
def test_the_hits_are_those_of_every_way_to_draw(total: int, data: st.DataObject) -> None:
    marked, drawn = data.draw(st.integers(0, total)), data.draw(st.integers(0, total))
    found = [sum(one < marked for one in way) for way in combinations(range(total), drawn)]
    given_of = {"drawn": drawn, "marked": marked, "total": total}
    for hits in set(found):
        share = Fraction(sum(one <= hits for one in found), len(found))
        assert at_most(hits, **given_of) == share
        expected = Fraction(marked * drawn, total)
        far = Fraction(sum(abs(one - expected) >= abs(hits - expected) for one in found), len(found))
        assert as_far(hits, **given_of) == far
    assert at_most(-1, **given_of) == 0


def excess_of(first: list[float], second: list[float]) -> int:
    """In how many more pairs the second is larger than in how many it is smaller."""
    return sum((b > a) - (b < a) for a in first for b in second)


@given(FEW, FEW)
def test_the_pairs_are_those_of_every_way_to_deal(first: list[float], second: list[float]) -> None:
    pooled, excesses = [*first, *second], []
    for way in combinations(range(len(pooled)), len(second)):
        dealt = [[pooled[at] for at in range(len(pooled)) if (at in way) is side] for side in (False, True)]
        excesses.append(abs(excess_of(*dealt)))
    excess = abs(excess_of(first, second))
    share = Fraction(sum(one >= excess for one in excesses), len(excesses))
    assert as_uneven(first, second, excess) == as_uneven(second, first, excess) == share

"""Medians, intervals and the test, against numbers worked out by hand, by force, and by simulation."""

import math
import random
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.review.statistics import LEAST, LEVEL, approximation, compare, level_of, median, median_interval

NUMBERS = st.floats(-1e6, 1e6)
FEW = st.lists(st.integers(0, 4).map(float), min_size=5, max_size=6)


def test_the_median_is_the_middle_or_between_the_two_in_the_middle():
    assert median([3.0]) == 3.0
    assert median([5.0, 1.0, 3.0]) == 3.0
    assert median([4.0, 1.0, 3.0, 2.0]) == 2.5


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_there_is_no_median_of_nothing_or_of_what_is_no_number(values):
    with pytest.raises(ValueError, match="finite"):
        median(values)


@pytest.mark.parametrize(
    ("count", "rank", "level"),
    [
        (5, 1, Fraction(15, 16)),  # 1 - 2/32: 93.75 %
        (6, 1, Fraction(31, 32)),
        (8, 2, Fraction(119, 128)),  # 1 - 2 (1 + 8)/256
        (10, 2, Fraction(501, 512)),  # 1 - 2 (1 + 10)/1024
        (20, 6, 1 - 2 * Fraction(1 + 20 + 190 + 1140 + 4845 + 15504, 2**20)),
    ],
)
def test_the_interval_of_the_median_has_its_exact_level(count, rank, level):
    values = [float(number) for number in range(1, count + 1)]
    found = median_interval(values[::-1])
    assert (found.rank, found.low, found.high, found.level) == (rank, rank, count + 1 - rank, level)


@pytest.mark.parametrize("count", range(5, 60))
def test_the_interval_is_the_narrowest_of_its_least_level(count):
    found = median_interval([float(number) for number in range(count)])
    assert found.level == level_of(count, found.rank) >= LEVEL
    assert level_of(count, found.rank + 1) < LEVEL


def test_fewer_than_five_values_have_no_interval_and_no_test():
    assert LEAST == 5
    assert median_interval([1.0, 2.0, 3.0, 4.0]) is None
    assert compare([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0, 9.0], sign=1) is None


DISTRIBUTIONS = {  # how a value is drawn, and the median of what it is drawn from
    "normal": (lambda rng: rng.gauss(2.0, 3.0), 2.0),
    "log-normal": (lambda rng: rng.lognormvariate(0.5, 1.5), math.exp(0.5)),
    "ties": (lambda rng: float(rng.choices([1, 2, 3], [0.3, 0.4, 0.3])[0]), 2.0),
    "at the ceiling": (lambda rng: min(1.0, rng.gauss(1.2, 1.0)), 1.0),
}


@pytest.mark.parametrize("count", [5, 10, 20])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_intervals_cover_the_median_at_their_level(name, count):
    draw, middle = DISTRIBUTIONS[name]
    rng, times, covered = random.Random(f"{name} {count}"), 1500, 0
    for _ in range(times):
        found = median_interval([draw(rng) for _ in range(count)])
        covered += found.low <= middle <= found.high
    assert covered / times >= found.level - Fraction(2, 100)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_where_nothing_differs_the_test_seldom_calls_it_settled(name):
    draw, rng, times = DISTRIBUTIONS[name][0], random.Random(name), 400
    found = [compare(*([draw(rng) for _ in range(8)] for _ in range(2)), sign=1) for _ in range(times)]
    assert sum(one.settled for one in found) / times <= 0.05 + 0.02


def test_two_that_are_wholly_apart_are_as_rare_as_can_be():
    found = compare([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0], sign=1)
    assert (found.better, found.equal, found.worse, found.p) == (25, 0, 0, Fraction(2, 252))  # of 10 choose 5 ways
    assert found.settled


def test_a_worked_example_with_ties():
    # Nine 1s and one 2 are dealt out, five to each side.
    found = compare([1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 2.0], sign=1)
    assert (found.better, found.equal, found.worse) == (5, 20, 0)
    assert found.p == 1  # the 2 lies with one side or with the other, and both are as uneven
    assert compare([1.0] * 5, [1.0] * 5, sign=1).p == 1


def test_less_is_better_where_the_task_minimises():
    up, down = ([1.0, 2.0, 3.0, 4.0, 9.0], [2.0, 5.0, 6.0, 7.0, 8.0])
    as_is, turned = compare(up, down, sign=1), compare(up, down, sign=-1)
    assert (as_is.better, as_is.equal, as_is.worse) == (turned.worse, turned.equal, turned.better)
    assert as_is.p == turned.p


def by_force(first: list[float], second: list[float]) -> Fraction:
    """The definition: every way to deal the values out, one by one."""

    def excess(ours: list[float], theirs: list[float]) -> int:
        return sum((b > a) - (b < a) for a in ours for b in theirs)

    pooled, wanted = first + second, abs(excess(first, second))
    ways = [set(chosen) for chosen in combinations(range(len(pooled)), len(second))]
    extreme = sum(
        abs(excess([pooled[i] for i in range(len(pooled)) if i not in way], [pooled[i] for i in way])) >= wanted
        for way in ways
    )
    return Fraction(extreme, len(ways))


@pytest.mark.parametrize(("first", "second"), [(50, 50), (25, 100), (10, 250)])
@pytest.mark.parametrize("ties", [None, 12])
@pytest.mark.parametrize("better_by", [0.0, 0.25, 0.5])
def test_where_the_test_is_an_approximation_it_agrees_with_the_exact_one_at_the_border(first, second, ties, better_by):
    rng = random.Random(f"{first} {ties} {better_by}")

    def drawn(count: int, more: float) -> list[float]:
        values = [rng.gauss(more, 1.0) for _ in range(count)]
        return values if ties is None else [float(round(2 * value)) for value in values]

    ours, theirs = drawn(first, 0.0), drawn(second, better_by)
    exact = compare(ours, theirs, sign=1)
    beyond = compare(ours, [*theirs, median(theirs)], sign=1)  # one pair more for each
    assert (exact.exact, beyond.exact) == (True, False)
    approximate = approximation(ours, theirs, abs(exact.better - exact.worse))
    assert float(approximate) == pytest.approx(float(exact.p), rel=0.1, abs=0.003)


def test_large_groups_are_tested_approximately_whatever_is_in_them():
    same = compare([1.0] * 100, [1.0] * 100, sign=1)
    assert (same.p, same.exact) == (1, False)
    apart = compare([float(n) for n in range(250)], [float(n) for n in range(250, 500)], sign=1)
    assert (apart.settled, apart.exact, apart.better) == (True, False, 62500)
    assert 0 < apart.p < Fraction(1, 10**50)


@given(FEW, FEW)
def test_the_probability_is_that_of_all_ways_counted_one_by_one(first, second):
    assert compare(first, second, sign=1).p == by_force(first, second)


@given(st.lists(NUMBERS, min_size=5, max_size=12), st.lists(NUMBERS, min_size=5, max_size=12))
def test_the_test_is_the_same_from_either_side_and_in_any_order(first, second):
    found, other = compare(first, second, sign=1), compare(second[::-1], first, sign=1)
    assert (found.better, found.worse, found.p) == (other.worse, other.better, other.p)
    assert found.pairs == len(first) * len(second)
    assert 0 < found.p <= 1

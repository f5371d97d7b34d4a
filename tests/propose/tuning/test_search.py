"""The optimiser behind tuning, through its interface: ask, tell, and what it found."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.propose.tuning.search import BATCH, Dimension, PatternSearch, Point, Rank

Score = Callable[[Point], Rank]


def searched(
    dimensions: list[Dimension], score: Score, evaluations: int, seed: int = 0
) -> tuple[PatternSearch, list[Point]]:
    start = tuple(dimension.value for dimension in dimensions)
    search, asked = PatternSearch(dimensions, start=score(start), seed=seed), list[Point]()
    while len(asked) < evaluations and (batch := search.ask()[: evaluations - len(asked)]):
        assert len(batch) <= BATCH
        asked += batch
        search.tell([(point, score(point)) for point in batch])
    return search, asked


def fractions(value: float) -> Dimension:
    return Dimension(value=value, low=value / 16, high=value * 16)


def whole(value: int) -> Dimension:
    return Dimension(value=value, low=1, high=value * 16)


dimensions = st.lists(
    st.one_of(
        st.floats(1e-6, 1e6).map(fractions),
        st.integers(1, 1000).map(whole),
        st.just(Dimension(value=0, low=0, high=16)),
        st.just(Dimension(value=0.0, low=0.0, high=1.0)),
    ),
    min_size=1,
    max_size=8,
)


def bumpy(seed: int) -> Score:
    """Any function at all, with failures."""

    def score(point: Point) -> Rank:
        height = sum(math.sin((index + seed) * 7 * float(value)) for index, value in enumerate(point, 1))
        return height > -1, round(height, 1)

    return score


@given(dimensions, st.integers(0, 1000), st.integers(1, 150))
def test_no_point_is_asked_twice_or_out_of_bounds_and_the_best_one_shown_is_the_best(
    space: list[Dimension], seed: int, evaluations: int
) -> None:
    score = bumpy(seed)
    search, asked = searched(space, score, evaluations, seed)
    start = tuple(dimension.value for dimension in space)
    assert len({start, *asked}) == len(asked) + 1
    for point in asked:
        assert all(one.low <= value <= one.high for one, value in zip(space, point, strict=True))
        assert all(isinstance(value, int) is one.integer for one, value in zip(space, point, strict=True))
    assert search.standing == max(score(point) for point in (start, *asked)) == score(search.best)


@given(dimensions, st.integers(0, 1000))
def test_a_seed_is_a_search(space: list[Dimension], seed: int) -> None:
    assert searched(space, bumpy(seed), 60, seed)[1] == searched(space, bumpy(seed), 60, seed)[1]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("target", [0.2, 0.9, 3.0])
def test_the_top_of_a_hill_is_found(seed: int, target: float) -> None:
    space = [fractions(1.0), whole(10), fractions(0.05)]
    top = (target, 10 * target, 0.05 / target)

    def score(point: Point) -> Rank:
        return True, -sum(math.log(value / best) ** 2 for value, best in zip(point, top, strict=True))

    search, _ = searched(space, score, 150, seed)
    assert search.best[0] == pytest.approx(target, rel=0.02)
    assert search.best[1] == round(10 * target)
    assert search.best[2] == pytest.approx(0.05 / target, rel=0.02)


def test_a_top_at_the_edge_of_what_works_is_found() -> None:
    def score(point: Point) -> Rank:
        return point[0] <= 2.5, float(point[0])

    search, _ = searched([fractions(1.0)], score, 60)
    assert search.standing[0]
    assert 2.4 < search.best[0] <= 2.5


def test_what_changes_nothing_is_dropped_and_never_moved_again() -> None:
    def score(point: Point) -> Rank:
        return True, -abs(math.log(point[1] / 3))

    search, asked = searched([fractions(5.0), fractions(1.0), whole(7)], score, 60)
    assert search.dropped == (0, 2)
    assert all(point[0] == 5.0 and point[2] == 7 for point in asked[6:])


def test_where_nothing_matters_the_search_ends_by_itself() -> None:
    search, asked = searched([fractions(5.0), whole(7)], lambda point: (True, 1.0), 100)
    assert len(asked) == 4
    assert search.best == (5.0, 7)
    assert search.standing == (True, 1.0)


def test_a_small_space_is_searched_whole_and_no_longer() -> None:
    search, asked = searched([Dimension(value=2, low=1, high=4)], lambda point: (True, float(point[0])), 100)
    assert len(asked) == 3
    assert search.best == (4,)

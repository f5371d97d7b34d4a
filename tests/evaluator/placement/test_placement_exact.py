"""Exact reasoning: against the enumeration of every placement."""

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.placement.exact import (
    Search,
    attains,
    cost_of,
    fluid_bound,
    overflows,
    packing_below,
    strictly_better,
)
from evaluator.placement.prove_bounds import solve

model = st.tuples(st.integers(5, 45), st.integers(1, 9), st.integers(1, 9)).map(list)
small = st.builds(
    lambda gpu_num, models: {"gpu_num": gpu_num, "models": models},
    st.integers(1, 3),
    st.lists(model, min_size=1, max_size=6),
)


def best_of_all(data: dict[str, Any]) -> Fraction | None:
    costs = []
    for where in itertools.product(range(data["gpu_num"]), repeat=len(data["models"])):
        answer = [[gpu, [i for i, at in enumerate(where) if at == gpu]] for gpu in range(data["gpu_num"])]
        try:
            costs.append(cost_of(data, answer))
        except ValueError:
            continue
    return min(costs, default=None)


@given(small)
@settings(max_examples=25, deadline=None)
def test_solving_finds_the_optimum_that_enumeration_finds(data: dict[str, Any]) -> None:
    pytest.importorskip("ortools")
    best = best_of_all(data)
    if best is not None:
        bound, proven, answer = solve(data, 10.0)
        assert (bound, proven) == (best, True)
        assert attains(data, answer, best)
        assert fluid_bound(data) <= best


@given(small, st.fractions(Fraction(1, 100), 3, max_denominator=500))
@settings(max_examples=60, deadline=None)
def test_counting_never_refutes_what_exists(data: dict[str, Any], bound: Fraction) -> None:
    best = best_of_all(data)
    weights, capacity = packing_below(data, bound)
    if best is not None and best < bound:
        assert not overflows(weights, capacity, data["gpu_num"])


@given(small, st.fractions(Fraction(1, 100), 3, max_denominator=500))
@settings(deadline=None)
def test_a_gpu_is_below_the_bound_exactly_when_its_weights_fit(data: dict[str, Any], bound: Fraction) -> None:
    weights, capacity = packing_below(data, bound)
    one = {"gpu_num": 1, "models": data["models"]}
    try:
        below = cost_of(one, [[0, list(range(len(weights)))]]) < bound
    except ValueError:
        below = False
    assert (sum(weights) <= capacity) is below


def test_a_bound_that_is_too_high_is_refuted_by_a_placement() -> None:
    pytest.importorskip("ortools")
    data = {"gpu_num": 2, "models": [[40, 6, 5], [30, 3, 7], [41, 1, 9]]}
    best = best_of_all(data)
    assert best is not None
    proof = strictly_better(data, best + Fraction(1, 10**9), limit_s=10)
    assert proof.search is Search.FOUND
    assert attains(data, proof.answer, best)
    assert strictly_better(data, best, limit_s=10).search is Search.NONE_EXISTS

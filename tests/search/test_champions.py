"""Claims about who is the best on an instance."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from evaluator.objective import Direction, Objective
from evolve.archive.ranking import compared_costs, rank_key
from evolve.search.champions import Champions
from tests.search.programs import program

exact = st.fractions(min_value=-5, max_value=5, max_denominator=6)
rows = st.lists(st.tuples(st.floats(0, 9), st.lists(exact, min_size=4, max_size=4)), min_size=1, max_size=20)


@given(exact, exact)
def test_costs_are_compared_as_exact_fractions(one: Fraction, other: Fraction) -> None:
    assert compared_costs(str(one), str(other)) == (one > other) - (one < other)


def test_costs_that_no_float_tells_apart_are_shown_apart() -> None:
    assert compared_costs("100000000000000000001/3", "100000000000000000000/3") == 1


@given(rows, st.booleans())
def test_on_each_instance_none_is_better_than_the_champion(
    history: list[tuple[float, list[Fraction]]], larger: bool
) -> None:
    objective = Objective(per_instance=Direction.MAXIMISE if larger else Direction.MINIMISE)
    champions, output = Champions(), []
    for number, (score, costs) in enumerate(history):
        record = program(number, score, costs=" ".join(map(str, costs)), objective=objective)
        output.append((record, costs))
        champions.take_up(record)
    sign = objective.per_instance.sign
    assert len(champions) == 4
    for instance in range(4):
        best = max(sign * costs[instance] for _, costs in output)
        equals = [record for record, costs in output if sign * costs[instance] == best]
        assert champions[instance].record == min(equals, key=rank_key)

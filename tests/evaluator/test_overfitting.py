"""Who gains on the suite only: a rule over costs, with no false alarm for what is alike on both."""

import random
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from evaluator.overfitting import CostPairs, gain, overfitted

costs = st.none() | st.fractions(min_value=-100, max_value=100)


def comparison(pairs: list[tuple[int, int]], bound: int | None = None) -> CostPairs:
    return CostPairs(
        initial=[Fraction(before) for before, _ in pairs],
        program=[Fraction(after) for _, after in pairs],
        optima=[None if bound is None else Fraction(bound)] * len(pairs),
        unknown=[False] * len(pairs),
    )


def test_a_table_of_the_suites_answers_is_found() -> None:
    suite, others = comparison([(10, 8)] * 45 + [(8, 8)] * 5), comparison([(10, 10)] * 50)
    reason = overfitted(suite, others, called="of the others")
    assert reason is not None
    assert "45 of 50 instances" in reason
    assert "0 of 50 of the others" in reason
    assert overfitted(others, others, called="") is None
    assert overfitted(suite, suite, called="") is None


def test_a_gain_that_is_there_though_smaller_is_no_alarm() -> None:
    assert overfitted(comparison([(10, 8)] * 50), comparison([(10, 9)] * 50), called="") is None


def test_where_there_is_no_room_nothing_can_be_missed() -> None:
    suite, solved = comparison([(10, 8)] * 50, bound=8), comparison([(8, 8)] * 50, bound=8)
    assert overfitted(suite, solved, called="") is None
    assert overfitted(suite, comparison([(8, 8)] * 40 + [(10, 10)] * 10, bound=8), called="") is not None


def test_where_the_optima_of_the_others_are_unknown_an_honest_gain_on_some_instances_is_no_alarm() -> None:
    """The initial program is at the optimum of 7 instances in 10, on the suite and elsewhere."""
    rarely = [(10, 8)] * 3 + [(8, 8)] * 7
    assert overfitted(comparison(rarely * 5, bound=8), comparison(rarely), called="") is None
    assert overfitted(comparison(rarely), comparison(rarely * 5, bound=8), called="") is None
    table = comparison([(10, 8)] * 45 + [(8, 8)] * 5, bound=8)
    assert overfitted(table, comparison([(10, 10)] * 10), called="") is not None


def test_too_few_instances_convict_nobody() -> None:
    assert overfitted(comparison([(10, 8)] * 4), comparison([(10, 10)] * 4), called="") is None
    assert overfitted(comparison([(10, 8)] * 5), comparison([(10, 10)] * 5), called="") is not None


def test_programs_alike_on_both_are_hardly_ever_called_overfitted() -> None:
    alarms, rng = 0, random.Random(3)
    for _ in range(2000):
        count, rate, spread = rng.choice([5, 10, 30, 50]), rng.random(), rng.randint(1, 9)
        drawn = [
            [
                (100, 100 - (rng.randint(1, spread) if rng.random() < rate else rng.choice([0, 0, -1])))
                for _ in range(count)
            ]
            for _ in range(2)
        ]
        alarms += overfitted(comparison(drawn[0]), comparison(drawn[1]), called="") is not None
    assert alarms <= 4


@given(costs, costs)
def test_a_gain_is_bounded_and_a_loss_its_opposite(before: Fraction | None, after: Fraction | None) -> None:
    assert -1 <= gain(before, after) <= 1
    assert gain(before, after) == -gain(after, before)


@given(st.lists(st.tuples(costs, costs, costs), min_size=1, max_size=12))
def test_any_costs_have_a_verdict(rows: list[tuple[Fraction | None, Fraction | None, Fraction | None]]) -> None:
    initial, program, bounds = (list(column) for column in zip(*rows, strict=True))
    found = CostPairs(initial=initial, program=program, optima=bounds, unknown=[False] * len(rows))
    assert sum(found.tally) == len(rows)
    assert overfitted(found, found, called="") is None

"""Where the clock is the score, noise makes no program the best, and speed alone makes programs different."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import LEAST_SPREAD, Outcome
from evaluator.pairs import FEWEST
from evaluator.task import Instance, Limits, Suite
from evaluator.timing import speed_of
from evolve.archive.events import read_event
from evolve.archive.ranking import better, new_bests, would_be_best
from evolve.archive.reader import RunReader
from evolve.evaluation.generalisation import record_held_out
from tests.builders import recorded

speeds = st.lists(st.floats(0.5, 50), min_size=FEWEST, max_size=33).map(lambda means: speed_of([[m] for m in means]))


def spread_around(score, half=0.02):
    return score * (1 - half), score * (1 + half)


def test_only_what_lies_beyond_both_spreads_is_better(make_record, make_evaluation):
    best = make_record(1, 2.0, spread=(1.9, 2.1))
    assert not would_be_best(best, 2, make_evaluation(score=2.15, spread=(2.1, 2.2)))
    assert would_be_best(best, 2, make_evaluation(score=2.15, spread=(2.11, 2.2)))
    assert not better(make_record(2, 2.15, spread=(2.1, 2.2)), best)
    assert better(make_record(2, 2.15, spread=(2.11, 2.2)), best)


def test_an_earlier_program_of_the_same_speed_takes_no_place(make_record):
    assert not better(make_record(1, 2.0, spread=(1.9, 2.1)), make_record(2, 2.0, spread=(1.9, 2.1)))


def test_any_correct_program_is_better_than_none_and_no_incorrect_one_is(make_record):
    assert better(make_record(1, 0.1, spread=(0.09, 0.11)), None)
    assert not better(make_record(1, 9.0, spread=(8.9, 9.1), outcome=Outcome.INFEASIBLE), None)


def test_scores_without_a_spread_rank_as_ever_and_rounding_is_no_gain(make_record):
    assert better(make_record(2, 2.0 + 1e-6), make_record(1, 2.0))
    assert not better(make_record(2, 2.0 + 1e-12), make_record(1, 2.0))
    assert better(make_record(1, 2.0), make_record(2, 2.0))
    assert not better(make_record(2, 2.0), make_record(1, 2.0))


def test_the_bests_of_a_run_are_those_that_stood_out_when_they_came(make_record):
    programs = [
        make_record(n, score, spread=spread_around(score)) for n, score in enumerate([1.0, 1.03, 1.1, 1.12, 1.2])
    ]
    assert [program.generation for program in new_bests(programs)] == [0, 2, 4]


def behaviour_of(make_evaluation, score, spread):
    return recorded(make_evaluation(score=score, spread=spread)).behaviour


@given(other=speeds, factor=st.floats(1.0001, 3))
def test_a_program_that_stands_above_another_does_not_behave_alike(make_evaluation, make_record, other, factor):
    higher = other.high * factor  # as low as this one may be
    score = higher * (1 + LEAST_SPREAD)
    one = make_record(2, score, spread=(higher, score * (1 + LEAST_SPREAD)))
    assert better(one, make_record(1, other.times, spread=(other.low, other.high)))
    assert behaviour_of(make_evaluation, one.combined_score, one.spread) != behaviour_of(
        make_evaluation, other.times, (other.low, other.high)
    )


def test_two_measurements_of_one_speed_mostly_behave_alike_and_other_costs_do_not(make_evaluation):
    def behaviour(score, costs=(Fraction(1), Fraction(1))):
        return recorded(make_evaluation(costs, score=score, spread=spread_around(score))).behaviour

    assert behaviour(1.01) == behaviour(1.02)
    assert behaviour(1.01) != behaviour(1.2)
    assert behaviour(1.01) != behaviour(1.01, (Fraction(1), None))


def test_the_spread_comes_back_from_the_record_and_is_in_no_other(make_evaluation):
    assert recorded(make_evaluation(score=2.0, spread=(1.9, 2.1))).spread == (1.9, 2.1)
    assert "spread" not in make_evaluation().to_json()
    assert recorded(make_evaluation()).spread is None


def test_a_run_whose_scores_a_clock_measured_is_read_again_with_their_spreads(recorded_runs, make_evaluation):
    run = recorded_runs("timed")
    initial = run.initial(evaluation=make_evaluation(score=1.0, spread=(0.9, 1.1)))
    run.propose(1, [initial], source="x = 1\n", evaluation=make_evaluation(score=1.15, spread=(1.05, 1.25)))
    run.propose(2, [initial], source="x = 2\n", evaluation=make_evaluation(score=1.4, spread=(1.3, 1.5)))
    run.archive.close()
    with RunReader.open(run.archive.folder) as archive:
        assert [program.spread for program in archive.programs] == [(0.9, 1.1), (1.05, 1.25), (1.3, 1.5)]
        assert archive.best is archive.programs[2]
        assert archive.funnel.improved == 1
        assert archive.evaluation(archive.best).spread == (1.3, 1.5)


@pytest.mark.parametrize("spread", [None, 2.0, [1.0], [1.0, "2"], [2.0, 1.0], [0.0, float("inf")], [1.0, float("nan")]])
def test_a_spread_that_is_no_pair_of_finite_numbers_is_refused(make_evaluation, spread):
    evaluation = make_evaluation(score=2.0, spread=(1.9, 2.1)).to_json()
    event = {"event": "rescored", "seq": 1, "t": 0.0, "generation": 1, "evaluation": evaluation}
    read_event(event)
    evaluation["spread"] = spread
    with pytest.raises(ValueError, match=r"`evaluation\.spread` is .*two finite numbers"):
        read_event(event)


@pytest.mark.parametrize("spread", [None, (1.9, 2.1)])
def test_costs_accuse_no_program_where_the_clock_is_the_score(recorded_runs, make_evaluation, spread):
    run = recorded_runs("untimed" if spread is None else "timed")
    slow, quick = [(Fraction(cost),) * 20 for cost in (8, 1)]  # the quick one gains on the suite alone

    def found(costs):
        return make_evaluation(costs, spread=spread)

    limits = Limits(cpu_per_instance_s=1, cpu_total_s=1, memory_mb=64)
    suite = Suite(name="adrs", instances=tuple(Instance(index=n, data=n) for n in range(20)), limits=limits, digest="")
    initial = run.initial(evaluation=found(slow))
    run.propose(1, [initial], source="x = 1\n", evaluation=found(quick))
    record_held_out(run.archive, 0, found(slow), suite=suite, held_out=suite)
    held_out = record_held_out(run.archive, 1, found(slow), suite=suite, held_out=suite)
    assert (held_out.overfitted is None) is (spread is not None)

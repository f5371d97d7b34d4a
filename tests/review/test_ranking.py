from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evaluator.objective import Objective
from evolve.archive.ranking import better, improves, step
from evolve.core.errors import InputError
from evolve.review.scores import (
    change_text,
    metric_text,
    ordered,
    ranked,
    score_json,
    score_text,
    sentence,
)
from evolve.review.table import TableOf, metric_names


def test_correct_programs_rank_by_score_and_ties_go_to_the_earlier_generation(make_record):
    programs = [make_record(3, 22.0), make_record(1, 22.0), make_record(2, 25.0)]
    assert [p.generation for p in ranked(programs)] == [2, 1, 3]


def test_whatever_cannot_be_believed_ranks_behind_every_correct_program(make_record):
    programs = [
        make_record(1, 99.0, quarantine="beats an exact bound"),
        make_record(2, 0.9, outcome=Outcome.INFEASIBLE),
        make_record(3, 0.5),
    ]
    assert [p.generation for p in ranked(programs)] == [3, 1, 2]


def test_programs_order_by_gap_runtime_and_generation(make_record):
    programs = [
        make_record(1, 22.0, runtime_s=0.3),
        make_record(2, 25.0, runtime_s=0.2),
        make_record(3, 24.0, runtime_s=0.1),
    ]
    assert [p.generation for p in ordered(programs, "gap")] == [2, 3, 1]
    assert [p.generation for p in ordered(programs, "runtime_s")] == [3, 2, 1]
    assert [p.generation for p in ordered(programs, "generation")] == [1, 2, 3]
    assert [p.generation for p in ordered(programs, "optimality")] == [2, 3, 1]


def test_a_program_without_a_ceiling_stands_behind_those_with_a_gap(make_record):
    programs = [make_record(1, 22.0, ceiling=None), make_record(2, 20.0)]
    assert [p.generation for p in ordered(programs, "gap")] == [2, 1]


def test_an_unknown_key_is_refused_and_the_known_ones_are_named(make_record):
    with pytest.raises(InputError, match=r"'beauty'.*score, generation, gap, optimality"):
        ordered([make_record()], "beauty")


@given(st.lists(st.tuples(st.floats(0, 30), st.booleans()), max_size=20))
def test_ranking_keeps_every_program_and_never_puts_a_wrong_one_first(make_record, entries):
    programs = [
        make_record(n, score, outcome=Outcome.OK if ok else Outcome.CRASH) for n, (score, ok) in enumerate(entries)
    ]
    order = ranked(programs)
    assert sorted(p.generation for p in order) == list(range(len(entries)))
    assert [p.correct for p in order] == sorted((p.correct for p in order), reverse=True)


def test_scores_and_ceilings_are_shown_with_six_decimals_so_that_none_seems_above_the_other():
    assert score_text(26.2559716) == score_text(26.2559719) == "26.255972"
    assert score_text(-1e-9) == "0.000000"
    assert metric_text(0.83542) == "0.8354"
    assert score_text(None) == metric_text(None) == "-"


def test_a_change_is_shown_in_words(make_record):
    before = make_record(score=25.5)
    assert change_text(make_record(score=26.0), before) == "0.5000 better"
    assert change_text(make_record(score=25.49999), before) == "1e-05 worse"
    assert change_text(before, before) == "the same"
    assert change_text(before, None) == "-"


def test_a_score_is_shown_with_its_ceiling_and_gap(make_record):
    assert sentence(make_record(score=25.5)) == "25.500000 (ceiling 26.000000, gap 0.500000)"
    assert sentence(make_record(score=25.5, ceiling=None)) == "25.500000 (no ceiling is known)"


def test_the_runtime_stands_among_the_metrics_of_an_evaluation(make_evaluation):
    assert score_json(make_evaluation())["metrics"] == {
        "max_kvpr_inverse": 20.5,
        "success_rate": 1.0,
        "optimality": 0.9,
        "runtime_s": 0.002,
    }


def test_a_score_that_a_clock_measured_has_its_spread(make_record):
    shown = make_record(1, 2.0, ceiling=None, spread=(1.9, 2.1))
    assert sentence(shown) == "2.000 (1.900 to 2.100) times as fast as the reference"
    assert score_json(shown)["spread"] == [1.9, 2.1]
    scores = TableOf([shown])
    scores.score_columns(lambda record: record)
    assert scores.table().rows[0][0].text == "2.000 (1.900 to 2.100)"


def test_the_ends_of_a_spread_have_no_column_of_their_own(make_record):
    record = make_record(1, 2.0, spread=(1.9, 2.1))
    ends = {"speedup": 2.0, "speedup_low": 1.9, "speedup_high": 2.1}
    record = replace(record, objective=Objective(metric="speedup"), metrics={**record.metrics, **ends})
    assert metric_names([record]) == ("success_rate", "optimality", "runtime_s")
    assert "speedup_low" in metric_names([replace(record, spread=None)])


@pytest.mark.parametrize("score", [0.1, 11.3, 3e8, 1e-12, -240.0])
def test_a_difference_by_rounding_alone_is_no_gain(make_record, score):
    first, noisy, gained = (
        make_record(1, score),
        make_record(2, score * (1 + 1e-15)),
        make_record(3, score + abs(score) / 1e6),
    )
    assert step(noisy, first) == step(first, noisy) == 0
    assert not improves(noisy, first) and not better(noisy, first)
    assert better(first, noisy), "of equals the earlier"
    assert improves(gained, first) and better(gained, noisy)

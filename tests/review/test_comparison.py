from dataclasses import replace
from fractions import Fraction

from evaluator.evaluation import Outcome
from evolve.review.replay import compare, conclusion, remarks, to_json


def test_equal_results_are_equal_however_long_they_took(make_evaluation):
    recorded = make_evaluation()
    results = tuple(replace(result, cpu_s=9.0, wall_s=9.0) for result in recorded.results)
    replayed = replace(recorded, results=results, runtime_s=9.0, peak_memory_mb=50.0)
    comparison = compare(recorded, replayed)
    assert comparison.equal
    assert conclusion(recorded, replayed, comparison).startswith("Equal: every one of the 2 instances")


def test_a_changed_cost_is_named_by_its_instance(make_evaluation, make_record):
    recorded, replayed = make_evaluation(), make_evaluation((Fraction(1, 3), Fraction(1, 5)))
    comparison = compare(recorded, replayed)
    assert to_json(make_record(), recorded, replayed, comparison)["differences"] == [
        {
            "instance": 1,
            "recorded": {"outcome": "ok", "cost": "1/4"},
            "replayed": {"outcome": "ok", "cost": "1/5"},
        }
    ]
    assert conclusion(recorded, replayed, comparison) == "Different on 1 of 2 instances: 1."


def test_another_outcome_is_a_difference_and_another_sentence_is_none(make_evaluation):
    recorded = make_evaluation((Fraction(1), None), detail="left out: model_1")
    assert compare(recorded, make_evaluation((Fraction(1), None), detail="put otherwise")).equal
    worse = replace(recorded.results[1], outcome=Outcome.CRASH)
    assert not compare(recorded, replace(recorded, results=(recorded.results[0], worse))).equal


def test_a_record_with_an_instance_too_few_is_different(make_evaluation):
    comparison = compare(make_evaluation((Fraction(1, 3),)), make_evaluation())
    assert [*comparison.differences] == [1]
    assert comparison.differences[1][0] is None


def test_a_changed_score_over_equal_instances_is_different(make_evaluation):
    comparison = compare(make_evaluation(score=21.5), make_evaluation(score=21.6))
    assert not comparison.equal
    assert not comparison.differences
    assert "combined_score" in conclusion(make_evaluation(), make_evaluation(), comparison)


def test_another_evaluator_is_said(make_evaluation):
    first, second = make_evaluation(version="one"), make_evaluation(version="two")
    assert any("one" in line and "two" in line for line in remarks(first, second, compare(first, second)))
    assert remarks(first, first, compare(first, first)) == []


def test_where_the_clock_is_the_score_speeds_agree_within_their_spread(make_evaluation):
    recorded = make_evaluation(score=2.0, spread=(1.9, 2.1))
    replayed = make_evaluation((Fraction(9), Fraction(7)), score=2.15, spread=(2.05, 2.2))
    comparison = compare(recorded, replayed)
    assert comparison.equal
    assert "agree within their spread" in conclusion(recorded, replayed, comparison)


def test_where_the_clock_is_the_score_another_speed_or_a_wrong_answer_is_a_difference(make_evaluation):
    recorded = make_evaluation(score=2.0, spread=(1.9, 2.1))
    slower = compare(recorded, make_evaluation(score=1.5, spread=(1.4, 1.6)))
    assert slower.fields == {"combined_score": (2.0, 1.5)}
    assert not slower.equal
    wrong = compare(recorded, make_evaluation((Fraction(1), None), score=0.0, spread=(0.0, 0.0)))
    assert [*wrong.differences] == [1]
    assert "outcome" in wrong.fields

"""When a claim holds, falls, or cannot be judged; and what an audit of them ends with."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from evaluator.evaluation import Evaluation, OrderRange, Outcome, StrictReport
from evolve.apps.audit.claims import (
    Claim,
    Claimed,
    ClaimVerdict,
    Formula,
    claim_of_folder,
    claim_of_record,
    exit_code,
    summary,
    to_json,
)

HOLDS, FALLS, UNJUDGED = ClaimVerdict

Make = Callable[..., Evaluation]


def judged(recorded: Evaluation, measured: Evaluation) -> Claim:
    return claim_of_record(recorded, measured, program="a" * 40, generation=3, name="a_patch")


def test_a_record_holds_only_if_every_exact_cost_is_equal(make_evaluation: Make) -> None:
    assert judged(make_evaluation(), make_evaluation()).verdict is HOLDS
    nearly = make_evaluation((Fraction(1, 3), Fraction(1, 4) + Fraction(1, 10**30)))
    claim = judged(nearly, make_evaluation())
    assert claim.verdict is FALLS
    assert "Different on 1 of 2 instances: 1." in claim.why


def test_a_raised_score_over_equal_costs_falls_with_both_numbers(make_evaluation: Make) -> None:
    claim = judged(make_evaluation(score=26.0), make_evaluation())
    assert (claim.verdict, claim.claimed, claim.measured, claim.difference) == (FALLS, 26.0, 21.5, -4.5)
    assert "combined_score: recorded 26.0, measured 21.5" in claim.why


def test_a_raised_range_in_other_orders_falls(make_evaluation: Make) -> None:
    def confirmed(median: float) -> Evaluation:
        orders = OrderRange(median=median, low=20.0, high=22.0, n=5)
        return replace(make_evaluation(), strict=StrictReport(agrees=True, confirmed=orders))

    assert judged(confirmed(21.0), confirmed(21.0)).verdict is HOLDS
    claim = judged(confirmed(21.9), confirmed(21.0))
    assert claim.verdict is FALLS
    assert "median=21.9" in claim.why


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"evaluator_version": "another"}, "another evaluator made the record: version another"),
        ({"self_judged": True}, "self-judged"),
        ({"spread": (21.0, 22.0)}, "depends on a clock"),
    ],
)
def test_what_cannot_be_compared_is_not_judged_even_where_it_differs(
    changes: dict[str, Any], why: str, make_evaluation: Make
) -> None:
    claim = judged(replace(make_evaluation(score=26.0), **changes), make_evaluation())
    assert claim.verdict is UNJUDGED
    assert why in claim.why


@pytest.mark.parametrize("outcome", [Outcome.CPU_LIMIT, Outcome.NONDETERMINISTIC])
def test_a_recorded_failure_that_need_not_repeat_claims_nothing(outcome: Outcome, make_evaluation: Make) -> None:
    failed = replace(make_evaluation((Fraction(1, 3), None), score=0.5), outcome=outcome)
    assert judged(failed, make_evaluation()).verdict is UNJUDGED
    assert judged(make_evaluation(), failed).verdict is FALLS, "a score is claimed, and it was not reached"


SUM = Formula(number="sum_radii", words="the sum of radii", value=lambda evaluation: evaluation.combined_score)


def claimed(**changes: Any) -> Claimed:
    numbers = {"combined_score": 0.9, "sum_radii": 21.5}
    made = Claimed(
        id="x", generation=1, name="ring", source="x = 1\n", correct=True, where_from="gen_1/main.py", numbers=numbers
    )
    return replace(made, **changes)


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [
        (21.5, HOLDS),
        (21.5 * (1 + 5e-10), HOLDS),
        (21.5 * (1 + 2e-9), FALLS),
        (math.nan, FALLS),
        (math.inf, FALLS),
    ],
)
def test_a_folders_claim_holds_within_a_billionth(stated: float, verdict: ClaimVerdict, make_evaluation: Make) -> None:
    claim = claim_of_folder(claimed(numbers={"sum_radii": stated}), make_evaluation(), SUM)
    assert claim.verdict is verdict
    assert bool(claim.why) is (verdict is FALLS)


@pytest.mark.parametrize(
    ("changes", "formula", "why"),
    [
        ({}, None, "the formula of the recorded score is not known"),
        ({"numbers": {}}, SUM, "records no score"),
        ({"correct": False}, SUM, "recorded as incorrect"),
    ],
)
def test_a_folders_claim_without_a_known_formula_or_score_is_not_judged(
    changes: dict[str, Any], formula: Formula | None, why: str, make_evaluation: Make
) -> None:
    claim = claim_of_folder(claimed(**changes), make_evaluation(), formula)
    assert claim.verdict is UNJUDGED
    assert why in claim.why


def test_a_program_that_fails_here_brings_its_claim_down_and_none_that_said_so(make_evaluation: Make) -> None:
    failed = make_evaluation((Fraction(1, 3), None), score=0.5)
    claim = claim_of_folder(claimed(), failed, None)
    assert (claim.verdict, claim.measured) == (FALLS, None)
    assert "recorded as correct; here invalid_output" in claim.why
    assert claim_of_folder(claimed(correct=False), failed, None).verdict is HOLDS


def test_a_program_without_a_text_is_not_judged_and_keeps_its_notes() -> None:
    claim = claim_of_folder(claimed(source=None, notes=("database and folder differ: 1.2 / 1.3",)), None, SUM)
    assert claim.verdict is UNJUDGED
    assert claim.why == "the folder holds no text of this program; database and folder differ: 1.2 / 1.3"


def test_an_audit_ends_by_what_it_could_judge(make_evaluation: Make) -> None:
    holds = judged(make_evaluation(), make_evaluation())
    falls, unjudged = (replace(holds, verdict=verdict, why="so") for verdict in (FALLS, UNJUDGED))
    assert [exit_code(rows) for rows in ([holds, unjudged], [holds, falls], [unjudged], [])] == [0, 1, 3, 3]
    assert summary([holds, falls, unjudged]) == "Claims that hold: 1. That fall: 1. That could not be judged: 1."
    assert summary([unjudged]) == "None of the 1 claims could be judged."


def test_the_json_of_an_audit_has_the_keys_that_stand_and_no_nan(make_evaluation: Make) -> None:
    claim = claim_of_folder(claimed(numbers={"sum_radii": math.nan}), make_evaluation(), SUM)
    document = to_json([claim])
    assert document == {
        "claims": [
            {
                "program": "x",
                "generation": 1,
                "name": "ring",
                "claimed": None,
                "measured": 21.5,
                "difference": None,
                "verdict": "falls",
                "why": "the recorded score is nan, which is no number to rank by",
            }
        ],
        "holds": 0,
        "falls": 1,
        "unjudged": 0,
    }

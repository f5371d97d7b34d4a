from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import InstanceResult, Outcome
from evaluator.objective import Direction
from evolve.archive.archive import Archive
from evolve.archive.consistency import installed
from evolve.insights.credit import Tally, ratio, steps
from evolve.propose.verdicts import instance_parts
from evolve.review.instances import Against, compared, matrix
from tests.builders import make_evaluation, make_made, one_file


def result(cost):
    outcome = Outcome.TIMEOUT if cost is None else Outcome.OK
    return InstanceResult(instance=0, outcome=outcome, cost=None if cost is None else Fraction(cost))


@pytest.mark.parametrize(
    ("one", "other", "against"),
    [
        ("1/3", "1/2", Against.BETTER),
        ("1/2", "1/3", Against.WORSE),
        ("2/4", "1/2", Against.SAME),
        (None, "9", Against.WORSE),
        ("9", None, Against.BETTER),
        (None, None, Against.SAME),
    ],
)
def test_costs_are_compared_exactly_and_any_cost_is_better_than_none(one, other, against):
    assert compared(result(one), result(other)) is against


COSTS = st.lists(
    st.tuples(*[st.none() | st.fractions(max_denominator=5).map(str) | st.sampled_from(["2/4", "1/2", "-6/3"])] * 2)
)


@given(COSTS, st.sampled_from(Direction))
def test_counted_together_they_are_what_they_are_one_by_one(pairs, direction):
    found = [compared(result(one), result(other), direction) for one, other in pairs]
    ours, theirs = ([ratio(pair[side]) for pair in pairs] for side in (0, 1))
    assert Tally.of(steps(ours, theirs, direction)) == tuple(found.count(against) for against in Against)


def test_what_holds_a_program_back_has_the_same_shares_on_pages_and_in_prompts(tmp_path: Path) -> None:
    task, suite, version = installed("txn_scheduling", "published") or pytest.fail("it ships")
    costs = tuple((instance.bound or 0) + far for instance, far in zip(suite.instances, (72, 0, 9), strict=True))
    evaluation = make_evaluation(costs, task=task.name, suite=suite.name, objective=task.objective, version=version)
    identity = {"task": task.name, "suite": suite.name, "seed": 0, "evaluator_version": version, "sandbox": "standard"}
    with Archive.create(tmp_path / "run", config_text="", identity=identity) as archive:
        archive.evaluated(make_made(0, evaluation), files=one_file("x = 0\n"), patch_text="", answers=None)
        on_page = matrix(archive.reader)["shares"]
    in_prompt = instance_parts(evaluation, task, suite)
    assert on_page == pytest.approx([72 / 81, 0, 9 / 81])
    assert in_prompt is not None and [(one.instance, one.percent) for one in in_prompt.named] == [(0, "89"), (2, "11")]

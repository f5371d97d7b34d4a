"""Transaction scheduling: the published figures, every hole of other judges, and an independent slow judge."""

import dataclasses
import itertools
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator import InvalidAnswer
from evaluator.evaluation import Outcome, Verdict
from evaluator.task_files import load_task
from evaluator.tasks.suite_files import as_text
from evaluator.tasks.txn_scheduling import adapter, exact, make_suites, recipes
from evaluator.tasks.txn_scheduling.exact import lower_bound
from evaluator.tasks.txn_scheduling.judge import draw, judge, permuted, renamed
from tests.evaluator.tasks.txn_scheduling.slow_txn_scheduling import slow_makespan

TASK = load_task("txn_scheduling")
SUITES = ["published", "published-holdout", "generated", "generated-holdout"]
PUBLISHED = TASK.suite("published").instances
FOLDER = Path(make_suites.__file__).resolve().parent


@st.composite
def workloads(draw: st.DrawFn, most: int = 7) -> dict[str, Any]:
    """Small workloads of any shape, also with several operations on a key or in a slot."""
    transactions = []
    for _ in range(draw(st.integers(1, most))):
        length = draw(st.integers(1, 5))
        operation = st.tuples(st.sampled_from("rw"), st.integers(1, 3), st.integers(1, length))
        transactions.append([length, [list(found) for found in draw(st.lists(operation, min_size=1, max_size=4))]])
    return {"transactions": transactions}


def refused(answer: object, why: str, workload: Any = None) -> None:
    with pytest.raises(InvalidAnswer, match=why):
        judge(PUBLISHED[0].fresh() if workload is None else workload, answer)


def test_the_given_order_takes_what_was_published() -> None:
    order = list(range(100))
    assert [judge(instance.fresh(), order) for instance in PUBLISHED] == [452, 38, 47]
    verdicts = [TASK.judge.judge(instance, order) for instance in PUBLISHED]
    summary = TASK.judge.summarise(verdicts, PUBLISHED)
    assert (summary.metrics["makespan"], summary.score) == (537.0, -537.0)


def test_the_values_that_were_published_are_listed() -> None:
    assert [listed.value for listed in TASK.suite("published").best_known] == [223, 228, 352]


def test_a_workload_without_a_schedule_never_helps() -> None:
    failed = Verdict(outcome=Outcome.INVALID_OUTPUT, detail="nothing")
    whole = [TASK.judge.judge(instance, list(range(100))) for instance in PUBLISHED]
    for index in range(3):
        summary = TASK.judge.summarise([*whole[:index], failed, *whole[index + 1 :]], PUBLISHED)
        assert summary.score == pytest.approx(2 / 3)
        assert summary.metrics["success_rate"] < 1
        assert summary.metrics["makespan"] > 537


def test_empty_and_partial_schedules_are_refused() -> None:
    refused([], "100 of 100 transactions left out: 0, 1, 2, 3, 4, 5, 6, 7 and 92 more")
    refused([0], "99 of 100 transactions left out")
    refused(list(range(99)), "1 of 100 transactions left out: 99")


def test_duplicates_are_refused() -> None:
    refused([*range(100), 0], "transaction 0 is scheduled twice")
    refused([*range(99), 98], "transaction 98 is scheduled twice")
    refused([5] * 100, "transaction 5 is scheduled twice")


@pytest.mark.parametrize("ghost", [-1, 100, 10**30, -(10**30)])
def test_transactions_that_do_not_exist_are_refused(ghost: int) -> None:
    refused([*range(99), ghost], "there is no transaction .*: the indices go from 0 to 99")


@pytest.mark.parametrize("item", [True, False, 1.0, float("nan"), float("inf"), "1", None, [1], {"1": 1}])
def test_what_is_no_int_is_refused(item: object) -> None:
    refused([item, *range(1, 100)], "it must hold ints from 0 to 99")


@pytest.mark.parametrize(
    "answer",
    [None, 58, 1.0, "0", True, {}, {"makespan": 1}, {"schedule": list(range(100)), "makespan": 1}, float("nan")],
)
def test_sums_of_ones_own_and_whatever_is_no_list_are_refused(answer: object) -> None:
    refused(answer, "not a list of all 100 indices")


def test_a_makespan_next_to_the_schedule_is_refused() -> None:
    refused([1, list(range(100))], "holds a list")
    refused([list(range(100)), 1], "holds a list")


@pytest.mark.parametrize(
    "suite", [SUITES[0], *(pytest.param(suite, marks=pytest.mark.nightly) for suite in SUITES[1:])]
)
def test_an_independent_slow_judge_agrees_on_real_workloads(suite: str) -> None:
    rng = random.Random(5)
    for instance in TASK.suite(suite).instances:
        data = instance.fresh()
        order = rng.sample(range(100), 100)[:100]
        short = {"transactions": [data["transactions"][index] for index in order[:25]]}
        for _ in range(3):
            found = rng.sample(range(25), 25)
            assert judge(short, found) == slow_makespan(short["transactions"], found)
        assert judge(data, order) >= instance.bound  # which is that of `lower_bound`, as a test below shows


def test_an_independent_slow_judge_agrees_on_samples_of_real_workloads() -> None:
    rng = random.Random(9)
    for _ in range(20 * settings.default.max_examples):
        sample = rng.sample(rng.choice(PUBLISHED).fresh()["transactions"], 12)
        order = rng.sample(range(12), 12)
        assert judge({"transactions": sample}, order) == slow_makespan(sample, order)


@given(workloads(), st.randoms(use_true_random=False))
def test_an_independent_slow_judge_agrees(workload: dict[str, Any], rng: random.Random) -> None:
    count = len(workload["transactions"])
    order = rng.sample(range(count), count)
    assert judge(workload, order) == slow_makespan(workload["transactions"], order)


@given(workloads(most=5))
def test_no_schedule_is_below_the_bound(workload: dict[str, Any]) -> None:
    orders = itertools.permutations(range(len(workload["transactions"])))
    assert min(judge(workload, list(order)) for order in orders) >= lower_bound(workload)


@given(workloads(), st.randoms(use_true_random=False), st.data())
def test_a_valid_schedule_made_invalid_in_any_one_way_is_refused(
    workload: dict[str, Any], rng: random.Random, data: st.DataObject
) -> None:
    count = len(workload["transactions"])
    order: list[Any] = rng.sample(range(count), count)
    judge(workload, order)
    place = data.draw(st.integers(0, count - 1))
    changed = data.draw(
        st.sampled_from(
            [
                order[:place] + order[place + 1 :],
                [*order[:place], order[place], *order[place:]],
                *(
                    [*order[:place], other, *order[place + 1 :]]
                    for other in (bool(order[place]), float(order[place]), str(order[place]), None, -1, count, [0])
                ),
                *([*order[:place], other, *order[place + 1 :]] for other in range(count) if other != order[place]),
                tuple(order),
                {str(index): value for index, value in enumerate(order)},
            ]
        )
    )
    refused(changed, "transaction|the answer is|the schedule holds", workload)


@given(workloads(), st.randoms(use_true_random=False))
def test_other_names_and_another_order_are_the_same_workload(workload: dict[str, Any], rng: random.Random) -> None:
    count = len(workload["transactions"])
    order = list(range(count))
    assert judge(renamed(workload, rng), order) == judge(workload, order)
    moved = permuted(workload, rng)["transactions"]
    assert sorted(map(json.dumps, moved)) == sorted(map(json.dumps, workload["transactions"]))


@pytest.mark.parametrize(
    "suite", [SUITES[0], *(pytest.param(suite, marks=pytest.mark.nightly) for suite in SUITES[1:])]
)
def test_the_bounds_shipped_are_proven_by_code(suite: str) -> None:
    text = (FOLDER / "bounds" / f"{suite}.json").read_text(encoding="utf-8")
    assert make_suites.bounds_text(suite, [instance.fresh() for instance in TASK.suite(suite).instances]) == text
    assert sum(instance.bound or 0 for instance in PUBLISHED) > 96


def test_a_bound_is_proven_again_and_one_that_is_too_high_is_refuted() -> None:
    (check,) = TASK.verify("published", [1])
    assert check.holds
    raised = dataclasses.replace(PUBLISHED[1], bound=Fraction(34))
    refuted = exact.verify(raised, limit_s=1)
    assert refuted.holds is False
    assert "fewer than 33 slots; the bound listed is 34" in refuted.detail


def test_the_suites_are_what_the_recipe_makes() -> None:
    for suite, (seed, rounds) in make_suites.SUITES.items():
        text = (FOLDER / "suites" / f"{suite}.json").read_text(encoding="utf-8")
        assert as_text(suite, "instances", make_suites.make(seed, rounds)) == text


@pytest.mark.parametrize(("shape", "published"), list(zip(recipes.SHAPES, PUBLISHED, strict=True)))
def test_the_recipe_has_the_shape_of_what_was_published(shape: str, published: Any) -> None:
    drawn = recipes.draw_workload(random.Random(1), shape)["transactions"]
    theirs = published.fresh()["transactions"]
    assert sorted(length for length, _ in drawn) == sorted(length for length, _ in theirs)
    assert [len(operations) for _, operations in drawn] == [len(operations) for _, operations in theirs]
    for length, operations in drawn:
        assert all(1 <= position <= length for _, _, position in operations)
    shares = [
        sum(kind == "w" for _, held in found for kind, _, _ in held) / sum(len(held) for _, held in found)
        for found in (drawn, theirs)
    ]
    assert shares[0] == pytest.approx(shares[1], abs=0.05)


def test_a_picture_has_a_bar_for_every_transaction_and_operation() -> None:
    data = PUBLISHED[2].fresh()
    picture = draw(data, list(range(100)))
    assert picture.startswith("<svg") and picture.endswith("</svg>")
    assert picture.count("<rect") == 100 + 200


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (None, "is a return missing"),
        ("012", "is a str"),
        ({0: 1}, "is a dict"),
        ({0, 1, 2}, "is a set"),
        (range(10**9), "longer than the 100"),
        (itertools.count(), "longer than the 100"),
        ([True], "bool True"),
        ([0.0], "a float"),
        ([10**30], "far out of range"),
    ],
)
def test_the_adapter_says_what_it_cannot_read(result: object, why: str) -> None:
    _, encode = adapter.prepare(PUBLISHED[0].fresh())
    with pytest.raises(ValueError, match=why):
        encode(result)


def test_a_program_cannot_change_the_workload_that_is_judged() -> None:
    data = PUBLISHED[0].fresh()
    (transactions,), encode = adapter.prepare(data)
    transactions[:] = [(1, [])] * 100
    assert judge(data, encode(reversed(range(100)))) == slow_makespan(data["transactions"], list(range(99, -1, -1)))

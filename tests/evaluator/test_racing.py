"""Racing: an evaluation stops once its program cannot reach a score any more, and says nothing else of it."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evaluator.evaluation import Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.racing import Race, deciding_order, why_no_race
from evaluator.standing import Standing
from evaluator.task import Suite, Task
from evaluator.task_files import built_in_tasks, load_task

DATA = Path(__file__).parent.parent / "data"
OFF_BY = "def guess(n):\n    return n + {}\n"


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(str(DATA / "race"))


@pytest.fixture(scope="module")
def evaluator(task: Task) -> Iterator[SandboxedEvaluator]:
    with SandboxedEvaluator(task, task.suite(), workers=1) as opened:
        yield opened


def against(evaluation: Evaluation) -> Race:
    """The race against a correct program."""
    costs = [result.cost for result in evaluation.results if result.cost is not None]
    assert evaluation.value is not None
    return Race(threshold=evaluation.combined_score, value=evaluation.value, costs=tuple(costs))


def untimed(evaluation: Evaluation) -> dict[str, Any]:
    return {key: value for key, value in evaluation.to_json().items() if key != "measured"}


@pytest.fixture(scope="module")
def race(evaluator: SandboxedEvaluator) -> Race:
    return against(evaluator.evaluate(OFF_BY.format(10)))


def test_a_program_that_cannot_reach_the_threshold_is_stopped(evaluator: SandboxedEvaluator, race: Race) -> None:
    stopped = evaluator.race(OFF_BY.format(40), race)
    assert (stopped.outcome, stopped.correct, stopped.quarantine, stopped.value) == (Outcome.STOPPED, False, None, None)
    assert stopped.threshold == race.threshold > stopped.combined_score
    # 8 and 7 times 40 are more than 36 times 10: the heaviest instances come first, and two of them decide.
    assert [result.instance for result in stopped.results if result.outcome is Outcome.OK] == [6, 7]
    assert {result.outcome for result in stopped.results[:6]} == {Outcome.STOPPED}
    assert stopped.detail == "stopped after 2 of 8 instances: distance 79.5 at best, and 49.5 was needed"
    assert stopped.to_json()["failures"] == [], "it is not said to fail"
    assert stopped.combined_score >= evaluator.evaluate(OFF_BY.format(40)).combined_score
    assert Evaluation.from_json(stopped.to_json()).to_json() == stopped.to_json()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (OFF_BY.format(9), "it is better"),
        (OFF_BY.format(10), "it is as good"),
        (OFF_BY.format(-10), "it is as good in another way"),
        ("def guess(n):\n    return n + (80 if n == 0 else 0)\n", "its only weakness weighs little"),
        ("def guess(n):\n    return 'none' if n == 10 else n + 40 * (n == 70)\n", "it fails an instance"),
        ("def guess(n):\n    return n + 0 * (1 // (n - 20))\n", "it raises on an instance that decides late"),
        ("import os\ndef guess(n):\n    return os._exit(3) if n in (20, 60) else n\n", "its process ends"),
        ("def guess(n:\n", "it does not load"),
        ("x = 1\n", "there is no entry point"),
    ],
)
def test_any_other_program_is_scored_as_without_a_race(
    evaluator: SandboxedEvaluator, race: Race, source: str, why: str
) -> None:
    assert untimed(evaluator.race(source, race)) == untimed(evaluator.evaluate(source)), why


def test_a_value_that_is_impossible_is_told_and_not_stopped(task: Task) -> None:
    # A bound that is wrong: the program beats it on the heaviest instance, and is bad on all others.
    suite = task.suite()
    wrong = replace(suite, instances=(*suite.instances[:7], replace(suite.instances[7], bound=Fraction(400))))
    source = "def guess(n):\n    return n + (0 if n == 70 else 90)\n"
    with SandboxedEvaluator(task, wrong, workers=1) as evaluator:
        raced = evaluator.race(source, Race(threshold=-60.0, value=60.0, costs=(*(Fraction(60),) * 7, Fraction(500))))
        assert raced.quarantine is not None and raced.outcome is Outcome.OK
        assert untimed(raced) == untimed(evaluator.evaluate(source))


def test_one_that_keeps_state_is_examined_as_it_was_asked_without_a_race(
    evaluator: SandboxedEvaluator, race: Race
) -> None:
    counts = "SEEN = []\ndef guess(n):\n    SEEN.append(n)\n    return n + len(SEEN) / 100\n"
    raced, plain = evaluator.race(counts, race), evaluator.evaluate(counts)
    assert raced.outcome is Outcome.OK
    assert untimed(raced) != untimed(plain), "asked in another order it answers otherwise"
    assert untimed(evaluator.examine(counts, raced)) == untimed(evaluator.examine(counts, plain))
    assert evaluator.examine(counts, raced).quarantine is not None


def test_tasks_that_cannot_be_raced_say_why(task: Task) -> None:
    suite = task.suite()
    assert why_no_race(task, suite) is None
    unbounded = replace(suite, instances=(replace(suite.instances[0], bound=None), *suite.instances[1:]))
    assert why_no_race(task, unbounded) == "instance 0 of suite 'eight' has no bound"
    smallest = load_task(str(DATA / "smallest"))
    assert "does not say `monotone: true`" in str(why_no_race(smallest, smallest.suite()))
    sorting = load_task(str(DATA / "sorting"))
    assert why_no_race(sorting, sorting.suite()) is not None
    with SandboxedEvaluator(task, unbounded, workers=1) as opened, pytest.raises(ValueError, match="has no bound"):
        opened.race("", Race(threshold=0.0, value=0.0, costs=(Fraction(1),) * 8))


@cache
def raceable() -> list[tuple[Task, Suite]]:
    """Every suite that ships and can be raced."""
    found = [(task, task.suite(suite)) for task in map(load_task, built_in_tasks()) for suite in task.suites]
    return [(task, suite) for task, suite in found if why_no_race(task, suite) is None]


def test_most_suites_that_ship_can_be_raced() -> None:
    assert {task.name for task, _ in raceable()} >= {"placement", "bin_packing", "txn_scheduling"}


@given(data=st.data())
def test_the_best_that_is_possible_never_grows_and_is_never_below_the_score(data: st.DataObject) -> None:
    """What `monotone: true` promises, for every suite that ships, whatever the costs and in whichever order."""
    task, suite = data.draw(st.sampled_from(raceable()))
    standing, sign = Standing(task, suite), task.objective.per_instance.sign
    whole = st.builds(Fraction, st.integers(0, 40)) | st.just(Fraction(0))
    bounds = [instance.bound for instance in suite.instances if instance.bound is not None]
    costs = [bound - sign * data.draw(whole) for bound in bounds]
    order = data.draw(st.permutations(range(len(costs))))
    known: dict[int, Fraction] = {}
    before = standing.at_best(known).score
    for index in order:
        known[index] = costs[index]
        now = standing.at_best(known).score
        assert now <= before
        before = now


@given(costs=st.lists(st.integers(0, 50), min_size=8, max_size=8))
def test_the_order_is_by_what_each_instance_costs_the_program_to_beat(costs: list[int]) -> None:
    task = load_task(str(DATA / "race"))
    suite = task.suite()
    assume(any(costs))
    exact = tuple((instance.bound or 0) + cost for instance, cost in zip(suite.instances, costs, strict=True))
    order = deciding_order(Standing(task, suite), Race(threshold=0.0, value=0.0, costs=exact))
    assert [costs[index] for index in order] == sorted(costs, reverse=True)
    assert all(a < b for a, b in pairwise(order) if costs[a] == costs[b])

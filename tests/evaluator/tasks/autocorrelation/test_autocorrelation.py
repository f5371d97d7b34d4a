"""The autocorrelation task: exact costs against a slow judge, every hole shut, and what ships is what is said."""

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome, Verdict
from evaluator.evaluator import SandboxedEvaluator
from evaluator.places import PROGRAMS
from evaluator.task import Instance
from evaluator.task_files import load_task
from evaluator.tasks.autocorrelation.adapter import prepare
from evaluator.tasks.autocorrelation.convolution import autoconvolution
from tests.builders import one_file
from tests.evaluator.tasks.autocorrelation.slow_autocorrelation import slow_constant

TASK = load_task("autocorrelation")
INSTANCE = TASK.suite("first").instances[0]
SMALL = Instance(index=0, data={"max_n": 5})
NAN, INFINITY = math.nan, math.inf
BASELINES = PROGRAMS / "autocorrelation" / "baselines"


def judged(answer: object, instance: Instance = INSTANCE) -> Verdict:
    return TASK.judge.judge(instance, answer)


def answer_of(path: Any) -> list[Any]:
    space: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    (max_n,), encode = prepare(INSTANCE.data)
    return encode(space["heights"](max_n))


positive = st.floats(0, 1e300, allow_nan=False) | st.integers(0, 10**30) | st.sampled_from([5e-324, 1e-300, 1, 1.0])
answers = st.lists(positive, min_size=1, max_size=12).filter(any)


@pytest.mark.parametrize("count", [1, 2, 3, 20, 1999, 2000])
@pytest.mark.parametrize("height", [1, 0.1, 1e308, 5e-324])
def test_equal_heights_give_exactly_two(count: int, height: float) -> None:
    assert judged([height] * count) == Verdict(outcome=Outcome.OK, cost=Fraction(2))


@given(answers)
def test_the_cost_is_that_of_a_slow_judge(answer: list[Any]) -> None:
    assert judged(answer).cost == slow_constant(answer)


def test_the_cost_is_that_of_a_slow_judge_on_longer_lists() -> None:
    rng = random.Random(5)
    for _ in range(60):
        size = rng.randint(1, 40)
        answer = [rng.choice([0.0, rng.random(), rng.random() ** 8, rng.random() * 1e-18]) for _ in range(size)]
        answer[rng.randrange(size)] = rng.random() + 1e-9
        assert judged(answer).cost == slow_constant(answer)


@given(st.lists(st.integers(0, 2**70), min_size=1, max_size=20))
def test_the_product_of_long_integers_is_the_autoconvolution(numbers: list[int]) -> None:
    sums = [0] * (2 * len(numbers) - 1)
    for i, left in enumerate(numbers):
        for j, right in enumerate(numbers):
            sums[i + j] += left * right
    assert autoconvolution(numbers) == sums


@given(answers, st.integers(-20, 20))
def test_order_reversed_or_heights_scaled_is_the_same(answer: list[Any], power: int) -> None:
    assert judged(answer[::-1]).cost == judged(answer).cost
    halves = [Fraction(height) * Fraction(2) ** power for height in answer]
    if all(half == float(half) for half in halves):
        assert judged([float(half) for half in halves]).cost == judged(answer).cost


@given(answers)
def test_nothing_is_below_what_is_proven(answer: list[Any]) -> None:
    cost = judged(answer).cost
    assert INSTANCE.bound is not None and cost is not None
    assert cost > INSTANCE.bound == Fraction(128, 100)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([NAN], "height 0 is nan; heights must be finite"),
        ([1.0, NAN], "height 1 is nan"),
        ([1.0, INFINITY], "height 1 is inf"),
        ([-INFINITY, 1.0], "height 0 is -inf"),
        ([True], "height 0 is a bool, not a number"),
        ([1.0, False], "height 1 is a bool"),
        (["1.0"], "height 0 is a str"),
        ([None], "height 0 is a NoneType"),
        ([[1.0]], "height 0 is a list"),
        ([{"f": 1.0}], "height 0 is a dict"),
        ([1.0, -1e-300], "height 1 is negative"),
        ([2, -1], "height 1 is negative"),
        ([0], "all heights are zero"),
        ([0.0, -0.0], "all heights are zero"),
        ([], "the list of heights is empty"),
        ([1] * 6, "there are 6 heights, and at most 5 are allowed"),
        ([1, 2**1025], "height 1 is a number beyond 2^1024"),
        (None, "the answer is a NoneType, not a list of heights"),
        (1.5, "the answer is a float"),
        (True, "the answer is a bool"),
        ("[1.0]", "the answer is a str"),
        ({"heights": [1.0]}, "the answer is a dict"),
        ([1.5, [1.0]], "height 1 is a list"),
    ],
)
def test_what_is_no_list_of_heights_is_refused_with_the_reason(answer: object, reason: str) -> None:
    verdict = judged(answer, SMALL)
    assert verdict.outcome is Outcome.INVALID_OUTPUT
    assert verdict.cost is None
    assert reason in verdict.detail


BROKEN = [NAN, INFINITY, -INFINITY, -1, -5e-324, True, False, "1", None, [], [1.0], {}, 2**1100]


@given(answers, st.sampled_from(BROKEN), st.data())
def test_a_valid_answer_with_one_thing_wrong_is_never_accepted(answer: list[Any], wrong: Any, data: Any) -> None:
    at = data.draw(st.integers(0, len(answer) - 1))
    assert judged([*answer[:at], wrong, *answer[at + 1 :]]).outcome is Outcome.INVALID_OUTPUT
    assert judged([*answer, *[1.0] * (INSTANCE.data["max_n"] + 1 - len(answer))]).outcome is Outcome.INVALID_OUTPUT
    assert judged([0 * height for height in answer]).outcome is Outcome.INVALID_OUTPUT


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text("1.x"), st.lists, max_leaves=9))
def test_no_answer_breaks_the_judge(answer: object) -> None:
    verdict = judged(answer)
    assert (verdict.outcome is Outcome.OK) == (verdict.cost is not None)


def test_tiny_heights_next_to_a_large_one_are_cut_to_nothing() -> None:
    assert judged([1.0, 1e-300]).cost == judged([1, 0]).cost == 4
    assert judged([1.7e308, 5e-324] * 1000).cost == judged([1, 0] * 1000).cost


def test_zeros_around_a_function_cost_what_they_are() -> None:
    assert judged([1, 1]).cost == 2
    assert judged([0, 1, 1, 0]).cost == 4


def test_the_adapter_takes_arrays_and_tuples_and_refuses_what_is_no_number() -> None:
    numpy = pytest.importorskip("numpy")
    (max_n,), encode = prepare({"max_n": 3})
    assert max_n == 3
    assert encode(numpy.array([1.0, 0.5])) == encode((1.0, numpy.float32(0.5))) == [1.0, 0.5]
    assert encode(numpy.array([1, 2])) == encode(range(1, 3)) == [1, 2]
    assert {type(value) for value in encode(numpy.array([1.0, 0.5]))} == {float}
    for wrong in (
        None,
        1.0,
        "111",
        b"1",
        {0: 1.0},
        [True],
        [NAN],
        [INFINITY],
        ["1"],
        [[1.0]],
        numpy.ones((2, 2)),
        [1] * 4,
    ):
        with pytest.raises(ValueError, match=r"height"):
            encode(wrong)
    with pytest.raises(ValueError, match="more heights than the 3"):
        encode(iter(int, 1))


def test_the_baselines_cost_what_they_say() -> None:
    assert judged(answer_of(BASELINES / "uniform.py")).cost == 2
    assert judged(answer_of(PROGRAMS / "autocorrelation" / "initial.py")).cost == 2
    root = judged(answer_of(BASELINES / "inverse_root.py")).cost
    assert root is not None
    assert float(root) == pytest.approx(math.pi / 2, abs=1e-3)
    cosine = judged(answer_of(BASELINES / "cosine.py")).cost
    assert cosine is not None
    assert root < cosine < 2


def test_the_picture_shows_both_curves() -> None:
    text = TASK.judge.draw(INSTANCE, [1.0, 0.0, 2.5])
    tags = [element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text)]
    assert tags.count("polygon") == 2
    cost = judged([1.0, 0.0, 2.5]).cost
    assert cost is not None
    assert f"C = {float(cost):.9f}" in text


@pytest.mark.parametrize(("name", "max_n", "best"), [("first", 2000, 1.503132436), ("large", 30_000, 1.502862858705)])
def test_a_suite_is_the_open_problem(name: str, max_n: int, best: float) -> None:
    suite = TASK.suite(name)
    assert [instance.data for instance in suite.instances] == [{"max_n": max_n}]
    assert suite.held_out is None
    assert TASK.judge.draw_instance is None
    assert min(float(listed.value) for listed in suite.best_known) == best
    assert len(json.dumps([1 / 3] * max_n)) < suite.limits.answer_bytes


def test_thirty_thousand_heights_are_judged_and_one_more_is_refused() -> None:
    instance = TASK.suite("large").instances[0]
    assert judged([5e-324] * 30_000, instance).cost == 2
    assert "there are 30001 heights" in judged([1.0] * 30_001, instance).detail


@pytest.fixture(scope="module")
def evaluator() -> Iterator[SandboxedEvaluator]:
    with SandboxedEvaluator(TASK, TASK.suite(), workers=1) as evaluator:
        yield evaluator


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return [float('nan')]", "height 0 is nan"),
        ("return np.full(3, np.inf)", "height 0 is inf"),
        ("return [True]", "height 0 is a bool"),
        ("return np.ones((2, 2))", "height 0 is a ndarray"),
        ("return np.ones(max_n + 1)", "more heights than the 2000"),
        ("return -np.ones(4)", "height 0 is negative"),
        ("return np.zeros(4)", "all heights are zero"),
        ("return []", "the list of heights is empty"),
        ("return", "is a return missing?"),
        ("return {'heights': [1.0], 'C': 1.5}", "returned a dict"),
        ("return ['1.0']", "height 0 is a str"),
        ("return [1.0 + 0j]", "height 0 is a complex"),
    ],
)
def test_a_program_that_returns_no_heights_fails_with_the_reason(
    evaluator: SandboxedEvaluator, body: str, reason: str
) -> None:
    evaluation = evaluator.evaluate(one_file(f"import numpy as np\n\n\ndef heights(max_n):\n    {body}\n"))
    assert not evaluation.correct
    assert reason in evaluation.results[0].detail


def test_a_program_that_changes_numpy_and_the_adapter_is_scored_by_what_it_returns(
    evaluator: SandboxedEvaluator,
) -> None:
    source = """
import sys
import fractions
import numpy as np


class Small(float):
    def __mul__(self, other):
        return 0.0


def heights(max_n):
    np.convolve = lambda *_: np.zeros(1)
    fractions.Fraction = lambda *_: 1
    for module in list(sys.modules.values()):
        if hasattr(module, "_number"):
            module._number = lambda item, index: float(item)
    return [Small(1)] * 7
"""
    evaluation = evaluator.evaluate(one_file(source))
    assert not evaluation.correct or evaluation.results[0].cost == 2
    assert evaluator.evaluate(one_file(source.replace("[Small(1)]", "[1.0]"))).results[0].cost == 2

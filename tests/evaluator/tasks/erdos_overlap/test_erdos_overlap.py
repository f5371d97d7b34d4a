"""The task of Erdos's minimum overlap: exact costs against a slow judge, every hole shut, at both sandbox levels."""

import json
import math
import random
import runpy
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
from evaluator.sandbox import bubblewrap
from evaluator.task import Instance
from evaluator.task_files import load_task
from evaluator.tasks.convolution import convolution
from evaluator.tasks.erdos_overlap.adapter import prepare
from tests.builders import one_file
from tests.evaluator.hostile import confinement
from tests.evaluator.tasks.erdos_overlap.slow_erdos_overlap import slow_overlap

TASK = load_task("erdos_overlap")
INSTANCE = TASK.suite().instances[0]
SMALL = Instance(index=0, data={"max_n": 5})
NAN, INFINITY = math.nan, math.inf
BASELINES = PROGRAMS / "erdos_overlap" / "baselines"


def judged(answer: object, instance: Instance = INSTANCE) -> Verdict:
    return TASK.judge.judge(instance, answer)


def answer_of(path: Any) -> list[Any]:
    (max_n,), encode = prepare(INSTANCE.data)
    return encode(runpy.run_path(str(path))["heights"](max_n))


def drawn(rng: random.Random, count: int) -> list[int | float]:
    """Heights of one of several kinds, at least one of them positive; most are valid."""
    kind = rng.choice(
        [
            lambda: 0.6 + 0.8 * rng.random(),
            rng.random,
            lambda: rng.choice([1, 1.0, 0.5, 0.25, 2**-61, 5e-324, 0]),
            lambda: rng.getrandbits(200) + 2**200,
        ]
    )
    heights = [kind() for _ in range(count)]
    heights[rng.randrange(count)] = 1.0
    return heights if heights[0] < 2 else [int(height) for height in heights]


positive = st.floats(0, 1e300, allow_nan=False) | st.integers(0, 10**30) | st.sampled_from([5e-324, 1e-300, 1, 1.0])
level = st.floats(0.5, 1.0) | st.integers(1, 2)
answers = st.lists(positive, min_size=1, max_size=12).filter(any) | st.lists(level, min_size=1, max_size=12)


@pytest.mark.parametrize("count", [1, 2, 3, 30, 4095, 4096])
@pytest.mark.parametrize("height", [1, 0.1, 1e308, 5e-324])
def test_equal_heights_overlap_by_one_half(count: int, height: float) -> None:
    assert judged([height] * count) == Verdict(outcome=Outcome.OK, cost=Fraction(1, 2))


@given(answers)
def test_the_cost_is_that_of_a_slow_judge(answer: list[Any]) -> None:
    verdict = judged(answer)
    assert verdict.cost == slow_overlap(answer)
    assert verdict.outcome is (Outcome.OK if verdict.cost is not None else Outcome.INFEASIBLE)


@pytest.mark.parametrize("answers", [300, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_the_cost_is_that_of_a_slow_judge_on_random_heights(answers: int) -> None:
    rng = random.Random(5)
    valid = 0
    for _ in range(answers):
        answer = drawn(rng, rng.randint(1, 14))
        assert judged(answer).cost == slow_overlap(answer), answer
        valid += judged(answer).cost is not None
    assert answers // 3 < valid < answers


@given(st.lists(st.integers(0, 2**70), min_size=1, max_size=20), st.lists(st.integers(0, 9), min_size=1, max_size=20))
def test_the_product_of_long_integers_is_the_convolution(left: list[int], right: list[int]) -> None:
    sums = [0] * (len(left) + len(right) - 1)
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            sums[i + j] += one * other
    assert convolution(left, right) == sums


@given(answers, st.integers(-20, 20))
def test_order_reversed_or_heights_scaled_is_the_same(answer: list[Any], power: int) -> None:
    assert judged(answer[::-1]).cost == judged(answer).cost
    halves = [Fraction(height) * Fraction(2) ** power for height in answer]
    if all(half == float(half) for half in halves):
        assert judged([float(half) for half in halves]).cost == judged(answer).cost


@given(answers)
def test_nothing_is_below_what_is_proven(answer: list[Any]) -> None:
    cost = judged(answer).cost
    assert INSTANCE.bound == Fraction("0.379005")
    assert cost is None or cost > INSTANCE.bound


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
        ([1.0, -1e-300], "height 1 is -1e-300; heights must be finite and not negative"),
        ([2, -1], "height 1 is negative"),
        ([0], "all heights are zero"),
        ([0.0, -0.0], "all heights are zero"),
        ([], "there are 0 heights; there must be 1 to 5"),
        ([1] * 6, "there are 6 heights; there must be 1 to 5"),
        ([5e-324] * 30_000, "there are 30000 heights; there must be 1 to 5"),
        ([1, 2**1025], "height 1 is too large"),
        ([1, 10**10_000], "height 1 is too large"),
        (None, "the answer is a NoneType, not a list of heights"),
        (True, "the answer is a bool"),
        ("[1.0]", "the answer is a str"),
        ({"heights": [1.0]}, "the answer is a dict"),
    ],
)
def test_what_is_no_list_of_heights_is_refused_with_the_reason(answer: object, reason: str) -> None:
    verdict = judged(answer, SMALL)
    assert verdict.outcome is Outcome.INVALID_OUTPUT
    assert verdict.cost is None
    assert reason in verdict.detail


@pytest.mark.parametrize("answer", [[1, 1, 0.99], [1.0, 1e-300, 1], [3, 4, 0, 0]])
def test_a_height_above_one_after_scaling_is_infeasible(answer: list[Any]) -> None:
    verdict = judged(answer, SMALL)
    highest = max(answer) * len(answer) / (2 * sum(answer))
    if highest > 1:
        assert verdict.outcome is Outcome.INFEASIBLE
        assert f"{highest:.12g}"[:12] in verdict.detail
        assert "is scaled to 1; at most 1 is allowed" in verdict.detail
    else:
        assert verdict.cost is not None


def test_a_height_of_exactly_one_is_allowed_and_one_unit_more_is_not() -> None:
    unit = 2**60
    assert judged([unit, 0]).cost == Fraction(1, 1)
    assert judged([unit, unit, 1, 0]).cost is not None
    assert judged([unit, unit - 1, 0, 0]).outcome is Outcome.INFEASIBLE


BROKEN = [NAN, INFINITY, -INFINITY, -1, -5e-324, True, False, "1", None, [], [1.0], {}, 2**1100]


@given(answers, st.sampled_from(BROKEN), st.data())
def test_a_valid_answer_with_one_thing_wrong_is_never_accepted(answer: list[Any], wrong: Any, data: Any) -> None:
    at = data.draw(st.integers(0, len(answer) - 1))
    assert judged([*answer[:at], wrong, *answer[at + 1 :]]).outcome is Outcome.INVALID_OUTPUT
    assert judged([*answer, *[1.0] * INSTANCE.data["max_n"]]).outcome is Outcome.INVALID_OUTPUT


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text("1.x"), st.lists, max_leaves=9))
def test_no_answer_breaks_the_judge(answer: object) -> None:
    verdict = judged(answer)
    assert (verdict.outcome is Outcome.OK) == (verdict.cost is not None)


def test_the_adapter_takes_arrays_and_tuples_and_refuses_what_is_no_number() -> None:
    numpy = pytest.importorskip("numpy")
    (max_n,), encode = prepare({"max_n": 3})
    assert max_n == 3
    assert encode(numpy.array([1.0, 0.5])) == encode((1.0, numpy.float32(0.5))) == [1.0, 0.5]
    assert encode(numpy.array([1, 2])) == encode(range(1, 3)) == [1, 2]
    assert {type(value) for value in encode(numpy.array([1.0, 0.5]))} == {float}
    for wrong in (None, 1.0, "111", b"1", {0: 1.0}, [True], [NAN], [INFINITY], ["1"], [[1.0]], numpy.ones((2, 2))):
        with pytest.raises(ValueError, match=r"height"):
            encode(wrong)
    with pytest.raises(ValueError, match="more heights than the 3"):
        encode(iter(int, 1))


def test_the_baselines_cost_what_they_say() -> None:
    assert judged(answer_of(BASELINES / "uniform.py")).cost == Fraction(1, 2)
    assert judged(answer_of(PROGRAMS / "erdos_overlap" / "initial.py")).cost == Fraction(1, 2)
    steps = judged(answer_of(BASELINES / "nine_steps.py")).cost
    assert steps is not None
    assert float(steps) == pytest.approx(29 / 75, abs=1e-15)


def test_the_picture_shows_the_heights_and_their_overlap() -> None:
    text = TASK.judge.draw(INSTANCE, [1.0, 0.5, 2.5, 2.0])
    tags = [element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text)]
    assert tags.count("polygon") == 2
    cost = judged([1.0, 0.5, 2.5, 2.0]).cost
    assert cost is not None
    assert f"at most {float(cost):.9f}" in text


def test_the_suite_is_the_open_problem() -> None:
    suite = TASK.suite()
    assert [instance.data for instance in suite.instances] == [{"max_n": 4096}]
    assert suite.held_out is None
    assert TASK.judge.draw_instance is None
    assert len(json.dumps([1 / 3] * 4096)) < suite.limits.answer_bytes


@pytest.fixture(scope="module", params=["strong", "standard"])
def evaluator(request: pytest.FixtureRequest) -> Iterator[SandboxedEvaluator]:
    if request.param == "strong" and bubblewrap.find() is None:
        pytest.skip("bubblewrap is not installed")
    confined = confinement(request.param)
    with SandboxedEvaluator(TASK, TASK.suite(), workers=1, confined=confined) as evaluator:
        assert evaluator.sandbox == request.param
        yield evaluator


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return [float('nan')]", "height 0 is nan"),
        ("return np.full(3, np.inf)", "height 0 is inf"),
        ("return [True]", "height 0 is a bool"),
        ("return np.ones((2, 2))", "height 0 is a ndarray"),
        ("return np.full(30_000, 5e-324)", "more heights than the 4096"),
        ("return -np.ones(4)", "height 0 is -1.0"),
        ("return np.zeros(4)", "all heights are zero"),
        ("return []", "there are 0 heights"),
        ("return", "is a return missing?"),
        ("return {'heights': [1.0], 'overlap': 0.38}", "returned a dict"),
        ("return ['1.0']", "height 0 is a str"),
        ("return '0.38'", "returned a str"),
        ("return [1, 0, 0]", "height 0 is 1.5 when"),
    ],
)
def test_a_program_that_returns_no_such_heights_fails_with_the_reason(
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
    np.correlate = lambda *_: np.zeros(1)
    fractions.Fraction = lambda *_: 1
    for module in list(sys.modules.values()):
        if hasattr(module, "_number"):
            module._number = lambda item, index: float(item)
    return [Small(1)] * 7
"""
    evaluation = evaluator.evaluate(one_file(source))
    assert not evaluation.correct or evaluation.results[0].cost == Fraction(1, 2)
    plain = evaluator.evaluate(one_file(source.replace("[Small(1)]", "[1.0]")))
    assert plain.results[0].cost == Fraction(1, 2)
    assert plain.metrics["overlap"] == 0.5

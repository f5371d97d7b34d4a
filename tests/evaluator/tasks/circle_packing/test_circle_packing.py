"""Circle packing: published figures by our judge, every hole shut, and one repair in place of a tolerance."""

import itertools
import math
import runpy
import xml.etree.ElementTree as ET
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator import Infeasible, InvalidAnswer
from evaluator.evaluation import Outcome
from evaluator.task_files import load_task
from evaluator.tasks.circle_packing import make_suites
from evaluator.tasks.circle_packing.adapter import prepare
from evaluator.tasks.circle_packing.judge import draw, judge, read, repair_factor
from tests.evaluator.tasks.circle_packing.slow_circle_packing import slow_verdict

PROGRAMS = Path(__file__).resolve().parents[4] / "programs" / "circle_packing"
TASK = load_task("circle_packing")

Answer = list[list[Any]]


def pack_of(program: str) -> Callable[[int], Any]:
    pack: Callable[[int], Any] = runpy.run_path(str(PROGRAMS / f"{program}.py"))["pack"]
    return pack


def encoded(result: object, n: int) -> Answer:
    return prepare({"n": n})[1](result)


def grid(side: int) -> Answer:
    """side x side equal circles that touch: exact, since the numbers are when side is a power of 2."""
    half = 1 / (2 * side)
    return [[half * (2 * i + 1), half * (2 * j + 1), half] for i in range(side) for j in range(side)]


# -- published figures ------------------------------------------------------------------------------------------------


def test_the_ring_construction_that_others_start_from_has_its_published_value() -> None:
    value = judge({"n": 26}, encoded(pack_of("initial")(26), 26))
    assert f"{float(value):.4f}" == "0.9598"


@pytest.mark.parametrize("n", [9, 20, 24, 25, 28, 30, 32, 40])
def test_the_initial_program_packs_any_number(n: int) -> None:
    assert judge({"n": n}, encoded(pack_of("initial")(n), n)) > Fraction(1, 2)


def test_equal_circles_that_touch_each_other_and_the_sides_are_valid_as_they_are() -> None:
    assert judge({"n": 16}, grid(4)) == 2
    assert judge({"n": 1}, [[0.5, 0.5, 0.5]]) == Fraction(1, 2)


def test_whole_numbers_are_numbers() -> None:
    assert judge({"n": 2}, [[0.5, 0.5, 0.25], [0, 1, 0]]) == Fraction(1, 4)


def test_what_is_listed_is_below_the_proven_bound_and_the_repaired_records_are_the_best() -> None:
    best = {}
    for name in ("n26", "n32"):
        suite = TASK.suite(name)
        values = [known.value for known in suite.best_known]
        best[name] = max(values)
        assert suite.held_out == "holdout"
        assert all(value < float(make_suites.area_bound(int(name[1:]))) for value in values)
    assert best == {"n26": 2.6359830849176, "n32": 2.9395727712063}


# -- holes ------------------------------------------------------------------------------------------------------------


def with_first(*circle: Any) -> Answer:
    return [list(circle), *grid(4)[1:]]


REFUSED = [
    (None, "the answer is None, not a list"),
    ({}, "the answer is an object"),
    ("circles", "the answer is a string"),
    ([], "holds 0 circles; it must hold 16"),
    (grid(4)[1:], "holds 15 circles"),
    ([*grid(4), [0.5, 0.5, 0.0]], "holds 17 circles"),
    ([*grid(4)[1:], [0.5, 0.5]], "circle 15 is a list, not"),
    ([*grid(4)[1:], [0.5, 0.5, 0.1, 9]], "circle 15 is a list, not"),
    ([*grid(4)[1:], None], "circle 15 is None"),
    (with_first(math.nan, 0.1, 0.1), "x of circle 0 is nan, not a finite number"),
    (with_first(0.1, math.inf, 0.1), "y of circle 0 is inf"),
    (with_first(0.1, 0.1, math.nan), "r of circle 0 is nan"),
    (with_first(0.1, 0.1, math.inf), "r of circle 0 is inf"),
    (with_first(0.1, 0.1, True), "r of circle 0 is True"),
    (with_first(False, 0.1, 0.1), "x of circle 0 is False"),
    (with_first(0.1, 0.1, "0.1"), "r of circle 0 is a string"),
    (with_first(0.1, [0.1], 0.1), "y of circle 0 is a list"),
    (with_first(0.1, 0.1, 10**400), "r of circle 0 is a number far out of range"),
    (with_first(0.1, 0.1, -0.1), "the radius of circle 0 is negative"),
    (with_first(0.1, 0.1, -5e-324), "the radius of circle 0 is negative"),
]


@pytest.mark.parametrize(("answer", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_no_packing_is_refused_with_the_reason(answer: object, message: str) -> None:
    with pytest.raises(InvalidAnswer, match=message):
        judge({"n": 16}, answer)


BROKEN = [
    (with_first(-1e-300, 0.1, 0.1), "centre of circle 0 is outside"),
    (with_first(0.1, 1.0000000000000002, 0.0), "centre of circle 0 is outside"),
    (with_first(0.1, 3, 0.1), "centre of circle 0 is outside"),
    (with_first(0.0, 0.5, 0.1), "circle 0 is on the side of the square, and its radius is not 0"),
    (with_first(0.375, 0.125, 0.0), "circles 0 and 4 have the same centre"),
    (with_first(0.125, 0.125, 1e300), "so large that only shrinking them to nothing"),
]


@pytest.mark.parametrize(("answer", "message"), BROKEN, ids=[message for _, message in BROKEN])
def test_what_no_repair_helps_is_infeasible_with_the_reason(answer: object, message: str) -> None:
    with pytest.raises(Infeasible, match=message):
        judge({"n": 16}, answer)


def test_two_points_of_radius_zero_may_coincide() -> None:
    assert judge({"n": 3}, [[0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]) == Fraction(1, 2)


def test_an_overlap_of_a_millionth_gains_nothing() -> None:
    blown_up = [[x, y, r * (1 + 1e-6)] for x, y, r in grid(4)]
    assert 2 - Fraction(1, 10**15) < judge({"n": 16}, blown_up) <= 2


def test_one_blown_up_circle_costs_all_of_them() -> None:
    one = with_first(0.125, 0.125, 0.25)
    assert judge({"n": 16}, one) == Fraction(1, 2) * (2 + Fraction(1, 8))


# -- properties -------------------------------------------------------------------------------------------------------

UNIT = st.one_of(st.floats(0, 1), st.integers(0, 8).map(lambda k: k / 8))
CIRCLES = st.lists(st.tuples(UNIT, UNIT, st.floats(0, 0.4)).map(list), min_size=1, max_size=6)


@given(CIRCLES)
def test_an_independent_slow_judge_agrees(answer: Answer) -> None:
    slow = slow_verdict(len(answer), answer)
    try:
        assert judge({"n": len(answer)}, answer) == slow
    except Infeasible:
        assert slow is Infeasible


@given(CIRCLES)
def test_after_the_repair_nothing_overlaps_and_nothing_larger_would_do(answer: Answer) -> None:
    circles, unit = read(len(answer), answer)
    factor = repair_factor(circles, unit)

    def valid(by: Fraction) -> bool:
        return all(by * c.r <= min(c.x, unit - c.x, c.y, unit - c.y) for c in circles) and all(
            (by * (a.r + b.r)) ** 2 <= (a.x - b.x) ** 2 + (a.y - b.y) ** 2
            for a, b in itertools.combinations(circles, 2)
        )

    assert valid(factor)
    assert factor == 1 or not valid(factor + Fraction(1, 2**128))


@given(st.data())
def test_a_valid_packing_made_invalid_in_any_one_way_is_never_worth_more(data: st.DataObject) -> None:
    answer = [list(circle) for circle in grid(4)]
    circle = data.draw(st.sampled_from(answer))
    how = data.draw(st.sampled_from(["grow", "out", "negative", "shape", "count", "type"]))
    if how == "grow":
        circle[2] += data.draw(st.floats(1e-15, 1e6))
        assert judge({"n": 16}, answer) < 2
        return
    if how == "out":
        circle[data.draw(st.sampled_from([0, 1]))] = data.draw(st.one_of(st.floats(-9, -5e-324), st.floats(1.001, 9)))
    elif how == "negative":
        circle[2] = -data.draw(st.floats(5e-324, 9))
    elif how == "shape":
        circle.append(0.0)
    elif how == "count":
        answer.remove(circle)
    else:
        circle[data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([None, True, "1", [], {}, math.nan, -math.inf])
        )
    with pytest.raises((InvalidAnswer, Infeasible)):
        judge({"n": 16}, answer)


# -- adapter, files, picture ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "result",
    [
        [(0.5, 0.5, 0.25), (0, 1, 0)],
        np.array([[0.5, 0.5, 0.25], [0, 1, 0]]),
        [np.array([0.5, 0.5, 0.25]), (np.float64(0), np.int64(1), np.float32(0))],
        (circle for circle in [(0.5, 0.5, 0.25), (0, 1, 0)]),
    ],
    ids=["tuples", "array", "rows", "generator"],
)
def test_honest_results_are_read(result: object) -> None:
    assert encoded(result, 2) == [[0.5, 0.5, 0.25], [0.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "is a return missing"),
        ("abc", "the packing is a str"),
        ({0: (1, 1, 1)}, "the packing is a dict"),
        (itertools.repeat((0.5, 0.5, 0.1)), "more than 2 circles"),
        ([itertools.repeat(0.5)], "more than three numbers"),
        ([(0.5, 0.5, True)], "holds a bool"),
        ([(0.5, 0.5, np.bool_(True))], "holds a bool"),
        ([(0.5, 0.5, "0.1")], "holds a str"),
        ([(0.5, 0.5, 1j)], "holds a complex"),
        ([(0.5, 0.5, 10**400)], "no number"),
        ([7], "circle 0 is a int"),
    ],
)
def test_an_unreadable_answer_is_described(result: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encoded(result, 2)


@pytest.mark.parametrize("suite", sorted(make_suites.SUITES))
def test_the_files_are_those_of_the_script(suite: str) -> None:
    for kind, text in (("suites", make_suites.suite_text), ("bounds", make_suites.bounds_text)):
        assert (make_suites.FOLDER / kind / f"{suite}.json").read_text() == text(suite)
    for instance in TASK.suite(suite).instances:
        verdict = TASK.judge.judge(instance, encoded(pack_of("initial")(instance.data["n"]), instance.data["n"]))
        assert verdict.outcome is Outcome.OK


def test_the_bound_is_above_the_square_root_of_n_over_pi() -> None:
    for n in range(1, 40):
        assert math.sqrt(n / math.pi) < make_suites.area_bound(n) < math.sqrt(n / math.pi) * 1.001


def test_the_picture_shows_what_is_counted() -> None:
    root = ET.fromstring(draw({"n": 2}, [[0.25, 0.25, 0.5], [0.75, 0.75, 0.25]]))
    circles = [element for element in root.iter() if element.tag.endswith("circle")]
    assert [(c.get("cx"), c.get("cy"), c.get("r")) for c in circles] == [
        ("100.000", "300.000", "100.000"),
        ("300.000", "100.000", "50.000"),
    ]

"""Online bin packing: published figures, what the judge refuses, and the data that ships."""

import copy
import dataclasses
import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from bin_packing_scoring import TASK, answers_of, excess, program
from hypothesis import given
from hypothesis import strategies as st
from slow_bin_packing import slow_bins

from evaluator.evaluation import Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task import Instance
from evaluator.tasks.bin_packing import adapter, make_suites
from evaluator.tasks.bin_packing.judge import converse, draw_instance
from evaluator.tasks.bin_packing.recipes import RECIPES
from evaluator.tasks.suite_files import as_text
from tests.builders import one_file

FOLDER = Path(make_suites.__file__).parent


# -- published figures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "suite", "percent", "bins"),
    [
        ("baselines/best_fit", "or3", 5.37, 212.0),  # published with FunSearch, as the next line but one
        ("baselines/first_fit", "or3", 5.74, 212.75),
        ("baselines/best_fit", "weibull", 3.98, 2067.0),
        pytest.param("baselines/first_fit", "weibull", 4.23, 2071.8, marks=pytest.mark.slow),
    ],
)
def test_the_baselines_reach_the_published_figures(name: str, suite: str, percent: float, bins: float) -> None:
    measured, mean = excess(program(name), TASK.suite(suite))
    assert round(measured, 2) == percent
    assert mean == bins


def test_the_initial_program_is_first_fit() -> None:
    data = TASK.suite("or3").instances[3].data
    assert answers_of(program("initial"), data) == answers_of(program("baselines/first_fit"), data)


def test_the_published_values_stand_in_the_task() -> None:
    assert [known.value for known in TASK.suite("or3").best_known] == [3.11]
    assert [known.value for known in TASK.suite("weibull").best_known] == [0.68]


# -- what the judge refuses --------------------------------------------------------------------------------------------

SMALL = Instance(index=0, data={"capacity": 10, "items": [6, 4, 5, 5, 1]})
GOOD = [-1, 0, -1, 1, -1]


def test_a_valid_answer_costs_the_bins_that_it_opens() -> None:
    assert TASK.judge.judge(SMALL, GOOD).cost == 3
    assert TASK.judge.judge(SMALL, [-1] * 5).cost == 5


@pytest.mark.parametrize(
    ("item", "answer", "outcome", "message"),
    [
        (0, 0, Outcome.INVALID_OUTPUT, "0 is no open bin: there is none yet"),
        (2, 1, Outcome.INVALID_OUTPUT, "1 is no open bin: they are 0 to 0"),  # len(free) is no new bin here: -1 is
        (1, -2, Outcome.INVALID_OUTPUT, "-2 is no open bin"),
        (4, 10**30, Outcome.INVALID_OUTPUT, "a number far out of range is no open bin"),
        (4, 0, Outcome.INFEASIBLE, "bin 0 has room for 0, and the item's size is 1"),  # full
        (2, 0, Outcome.INFEASIBLE, "bin 0 has room for 0, and the item's size is 5"),
        (1, False, Outcome.INVALID_OUTPUT, "the answer is False"),
        (3, True, Outcome.INVALID_OUTPUT, "the answer is True"),
        (1, 0.0, Outcome.INVALID_OUTPUT, "the answer is 0.0"),
        (1, -1.0, Outcome.INVALID_OUTPUT, "the answer is -1.0"),
        (1, None, Outcome.INVALID_OUTPUT, "the answer is None"),
        (1, "0", Outcome.INVALID_OUTPUT, "the answer is a string"),
        (0, GOOD, Outcome.INVALID_OUTPUT, "the answer is a list"),  # all at once
        (1, {"bin": 0}, Outcome.INVALID_OUTPUT, "the answer is an object"),
    ],
)
def test_every_wrong_answer_is_refused_with_the_reason(item: int, answer: Any, outcome: Outcome, message: str) -> None:
    verdict = TASK.judge.judge(SMALL, [*GOOD[:item], answer, *GOOD[item + 1 :]])
    assert verdict.outcome is outcome
    assert verdict.cost is None
    assert message in (verdict.detail or "")


@pytest.mark.parametrize("answers", [[], GOOD[:-1], [*GOOD, -1], None, 3, {"0": -1}])
def test_neither_fewer_answers_nor_more_are_taken(answers: Any) -> None:
    assert TASK.judge.judge(SMALL, answers).cost is None


ANSWER = st.one_of(st.integers(-3, 8), st.sampled_from([None, True, False, 0.0, -1.0, "0", [], {}, 10**40]))


@given(data=st.data())
def test_an_independent_judge_agrees_on_any_answer(data: st.DataObject) -> None:
    items = data.draw(st.lists(st.integers(1, 10), min_size=1, max_size=10))
    instance = {"capacity": 10, "items": items}
    rng = random.Random(data.draw(st.integers(0, 10**6)))
    answers: list[Any] = answers_of(
        lambda item, _, free: rng.choice([-1, *(i for i, left in enumerate(free) if left >= item)]), instance
    )
    for index in data.draw(st.sets(st.integers(0, len(items) - 1), max_size=2)):
        answers[index] = data.draw(ANSWER)
    verdict = TASK.judge.judge(Instance(index=0, data=copy.deepcopy(instance)), answers)
    assert (verdict.outcome if verdict.cost is None else verdict.cost) == slow_bins(instance, answers)


@given(data=st.data())
def test_a_valid_answer_made_invalid_in_one_place_is_never_accepted(data: st.DataObject) -> None:
    items = data.draw(st.lists(st.integers(1, 10), min_size=2, max_size=12))
    answers: list[Any] = answers_of(program("initial"), {"capacity": 10, "items": items})
    at = data.draw(st.integers(0, len(items) - 1))
    opened = answers[:at].count(-1)
    wrong = data.draw(st.sampled_from([opened, opened + 1, -2, -opened - 2, None, True, 0.5, str(at), [0], 10**9]))
    spoilt = [*answers[:at], wrong, *answers[at + 1 :]]
    assert TASK.judge.judge(Instance(index=0, data={"capacity": 10, "items": items}), spoilt).cost is None


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (True, "a bool"),
        (1.0, "float"),
        (None, "is a return missing"),
        ([0], "list"),
        (-2, "-2"),
        (5, "5 is no open bin"),
    ],
)
def test_the_adapter_says_what_it_cannot_read(result: object, message: str) -> None:
    _, encode = adapter.begin({"item": 3, "capacity": 10})({"item": 3})
    with pytest.raises(ValueError, match=message):
        encode(result)


def test_a_program_gets_a_list_of_its_own_and_cannot_enlarge_a_bin() -> None:
    def enlarges(item: int, capacity: int, free: list[int]) -> int:
        free[:] = [capacity] * len(free)
        return 0 if free else -1

    instance = Instance(index=0, data={"capacity": 10, "items": [6, 6]})
    assert TASK.judge.judge(instance, answers_of(enlarges, instance.data)).outcome is Outcome.INFEASIBLE


# -- in the sandbox ----------------------------------------------------------------------------------------------------

HOSTILE = {
    "changes the adapter's state": (
        "import gc\n"
        "def place(item, capacity, free):\n"
        "    for other in gc.get_objects():\n"
        "        if type(other) is list and len(other) == len(free) and other == free:\n"
        "            other[:] = [capacity] * len(other)\n"
        "    return 0 if free else -1\n"
    ),
    "every item in the first bin": "def place(item, capacity, free):\n    return 0 if free else -1\n",
    "a bin that does not exist": "def place(item, capacity, free):\n    return len(free)\n",
    "a bool": "def place(item, capacity, free):\n    return True\n",
    "a float": "def place(item, capacity, free):\n    return -1.0\n",
    "nothing": "def place(item, capacity, free):\n    pass\n",
    "all answers at once": "def place(item, capacity, free):\n    return [-1] + [0] * 499\n",
    "an int of its own": (
        "class Bin(int):\n"
        "    def __index__(self):\n        return 0\n"
        "    def __lt__(self, other):\n        return False\n"
        "def place(item, capacity, free):\n    return Bin(0)\n"
    ),
}
LOOKS_AHEAD = """
import gc
import sys

def place(item, capacity, free):
    frame, places = (sys._getframe(), gc.get_objects()) if len(free) < 3 else (None, [])  # the first items: it is slow
    while frame:
        places += [dict(frame.f_locals), dict(frame.f_globals)]
        frame = frame.f_back
    for held in places:
        for value in held.values() if type(held) is dict else [held]:
            if type(value) in (list, tuple) and len(value) > 450 and all(type(x) is int and 0 < x < 101 for x in value):
                raise ValueError("seen")
    return next((i for i, room in enumerate(free) if room >= item), -1)
"""


REASONS = {
    "changes the adapter's state": "has room for",
    "every item in the first bin": "item 2: bin 0 has room for 39, and the item's size is 67",
    "a bin that does not exist": "0 is no open bin",
    "a bool": "a bool",
    "a float": "a float",
    "nothing": "is a return missing",
    "all answers at once": "a list",
    "an int of its own": "0 is no open bin",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_no_hostile_program_is_correct(name: str) -> None:
    suite = TASK.suite("or3")
    with SandboxedEvaluator(TASK, suite, workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(HOSTILE[name]))
    assert not evaluation.correct
    assert REASONS[name] in (evaluation.results[0].detail or "")
    assert not any(result.cost is not None for result in evaluation.results)


@pytest.mark.parametrize(("source", "seen"), [(LOOKS_AHEAD, False), (f"HELD = [7] * 500\n{LOOKS_AHEAD}", True)])
def test_the_items_to_come_are_nowhere_in_the_programs_process(source: str, seen: bool) -> None:
    suite = dataclasses.replace(TASK.suite("or3"), instances=TASK.suite("or3").instances[:1])
    with SandboxedEvaluator(TASK, suite, workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(source))
    assert evaluation.correct is not seen
    assert ("seen" in (evaluation.results[0].detail or "")) is seen


def test_only_the_size_is_asked_and_only_when_its_turn_has_come() -> None:
    """A program cannot see later items: the same beginning gets the same questions, whatever follows."""
    one, other = [converse({"capacity": 10, "items": [3, 4, *rest]}) for rest in ([5], [9, 9, 9, 9])]
    assert next(one) == next(other) == {"item": 3, "capacity": 10}
    assert one.send(-1) == other.send(-1) == {"item": 4}


# -- the data ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suite", sorted(make_suites.HELD_OUT))
def test_the_script_makes_exactly_the_held_out_suites_that_ship(suite: str) -> None:
    shipped = (FOLDER / "suites" / f"{suite}.json").read_text(encoding="utf-8")
    source = json.loads(shipped)["source"]
    assert as_text(suite, "instances", make_suites.make(suite), source=source) == shipped


@pytest.mark.parametrize("suite", sorted(TASK.suites))
def test_the_bounds_that_ship_are_the_sums_over_the_capacity(suite: str) -> None:
    instances = TASK.suite(suite).instances
    shipped = (FOLDER / "bounds" / f"{suite}.json").read_text(encoding="utf-8")
    assert make_suites.bounds_text([dict(instance.data) for instance in instances]) == shipped
    for instance in instances:
        assert instance.bound is not None and not instance.proven
        assert instance.bound - 1 < sum(instance.data["items"]) / instance.data["capacity"] <= instance.bound


@pytest.mark.parametrize("suite", sorted(TASK.suites))
def test_every_item_is_a_plain_int_that_fits_a_bin(suite: str) -> None:
    for instance in TASK.suite(suite).instances:
        assert all(type(item) is int and 1 <= item <= instance.data["capacity"] for item in instance.data["items"])


def test_the_suites_are_what_their_description_says() -> None:
    shapes = {
        name: {(instance.data["capacity"], len(instance.data["items"])) for instance in suite.instances}
        for name, suite in ((name, TASK.suite(name)) for name in TASK.suites)
    }
    assert shapes["or3"] == {(150, 500)} and shapes["weibull"] == {(100, 5000)}
    assert shapes["or3-holdout"] == {(150, 1000), (120, 1000)}
    assert shapes["weibull-holdout"] == {(100, 10000), (80, 5000), (100, 5000)}
    assert [len(TASK.suite(name).instances) for name in ("or3", "weibull")] == [20, 5]


@pytest.mark.parametrize("suite", sorted(RECIPES))
def test_a_fresh_instance_is_valid_for_the_recipe(suite: str) -> None:
    first, again = [draw_instance(random.Random(5), suite) for _ in range(2)]
    assert first == again
    assert (first["capacity"], len(first["items"])) in {(capacity, count) for _, capacity, count in RECIPES[suite]}
    assert all(1 <= item <= first["capacity"] for item in first["items"])


def test_a_picture_shows_every_item() -> None:
    picture = TASK.judge.draw(SMALL, GOOD)
    assert len(ET.fromstring(picture).findall(".//{*}g/{*}rect")) == 5


def test_describe_says_how_large_an_instance_is() -> None:
    assert TASK.judge.describe(TASK.suite("or3").instances[0]).startswith("500 items, capacity 150, at least ")

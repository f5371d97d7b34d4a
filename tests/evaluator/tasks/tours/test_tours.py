"""Short tours: the judge, the bounds, and where the instances come from."""

import itertools
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evaluator.task_files import load_task
from evaluator.tasks.tours.distance import distance
from evaluator.tasks.tours.judge import length
from evaluator.tasks.tours.make_suites import FOLDER, SUITES, as_text, make
from evaluator.tasks.tours.one_tree import lower_bound

TASK = load_task("tours")
POINT = st.tuples(st.integers(0, 999), st.integers(0, 999))


@given(POINT, POINT)
def test_a_distance_is_the_nearest_whole_number(one: tuple[int, int], other: tuple[int, int]) -> None:
    square = (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2
    found = distance(one, other)
    assert (2 * found - 1) ** 2 <= 4 * square or found == 0
    assert 4 * square < (2 * found + 1) ** 2
    assert found == distance(other, one) == int(math.sqrt(square) + 0.5)


@settings(max_examples=50)
@given(st.lists(POINT, min_size=4, max_size=7))
def test_no_tour_is_shorter_than_the_bound(points: list[tuple[int, int]]) -> None:
    shortest = min(length(points, (0, *rest)) for rest in itertools.permutations(range(1, len(points))))
    assert lower_bound(points, rounds=40) <= shortest


@pytest.mark.parametrize("suite", SUITES)
def test_the_files_are_what_the_script_makes(suite: str) -> None:
    made = (FOLDER / "suites" / f"{suite}.json").read_text(encoding="utf-8")
    assert made == as_text(suite, "instances", make(SUITES[suite]))
    listed = json.loads((FOLDER / "bounds" / f"{suite}.json").read_text(encoding="utf-8"))["bounds"]
    instances = TASK.suite(suite).instances
    assert [entry["lower_bound"] for entry in listed] == [instance.bound for instance in instances]


def test_a_listed_bound_is_proven_again_and_one_that_is_too_high_is_not() -> None:
    (found,) = TASK.verify("points", [7])
    assert found.holds


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tour: tour[:-1], "a list of"),
        (lambda tour: [*tour[:-1], tour[0]], "point 0 is visited more than once"),
        (lambda tour: [*tour[:-1], len(tour)], "whole number from 0 to"),
        (lambda tour: [*tour[:-1], True], "whole number"),
        (lambda tour: [*tour[:-1], float(tour[-1])], "whole number"),
        (lambda tour: None, "a list of"),
    ],
)
def test_what_is_no_tour_is_no_answer(change, says: str) -> None:
    instance = TASK.suite().instances[0]
    tour = list(range(len(instance.data["points"])))
    assert TASK.judge.judge(instance, tour).outcome is Outcome.OK
    verdict = TASK.judge.judge(instance, change(tour))
    assert verdict.outcome is Outcome.INVALID_OUTPUT
    assert says in verdict.detail


@given(st.randoms(use_true_random=False))
def test_a_tour_is_as_long_from_wherever_it_begins_and_either_way(rng) -> None:
    points = TASK.suite().instances[0].data["points"]
    tour = rng.sample(range(len(points)), len(points))
    cut = rng.randrange(len(tour))
    assert length(points, tour) == length(points, tour[cut:] + tour[:cut]) == length(points, tour[::-1])


def test_the_script_reads_nothing_of_this_package() -> None:
    assert "evaluator" not in (Path(TASK.folder) / "evaluate.py").read_text(encoding="utf-8")

"""The suites' data, the script that makes them, and the bounds that ship with them."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from evaluator.evaluation import Outcome, Verdict
from evaluator.task_files import load_task
from evaluator.tasks.placement import make_suites
from evaluator.tasks.placement.exact import fluid_bound
from evaluator.tasks.suite_files import as_text

TASK = load_task("placement")
FOLDER = Path(make_suites.__file__).parent


@pytest.mark.parametrize("suite", sorted(make_suites.SUITES))
def test_the_script_makes_exactly_the_data_that_ships(suite: str) -> None:
    shipped = (FOLDER / "suites" / f"{suite}.json").read_text(encoding="utf-8")
    assert as_text(suite, "instances", make_suites.SUITES[suite]()) == shipped


def test_every_suite_of_the_script_is_a_suite_of_the_task() -> None:
    assert set(TASK.suites) == set(make_suites.SUITES)


def test_adrs_is_the_stream_of_the_published_benchmark() -> None:
    np = pytest.importorskip("numpy")
    np.random.seed(42)
    for instance in TASK.suite("adrs").instances:
        gpu_num = np.random.randint(5, 10)
        assert instance.data["gpu_num"] == gpu_num
        for model in instance.data["models"]:
            expected = [np.random.randint(10, 30), np.random.randint(1, 10), np.random.randint(5, 10)]
            assert model == expected
        assert len(instance.data["models"]) == 2 * gpu_num


@pytest.mark.parametrize("suite", sorted(TASK.suites))
def test_instances_are_plain_integers(suite: str) -> None:
    for instance in TASK.suite(suite).instances:
        numbers = [instance.data["gpu_num"], *(x for model in instance.data["models"] for x in model)]
        assert all(type(number) is int and number > 0 for number in numbers)


def test_the_ceiling_of_adrs_is_the_proven_one() -> None:
    instances = TASK.suite("adrs").instances
    assert all(instance.proven for instance in instances)
    ceiling = TASK.judge.summarise(
        [Verdict(outcome=Outcome.OK, cost=instance.bound) for instance in instances], instances
    )
    assert f"{ceiling.score:.6f}" == "26.255972"
    assert ceiling.metrics["optimality"] == 1.0


@pytest.mark.parametrize("suite", sorted(TASK.suites))
def test_every_shipped_placement_is_valid_and_no_better_than_its_bound(suite: str) -> None:
    for instance in TASK.suite(suite).instances:
        assert instance.bound is not None
        assert instance.bound >= fluid_bound(instance.data)
        cost = TASK.judge.judge(instance, instance.best_answer).cost
        assert cost is not None
        assert cost >= instance.bound
        if instance.proven:
            assert cost == instance.bound


def test_describe_says_how_large_and_how_full_an_instance_is() -> None:
    instance = TASK.suite("adrs").instances[0]
    assert TASK.judge.describe(instance) == "8 GPUs, 16 models, 46 % of the memory"


def test_a_bound_survives_its_file_exactly() -> None:
    entries = json.loads((FOLDER / "bounds" / "adrs.json").read_text(encoding="utf-8"))["bounds"]
    assert [Fraction(entry["lower_bound"]) for entry in entries] == [
        instance.bound for instance in TASK.suite("adrs").instances
    ]


def test_the_suites_are_what_their_description_says() -> None:
    def shapes(name: str) -> list[tuple[int, int, float]]:
        return [
            (
                instance.data["gpu_num"],
                len(instance.data["models"]),
                sum(size for size, _, _ in instance.data["models"]) / (80 * instance.data["gpu_num"]),
            )
            for suite in (name, f"{name}-holdout")
            for instance in TASK.suite(suite).instances
        ]

    assert all(6 <= gpus <= 12 and 0.90 <= full <= 0.9725 for gpus, _, full in shapes("tight"))
    assert all(8 <= gpus <= 16 and full <= 0.8 for gpus, _, full in shapes("skewed"))
    assert all(64 <= gpus <= 256 and 4 <= models / gpus <= 8 for gpus, models, _ in shapes("fleet"))
    assert [len(TASK.suite(name).instances) for name in ("tight", "skewed", "fleet")] == [30, 30, 10]

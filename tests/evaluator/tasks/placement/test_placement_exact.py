"""Exact reasoning: against the enumeration of every placement, and against bounds that were tampered with."""

import dataclasses
import importlib.util
import itertools
import json
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.errors import TaskError
from evaluator.task_files import load_task
from evaluator.tasks.placement import packing, repack
from evaluator.tasks.placement.exact import (
    cost_of,
    fluid_bound,
    packing_below,
    solve,
    strictly_better,
    verify,
)
from tests.examples import part_of_the_examples

needs_ortools = pytest.mark.skipif(
    importlib.util.find_spec("ortools") is None, reason="the extra `bounds` is not installed"
)
TASK = load_task("placement")
ADRS = TASK.suite("adrs").instances
SECONDS = 60.0

model = st.tuples(st.integers(5, 45), st.integers(1, 9), st.integers(1, 9)).map(list)
small = st.builds(
    lambda gpu_num, models: {"gpu_num": gpu_num, "models": models},
    st.integers(1, 3),
    st.lists(model, min_size=1, max_size=6),
)
bounds = st.fractions(Fraction(1, 100), 3, max_denominator=500)


def best_of_all(data: dict[str, Any]) -> Fraction | None:
    costs = []
    for where in itertools.product(range(data["gpu_num"]), repeat=len(data["models"])):
        answer = [[gpu, [i for i, at in enumerate(where) if at == gpu]] for gpu in range(data["gpu_num"])]
        try:
            costs.append(cost_of(data, answer))
        except ValueError:
            continue
    return min(costs, default=None)


@needs_ortools
@given(small)
@part_of_the_examples(2)
def test_solving_finds_the_optimum_that_enumeration_finds(data: dict[str, Any]) -> None:
    best = best_of_all(data)
    if best is not None:
        solution = solve(data, limit_s=SECONDS)
        assert (solution.bound, solution.cost, solution.proven) == (best, best, True)
        assert cost_of(data, solution.answer) == best
        assert fluid_bound(data) <= best


@given(small, bounds)
def test_counting_never_refutes_what_exists(data: dict[str, Any], bound: Fraction) -> None:
    best = best_of_all(data)
    weights, capacity = packing_below(data, bound)
    if best is not None and best < bound:
        assert not packing.overflows(weights, capacity, data["gpu_num"])


@given(small, bounds)
def test_a_gpu_is_below_the_bound_exactly_when_its_weights_fit(data: dict[str, Any], bound: Fraction) -> None:
    weights, capacity = packing_below(data, bound)
    one = {"gpu_num": 1, "models": data["models"]}
    try:
        below = cost_of(one, [[0, list(range(len(weights)))]]) < bound
    except ValueError:
        below = False
    assert (sum(weights) <= capacity) is below


items = st.lists(st.integers(1, 60), min_size=1, max_size=8)


def fits(weights: list[int], capacity: int, bins: int) -> bool:
    def place(item: int, room: list[int]) -> bool:
        if item == len(weights):
            return True
        return any(
            room[at] >= weights[item] and place(item + 1, [*room[:at], room[at] - weights[item], *room[at + 1 :]])
            for at in range(bins)
        )

    return place(0, [capacity] * bins)


@needs_ortools
@given(items, st.integers(20, 100), st.integers(1, 4))
def test_a_packing_is_found_exactly_when_there_is_one(weights: list[int], capacity: int, bins: int) -> None:
    decision = packing.decide(weights, capacity, bins, limit_s=SECONDS)
    assert (decision.bins is not None) is fits(weights, capacity, bins)
    assert decision.impossible is (decision.bins is None)
    if decision.bins is not None:
        assert sorted(item for held in decision.bins for item in held) == list(range(len(weights)))
        assert all(sum(weights[item] for item in held) <= capacity for held in decision.bins)


@needs_ortools
@given(items, st.integers(20, 100), st.integers(1, 4), st.integers(2**60, 2**90))
@part_of_the_examples(2)
def test_numbers_beyond_the_solvers_are_decided_as_well(
    weights: list[int], capacity: int, bins: int, scale: int
) -> None:
    huge = [weight * scale + place for place, weight in enumerate(weights)]
    room = capacity * scale + sum(range(len(weights)))  # what fits to the unit fits still, and nothing else does
    rounded = packing._assign_rounded(huge, room, bins, SECONDS)
    for decision in (packing.decide(huge, room, bins, limit_s=SECONDS), rounded):
        if decision.bins is not None:
            assert all(sum(huge[item] for item in held) <= room for held in decision.bins)
        assert not (decision.bins is not None and not fits(weights, capacity, bins))
        assert not (decision.impossible and fits(weights, capacity, bins))


@needs_ortools
def test_a_search_ends_in_its_time() -> None:
    rng = random.Random(3)
    weights = [rng.randrange(10**9, 2 * 10**9) for _ in range(90)]
    prices = [weight // 1000 for weight in weights]  # all alike in price per weight: no branch is cut
    with pytest.raises(packing._TimeIsUp):
        packing.most_valuable(weights, 45 * 10**9, prices, limit_s=0.05)
    known = packing.Prices(of_items=tuple(prices), of_a_bin=1)
    assert packing.worth_at_least(weights, 45 * 10**9, known, 44_999_000, most=10**9, limit_s=0.05) is None


@given(items, st.lists(st.integers(0, 50), min_size=8, max_size=8), st.integers(10, 150), st.integers(0, 120))
def test_the_contents_of_a_bin_are_priced_exactly(
    weights: list[int], prices: list[int], capacity: int, least: int
) -> None:
    contents = [
        content
        for size in range(1, len(weights) + 1)
        for content in itertools.combinations(range(len(weights)), size)
        if sum(weights[item] for item in content) <= capacity
    ]
    worth = {content: sum(prices[item] for item in content) for content in contents}
    best = packing.most_valuable(weights, capacity, prices[: len(weights)])
    assert sum(prices[item] for item in best) == max(worth.values(), default=0)
    known = packing.Prices(of_items=tuple(prices[: len(weights)]), of_a_bin=1)
    listed = packing.worth_at_least(weights, capacity, known, least, most=1000)
    assert listed is not None
    assert sorted(tuple(sorted(content)) for content in listed) == sorted(
        content for content in contents if worth[content] >= least
    )
    if listed:
        assert packing.worth_at_least(weights, capacity, known, least, most=len(listed) - 1) is None


@given(items, st.integers(20, 200), st.integers(2, 4))
def test_a_repaired_packing_is_a_packing(weights: list[int], capacity: int, bins: int) -> None:
    start = repack.balanced(weights, bins)
    repaired = repack.repair(weights, capacity, start, random.Random(0))
    if repaired is not None:
        assert sorted(item for held in repaired for item in held) == list(range(len(weights)))
        assert all(sum(weights[item] for item in held) <= capacity for held in repaired)


@needs_ortools
def test_the_bounds_of_adrs_are_proven_again() -> None:
    checks = list(TASK.verify("adrs", limit_s=SECONDS))
    assert [check.instance for check in checks] == list(range(50))
    assert all(check.holds for check in checks), [check for check in checks if not check.holds]


@needs_ortools
@pytest.mark.parametrize("suite", sorted(TASK.suites))
def test_the_first_bounds_of_every_suite_are_proven_again(suite: str) -> None:
    instances = TASK.suite(suite).instances
    proven = [instance.index for instance in instances if instance.proven][:2] or [0]
    assert [check.holds for check in TASK.verify(suite, proven, limit_s=SECONDS)] == [True] * len(proven)


@needs_ortools
def test_a_tampered_bound_is_refuted() -> None:
    honest = ADRS[12]
    assert honest.bound is not None
    higher = honest.bound * Fraction(101, 100)
    worse = next(
        answer
        for answer in (strictly_better(honest.data, honest.bound * k, limit_s=SECONDS).answer for k in (2, 3, 4))
        if answer and cost_of(honest.data, answer) > honest.bound
    )
    tampered = {
        "below the bound": dataclasses.replace(honest, bound=higher),
        "is said to be": dataclasses.replace(honest, bound=honest.bound * Fraction(99, 100)),
        "a placement costs": dataclasses.replace(honest, bound=cost_of(honest.data, worse), best_answer=worse),
        "left out": dataclasses.replace(honest, best_answer=[[0, [0]]]),
        "there is no bound": dataclasses.replace(honest, bound=None),
    }
    for words, instance in tampered.items():
        check = verify(instance, limit_s=SECONDS)
        assert check.holds is False
        assert words in check.detail
        assert check.instance == 12


def test_what_time_does_not_settle_is_not_called_proven() -> None:
    largest = TASK.suite("fleet").instances[0]
    assert largest.bound is not None
    cost = TASK.judge.judge(largest, largest.best_answer).cost
    assert cost is not None
    if cost > largest.bound:
        check = verify(dataclasses.replace(largest, bound=cost, proven=True), limit_s=1)
        assert check.holds is not True


def test_a_suite_without_bounds_and_an_instance_that_does_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"no instance 50 \(they go from 0 to 49\)"):
        TASK.verify("adrs", [3, 50])
    with pytest.raises(TaskError, match="has no suite 'adsr'"):
        TASK.verify("adsr")
    task = dataclasses.replace(TASK, exact_file=None)
    with pytest.raises(TaskError, match=r"has no exact\.py"):
        task.verify("adrs")
    adrs = TASK.suite("adrs")
    unbound = tuple(dataclasses.replace(instance, bound=None) for instance in adrs.instances)
    bare = dataclasses.replace(TASK, suites={"adrs": lambda: dataclasses.replace(adrs, instances=unbound)})
    with pytest.raises(TaskError, match="has no bounds"):
        bare.verify("adrs")


def test_without_ortools_there_is_one_sentence_and_exit_code_3() -> None:
    hidden = (
        "import sys; sys.modules['ortools'] = None\n"
        "from evaluator.tasks.placement.prove_bounds import main\n"
        "sys.exit(main(['adrs']))"
    )
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "evolve[bounds]" in done.stderr


def test_the_files_bounds_say_proven_only_of_placements_that_attain_them() -> None:
    for suite in TASK.suites:
        path = TASK.folder / "bounds" / f"{suite}.json"
        for data, entry in zip(
            TASK.suite(suite).instances,
            json.loads(path.read_text(encoding="utf-8"))["bounds"],
            strict=True,
        ):
            attained = cost_of(data.data, entry["answer"]) == Fraction(entry["lower_bound"])
            assert entry["proven"] is attained, (suite, data.index)

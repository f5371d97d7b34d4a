"""The programs and ingredients of transaction scheduling: what baselines reach, and that no ingredient is an answer."""

import functools
import json
import random
import runpy
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.task_files import load_task
from evaluator.tasks.txn_scheduling import adapter, recipes
from evaluator.tasks.txn_scheduling.rule import makespan, starts
from evolve.propose.offline.ingredients import applicable, insert, load_library
from evolve.propose.offline.outline import Outline

TASK = load_task("txn_scheduling")
PROGRAMS = Path(__file__).resolve().parents[4] / "programs" / "txn_scheduling"
LIBRARY = load_library(PROGRAMS / "ingredients")
BAR = 250
PARTNER_DRAWS = 25
Order = list[int]


def total(schedule: Callable[[Any], Order]) -> float:
    """The metric of a program on `published`: our own programs only, without a sandbox."""
    suite = TASK.suite("published")
    verdicts = []
    for instance in suite.instances:
        arguments, encode = adapter.prepare(instance.fresh())
        verdicts.append(TASK.judge.judge(instance, json.loads(json.dumps(encode(schedule(*arguments))))))
    return TASK.judge.summarise(verdicts, suite.instances).metrics["makespan"]


@functools.cache
def _compiled() -> list[types.CodeType]:
    paths = sorted((PROGRAMS / "ingredients").glob("*.py"))
    return [compile(path.read_text(encoding="utf-8"), str(path), "exec") for path in paths]


def everything() -> dict[str, Any]:
    """All definitions of the ingredients side by side; no slot is filled."""
    namespace: dict[str, Any] = {"MOVES": (), "KICKS": (), "RUINS": (), "ACCEPT": None}
    for code in _compiled():
        exec(code, namespace)
    return namespace


def of_role(role: str) -> list[str]:
    return [item.main for item in LIBRARY.operators if item.role == role]


@pytest.mark.parametrize(
    ("name", "expected"), [("initial", 528), ("baselines/given_order", 537), ("baselines/greedy_start", 300)]
)
def test_what_the_programs_reach(name: str, expected: int) -> None:
    assert total(runpy.run_path(str(PROGRAMS / f"{name}.py"))["schedule"]) == expected


@pytest.fixture(scope="module")
def first_edits() -> dict[str, str]:
    """Every program that one ingredient makes of the initial one, with the partners that the proposer may draw for it,
    by the names of what was put in."""
    outline = Outline((PROGRAMS / "initial.py").read_text(encoding="utf-8"), TASK.entry_point)
    found: dict[str, str] = {}
    for item in LIBRARY.operators:
        if applicable(LIBRARY, outline, item):
            for seed in range(PARTNER_DRAWS):
                done = insert(LIBRARY, outline, item, random.Random(seed))
                assert done is not None
                found["+".join(sorted(put.name for put in done[1]))] = done[0]
    return found


LOOPS = {"wander": "neighbourhood", "ruin_and_mend": "ruin", "kick_and_settle": "perturbation"}
PAIRS = ["+".join(sorted([loop, name])) for loop, role in LOOPS.items() for name in of_role(role)]
FIRST_EDITS = [*PAIRS, *of_role("constructor"), "reinsert_each"]
QUICK = {"+".join(sorted([loop, of_role(role)[0]])) for loop, role in LOOPS.items()} | {*FIRST_EDITS[len(PAIRS) :]}


def test_every_operator_of_a_loop_is_among_the_first_edits(first_edits: dict[str, str]) -> None:
    assert sorted(first_edits) == sorted(FIRST_EDITS)


@pytest.mark.parametrize(
    "names", [pytest.param(names, marks=() if names in QUICK else pytest.mark.slow) for names in FIRST_EDITS]
)
def test_no_ingredient_alone_reaches_the_bar(first_edits: dict[str, str], names: str) -> None:
    namespace: dict[str, Any] = {}
    exec(first_edits[names], namespace)
    assert BAR < total(namespace["schedule"]) < 528


@pytest.mark.parametrize("name", [*of_role("neighbourhood"), *of_role("perturbation")])
@pytest.mark.parametrize("count", [1, 2, 3, 100])
def test_moves_and_kicks_keep_every_transaction(name: str, count: int) -> None:
    change, rng = everything()[name], random.Random(1)
    order = list(range(count))
    for _ in range(200):
        changed = change(order, rng)
        assert sorted(changed) == order == list(range(count))


def test_the_costs_that_ingredients_compute_are_the_judges() -> None:
    cost_of, rng = everything()["cost_of"], random.Random(2)
    for instance in TASK.suite("generated").instances:
        data = instance.fresh()
        (transactions,), _ = adapter.prepare(data)
        for _ in range(5):
            order = rng.sample(range(100), 100)
            slots = TASK.judge.judge(instance, order).cost
            assert int(cost_of(transactions, order)) == slots
            assert cost_of(transactions, order, slots - 1) == float("inf")


@pytest.mark.parametrize("name", of_role("ruin"))
@pytest.mark.parametrize("count", [1, 2, 3, 100])
def test_ruins_take_out_different_transactions(name: str, count: int) -> None:
    ruin, rng = everything()[name], random.Random(3)
    order = rng.sample(range(count), count)
    before = order[:]
    for _ in range(200):
        out = ruin(order, rng)
        assert len(out) == len(set(out)) > 0 and set(out) <= set(order)
    assert order == before


def _makespan(transactions: Any, order: Order) -> int:
    return makespan({"transactions": transactions}, order)


def drawn() -> Iterator[tuple[Any, Order, random.Random]]:
    """Small workloads of the recipes with a random order each."""
    rng = random.Random(4)
    for shape in sorted(recipes.SHAPES):
        for _ in range(20):
            transactions = rng.sample(recipes.draw_workload(rng, shape)["transactions"], 15)
            yield transactions, rng.sample(range(15), 15), rng


def test_a_transaction_starts_in_every_place_when_the_judge_says() -> None:
    starts_at = everything()["starts_at"]
    for transactions, order, _ in drawn():
        index, rest = order[0], order[1:]
        found = [starts(transactions, [*rest[:place], index, *rest[place:]])[place] for place in range(15)]
        assert starts_at(transactions, rest, index) == found


def test_no_place_of_a_transaction_is_better_than_the_best_one() -> None:
    namespace = everything()
    for transactions, order, rng in drawn():
        index, rest = order[0], order[1:]
        makespans = [_makespan(transactions, [*rest[:place], index, *rest[place:]]) for place in range(15)]
        changed = namespace["with_best_place"](transactions, namespace["mirrored"](transactions), rest, index, rng)
        assert [other for other in changed if other != index] == rest
        assert _makespan(transactions, changed) == min(makespans)


def test_the_waits_of_pairs_give_the_starts_of_the_judge() -> None:
    for transactions, order, _ in drawn():
        table = everything()["waits"](transactions)
        found = starts(transactions, order)
        for place, index in enumerate(order):
            waited = [found[earlier] + table[order[earlier]][index] for earlier in range(place)]
            assert found[place] == max([1, *waited])


def test_settling_and_mending_never_make_an_order_worse() -> None:
    for transactions, order, _ in drawn():
        namespace = everything()
        for slot, role in (("KICKS", "perturbation"), ("RUINS", "ruin"), ("MOVES", "neighbourhood")):
            namespace[slot] = tuple(namespace[name] for name in of_role(role))
        for loop in of_role("loop"):
            found = namespace[loop](transactions, order)
            assert sorted(found) == list(range(15))
            assert _makespan(transactions, found) <= _makespan(transactions, order)

"""The programs and ingredients of transaction scheduling: what baselines reach, and that no ingredient is an answer."""

import json
import random
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.task_files import load_task
from evaluator.tasks.txn_scheduling import adapter
from evolve.offline.ingredients import load_library

TASK = load_task("txn_scheduling")
PROGRAMS = Path(__file__).resolve().parents[4] / "programs" / "txn_scheduling"
LIBRARY = load_library(PROGRAMS / "ingredients")
BAR = 250
Order = list[int]


def total(schedule: Callable[[Any], Order]) -> float:
    """The metric of a program on `published`: our own programs only, without a sandbox."""
    suite = TASK.suite("published")
    verdicts = []
    for instance in suite.instances:
        arguments, encode = adapter.prepare(instance.fresh())
        verdicts.append(TASK.judge.judge(instance, json.loads(json.dumps(encode(schedule(*arguments))))))
    return TASK.judge.summarise(verdicts, suite.instances).metrics["makespan"]


def everything() -> dict[str, Any]:
    """All definitions of the ingredients side by side; no slot is filled."""
    namespace: dict[str, Any] = {"MOVES": (), "KICKS": (), "ACCEPT": None}
    for path in sorted((PROGRAMS / "ingredients").glob("*.py")):
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)
    return namespace


def of_role(role: str) -> list[str]:
    return [item.main for item in LIBRARY.operators if item.role == role]


@pytest.mark.parametrize(
    ("name", "expected"), [("initial", 528), ("baselines/given_order", 537), ("baselines/greedy_start", 300)]
)
def test_what_the_programs_reach(name: str, expected: int) -> None:
    assert total(runpy.run_path(str(PROGRAMS / f"{name}.py"))["schedule"]) == expected


@pytest.mark.parametrize("name", of_role("constructor"))
def test_no_constructor_alone_reaches_the_bar(name: str) -> None:
    assert BAR < total(everything()[name]) < 537


@pytest.mark.parametrize("move", of_role("neighbourhood"))
def test_no_loop_with_one_move_reaches_the_bar(move: str) -> None:
    namespace = everything()
    namespace["MOVES"] = (namespace[move],)
    initial = runpy.run_path(str(PROGRAMS / "initial.py"))["schedule"]
    assert total(lambda transactions: namespace["wander"](transactions, initial(transactions))) > BAR
    namespace["KICKS"] = (namespace["kick_scatter"],)
    assert total(lambda transactions: namespace["kick_and_settle"](transactions, initial(transactions))) > BAR


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
            makespan = TASK.judge.judge(instance, order).cost
            assert int(cost_of(transactions, order)) == makespan
            assert cost_of(transactions, order, makespan - 1) == float("inf")

"""The ingredients of cloudcast: small, honest about costs, true to trees; and none of them is an answer."""

import ast
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evaluator.places import PROGRAMS
from evaluator.task import Instance
from evaluator.task_files import load_task
from evaluator.tasks.cloudcast import adapter, recipes
from evaluator.tasks.cloudcast.network import network
from evolve.propose.offline.ingredients import MAX_LINES, applicable, insert, load_library
from evolve.propose.offline.outline import Outline

TASK = load_task("cloudcast")
FOLDER = PROGRAMS / "cloudcast" / "ingredients"
LIBRARY = load_library(FOLDER)
FILES = sorted(FOLDER.glob("*.py"))
INITIAL = Outline((PROGRAMS / "cloudcast" / "initial.py").read_text(encoding="utf-8"), TASK.entry_point)
PUBLISHED = TASK.suite("published").instances
REGIONS = list(network().regions)
INITIAL_USD, BAR = Fraction("1045.860405"), 627
"""What the initial program costs, and what no ingredient alone reaches."""


def everything() -> dict[str, Any]:
    """All definitions of the ingredients side by side; no slot is filled."""
    namespace: dict[str, Any] = {"MOVES": (), "KICKS": (), "ACCEPT": None}
    for path in FILES:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)
    return namespace


def of_role(role: str) -> list[str]:
    return [item.main for item in LIBRARY.operators if item.role == role]


def total(source: str) -> Fraction:
    """The metric on `published` of a program that our own ingredients make, without a sandbox."""
    namespace: dict[str, Any] = {}
    exec(compile(source, "candidate.py", "exec"), namespace)
    costs = []
    for instance in PUBLISHED:
        arguments, encode = adapter.prepare(instance.fresh())
        verdict = TASK.judge.judge(instance, encode(namespace["routes"](*arguments)))
        assert verdict.cost is not None, verdict.detail
        costs.append(verdict.cost)
    return sum(costs, Fraction(0))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_is_small_and_names_no_region_price_or_clock(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert not any(region in text for region in REGIONS)
    tree = ast.parse(text)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= {"heapq", "math", "random"}
    numbers = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert sum(isinstance(number, float) for number in numbers) <= 4


def drawn(rng: random.Random) -> dict[str, Any]:
    configuration = recipes.draw_instance(rng, rng.choice(["published", "wide"]))
    return {**configuration, "destinations": configuration["destinations"][:8], "parts": 4, "deadline_s": None}


def random_tree(data: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A tree over the destinations of a configuration and some relays."""
    tree: dict[str, Any] = {data["source"]: None}
    others = [region for region in REGIONS if region not in (data["source"], *data["destinations"])]
    for region in rng.sample([*data["destinations"], *rng.sample(others, 3)], len(data["destinations"]) + 3):
        tree[region] = rng.choice(list(tree))
    return tree


def test_the_costs_that_ingredients_compute_are_the_judges() -> None:
    namespace, rng = everything(), random.Random(3)
    for _ in range(20):
        data = drawn(rng)
        (source, destinations, _, links, job), encode = adapter.prepare(data)
        one, other = (namespace["pruned"](random_tree(data, rng), destinations) for _ in range(2))
        plan = [one, other, one, other]
        routes = namespace["routes_of"](plan, destinations)
        cost = TASK.judge.judge(Instance(index=0, data=data), encode(routes)).cost
        assert namespace["cost_of"](plan, destinations, links, job) == pytest.approx(float(cost or 0), rel=1e-4)
        again = namespace["plan_of"](source, routes)
        assert namespace["routes_of"](again, destinations) == routes
        late = {**job, "deadline_s": 1}
        assert namespace["cost_of"](plan, destinations, links, late) > 100 * namespace["cost_of"](
            plan, destinations, links, job
        )


@pytest.mark.parametrize("name", [*of_role("neighbourhood"), *of_role("perturbation")])
def test_moves_and_kicks_keep_a_tree_with_every_destination(name: str) -> None:
    namespace, rng = everything(), random.Random(5)
    data = drawn(rng)
    (source, destinations, _, links, _), _ = adapter.prepare(data)
    tree = random_tree(data, rng)
    changed_once = False
    for _ in range(100):
        before = dict(tree)
        changed = namespace[name](tree, destinations, links, REGIONS, rng)
        assert tree == before
        assert changed[source] is None
        assert set(destinations) <= set(changed)
        for region in changed:  # ends only where there is no cycle
            assert namespace["path_to"](changed, region)[0] == source
        small = namespace["pruned"](changed, destinations)
        assert namespace["relays_of"](small, destinations) == [
            region for region in namespace["relays_of"](changed, destinations) if region in small
        ]
        changed_once |= changed != tree
        tree = random_tree(data, rng)
    assert changed_once


ALONE = [item.main for item in LIBRARY.operators if applicable(LIBRARY, INITIAL, item)]
QUICK = {"grow_by_price", "move_region", "kick_relays"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in ALONE]
)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 8))])
def test_no_ingredient_alone_does_harm_or_reaches_the_bar(name: str, seed: int) -> None:
    ingredient = LIBRARY.of(name)
    assert ingredient is not None
    done = insert(LIBRARY, INITIAL, ingredient, random.Random(seed))
    assert done is not None
    assert BAR < total(done[0]) <= INITIAL_USD

"""Judging routes: exact US$, from the task's own table of links, believing nothing that the candidate says.

An instance is `{"source", "destinations", "parts", "gb", "ingress", "egress", "vms", "deadline_s"}`, perhaps with
"names", which are nothing to the judge. An answer is `{destination: [[region, ...] per part]}`: regions and nothing
else, so that no price and no flow can come from a program. `rule.py` has the rule.
"""

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from evaluator import Infeasible, InvalidAnswer
from evaluator.evaluation import Verdict
from evaluator.tasks.cloudcast import recipes
from evaluator.tasks.cloudcast.names import other_names
from evaluator.tasks.cloudcast.network import network
from evaluator.tasks.cloudcast.picture import picture
from evaluator.tasks.cloudcast.rule import Bill, bill

_SHOWN = 60


def judge(instance: Mapping[str, Any], answer: object) -> Fraction:
    """The exact US$ of one answer. Raises InvalidAnswer or Infeasible for any JSON value that is no such routes."""
    return _billed(instance, answer).usd


def summarise(verdicts: Sequence[Verdict], instances: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """`usd`: the sum over the configurations of a suite, as the benchmark scores; nothing where one has no routes."""
    costs = [verdict.cost for verdict in verdicts if verdict.cost is not None]
    return {"usd": float(sum(costs, Fraction(0)))} if len(costs) == len(verdicts) else {}


def describe(instance: Mapping[str, Any]) -> str:
    """What a configuration is like: `300 GB in 10 parts from aws:ap-northeast-1 to 6 regions`."""
    deadline = "" if instance["deadline_s"] is None else f" within {instance['deadline_s']} s"
    count = len(instance["destinations"])
    return f"{instance['gb']} GB in {instance['parts']} parts from {instance['source']} to {count} regions{deadline}"


def renamed(data: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """The configuration with other names of regions, of the same clouds and in the same alphabetical order."""
    return {**data, "names": other_names(rng)}


def permuted(data: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """The configuration with its destinations in another order."""
    return {**data, "destinations": rng.sample(data["destinations"], len(data["destinations"]))}


def draw_instance(rng: random.Random, suite: str) -> dict[str, Any]:
    """A new configuration of a suite's recipe."""
    return recipes.draw_instance(rng, suite)


def draw(instance: Mapping[str, Any], answer: Any) -> str:
    """The regions and links that are used, as SVG. Raises as `judge` does."""
    return picture(instance, _billed(instance, answer))


def _billed(instance: Mapping[str, Any], answer: object) -> Bill:
    destinations = instance["destinations"]
    if type(answer) is not dict:
        raise InvalidAnswer(
            f"the answer is {_shown(answer)}, not {{destination: [path of part 0, path of part 1, ...]}}"
        )
    for region in answer:
        if region not in destinations:
            raise InvalidAnswer(f"there are paths to {_shown(region)}, which is no destination")
    for destination in destinations:
        if destination not in answer:
            raise InvalidAnswer(f"there are no paths to {destination}")
        paths = answer[destination]
        if type(paths) is not list:
            raise InvalidAnswer(f"the paths to {destination} are {_shown(paths)}, not a list with a path for each part")
        if len(paths) != instance["parts"]:
            raise InvalidAnswer(
                f"there are {len(paths)} paths to {destination}; each of {instance['parts']} parts needs one"
            )
        for part, path in enumerate(paths):
            _check_path(instance["source"], destination, part, path)
    billed = bill(instance, answer)
    deadline = instance["deadline_s"]
    if deadline is not None and billed.seconds > deadline:
        raise Infeasible(f"the routes take {float(billed.seconds):.2f} s, and the deadline is {deadline} s")
    return billed


def _check_path(source: str, destination: str, part: int, path: object) -> None:
    """Raises InvalidAnswer unless `path` leads from the source to the destination, and to no region twice."""
    where, net = f"the path of part {part} to {destination}", network()
    if type(path) is not list:
        raise InvalidAnswer(f"{where} is {_shown(path)}, not a list of regions")
    for region in path:
        if type(region) is not str:
            raise InvalidAnswer(f"{where} holds {_shown(region)}; a region is a name")
        if region not in net.regions:
            raise InvalidAnswer(f"{where} holds {_shown(region)}, and there is no such region")
    if not path or path[0] != source:
        raise InvalidAnswer(f"{where} begins at {path[0] if path else 'no region'}, not at the source {source}")
    if path[-1] != destination:
        raise InvalidAnswer(f"{where} ends at {path[-1]}")
    for link in pairwise(path):
        if link not in net.prices:
            raise InvalidAnswer(f"{where} uses a link from {link[0]} to {link[1]}, and there is none")
    if len(set(path)) < len(path):
        twice = next(region for region in path if path.count(region) > 1)
        raise Infeasible(f"{where} has a cycle: it visits {twice} more than once")


def _shown(value: object) -> str:
    """A short name for an untrusted value. Long strings are cut, and containers named by their type only."""
    if type(value) is str:
        return repr(value[:_SHOWN])
    if type(value) is int:
        return str(value) if abs(value) < 10**12 else "a number far out of range"
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    names = {"list": "a list", "dict": "an object"}
    return names.get(type(value).__name__, "no JSON value")

"""The recipes of configurations on the published network: a source, destinations, and how much to send.

Half of the `wide` ones have a deadline. It lies between the time of a fast tree, so that it can be met, and that of a
cheap one, which it rules out. Both trees grow by the destination that is nearest to what is reached already: by the
seconds per gigabit of one VM, or by price.
"""

import heapq
import math
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from evaluator.tasks.cloudcast.network import network, provider
from evaluator.tasks.cloudcast.rule import Link, bill

CLOUDS: Final = ("aws", "azure", "gcp")
_HELD_OUT: Final = "-holdout"
_LIMITS: Final = {
    "ingress": {"aws": 10, "gcp": 16, "azure": 16},
    "egress": {"aws": 5, "gcp": 7, "azure": 16},
    "vms": 2,
}
"""Gbit/s of one VM by cloud, and VMs per region: the same in all published configurations."""
_VOLUMES: Final = (50, 100, 150, 200, 400, 600, 800, 1200)
_TREES_DRAWN: Final = 50


def published(rng: random.Random, kind: str | None = None) -> dict[str, Any]:
    """As the published ones: 300 GB in 10 parts to 6 regions of one cloud, or to 6 or 7 of any (`inter`)."""
    kind = kind or rng.choice((*CLOUDS, "inter"))
    regions = [region for region in network().regions if kind in ("inter", provider(region))]
    source, *destinations = rng.sample(regions, rng.randint(7, 8) if kind == "inter" else 7)
    return _configuration(source, destinations, gb=300, parts=10)


def wide(rng: random.Random, *, hurried: bool | None = None) -> dict[str, Any]:
    """10 to 25 destinations in any cloud, 50 to 1200 GB in 4 to 20 parts; `hurried`: with a deadline (None: either)."""
    hurried = rng.random() < 0.5 if hurried is None else hurried
    for _ in range(_TREES_DRAWN):
        source, *destinations = rng.sample(list(network().regions), rng.randint(10, 25) + 1)
        configuration = _configuration(source, destinations, gb=rng.choice(_VOLUMES), parts=rng.randint(4, 20))
        if not hurried:
            return configuration
        fast, cheap = (seconds_of_tree(configuration, weights) for weights in _weights())
        deadline = math.ceil(fast + (cheap - fast) * Fraction(rng.randint(20, 60), 100))
        if deadline < cheap:
            return configuration | {"deadline_s": deadline}
    raise AssertionError(f"in {_TREES_DRAWN} configurations the cheap tree is the fast one")


RECIPES: Final[dict[str, Callable[[random.Random], dict[str, Any]]]] = {"published": published, "wide": wide}
"""The recipe of each suite, by its name."""


def draw_instance(rng: random.Random, suite: str) -> dict[str, Any]:
    """A new configuration of a suite's recipe."""
    return RECIPES[suite.removesuffix(_HELD_OUT)](rng)


def _configuration(source: str, destinations: Sequence[str], *, gb: int, parts: int) -> dict[str, Any]:
    return {
        "source": source,
        "destinations": list(destinations),
        "parts": parts,
        "gb": gb,
        **_LIMITS,
        "deadline_s": None,
    }


def _weights() -> tuple[Mapping[Link, float], Mapping[Link, float]]:
    """The weights of a link in the fast tree, and in the cheap one."""
    net = network()
    return (
        {link: 1 / float(gbit) for link, gbit in net.speeds.items()},
        {link: float(usd) for link, usd in net.prices.items()},
    )


def seconds_of_tree(configuration: Mapping[str, Any], weights: Mapping[Link, float]) -> Fraction:
    """The time of sending all parts along the tree that `grown_tree` makes."""
    paths = grown_tree(configuration["source"], configuration["destinations"], weights)
    routes = {destination: [path] * configuration["parts"] for destination, path in paths.items()}
    return bill(configuration, routes).seconds


def grown_tree(source: str, destinations: Sequence[str], weights: Mapping[Link, float]) -> dict[str, list[str]]:
    """The path to each destination in a tree that grows by the nearest missing destination."""
    paths = {source: [source]}
    missing = set(destinations)
    while missing:
        for region in _nearest(paths, missing, weights):
            before = paths[region[0]]
            paths[region[1]] = [*before, region[1]]
            missing.discard(region[1])
    return {destination: paths[destination] for destination in destinations}


def _nearest(paths: Mapping[str, Sequence[str]], missing: set[str], weights: Mapping[Link, float]) -> list[Link]:
    """The links, in order, from what is reached to the nearest missing destination; the first name of equals."""
    regions = network().regions
    distance = dict.fromkeys(paths, 0.0)
    before: dict[str, str] = {}
    waiting = [(0.0, region) for region in sorted(paths)]
    done = set[str]()
    while True:
        _, region = heapq.heappop(waiting)
        if region in done:
            continue
        done.add(region)
        if region in missing:
            break
        for target in regions:
            if target in paths or target in done:
                continue
            length = distance[region] + weights[region, target]
            if target not in distance or length < distance[target]:
                distance[target], before[target] = length, region
                heapq.heappush(waiting, (length, target))
    links = []
    while region in before:
        links.append((before[region], region))
        region = before[region]
    return links[::-1]

"""What routes cost: the rule of the published benchmark, in exact rational numbers.

The links used are the union over all destinations and parts. A link's flow is first that of all VMs of its source. Then
for each region, in the order in which the links are first used (destinations in order, parts in order, paths from their
beginning): if the flows into it sum to more than its VMs may take in, each of them is cut to an equal share; the same
for the flows out of it. The time is that of the slowest link, in seconds with two decimals. US$ are paid per GB for
each part on each link, and per second for the VMs of every region used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

from evaluator.tasks.cloudcast.network import network, provider

Link = tuple[str, str]
Routes = Mapping[str, Sequence[Sequence[str]]]
"""The path of each part, by destination."""

USD_PER_VM_SECOND: Final = Fraction("0.54") / 3600
_BITS: Final = 8
_CENTISECONDS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What routes cost: US$ for `egress` and `instances`, and the `seconds` that they take. `loads` are the numbers of
    parts on each link."""

    egress: Fraction
    instances: Fraction
    seconds: Fraction
    regions: tuple[str, ...]
    loads: dict[Link, int]

    @property
    def usd(self) -> Fraction:
        """The whole bill."""
        return self.egress + self.instances


def bill(instance: Mapping[str, Any], routes: Routes) -> Bill:
    """The bill of routes that are valid: a path for each part to each destination."""
    net, parts_on = network(), _parts_on(instance, routes)
    part_gb = Fraction(instance["gb"], instance["parts"])
    regions = tuple(dict.fromkeys(region for link in parts_on for region in link))
    loads = {link: len(parts) for link, parts in parts_on.items()}
    flows = _flows(instance, list(loads), regions)
    seconds = round(max(load * part_gb * _BITS / flows[link] for link, load in loads.items()), _CENTISECONDS)
    return Bill(
        egress=sum((load * part_gb * net.prices[link] for link, load in loads.items()), Fraction(0)),
        instances=len(regions) * instance["vms"] * USD_PER_VM_SECOND * seconds,
        seconds=seconds,
        regions=regions,
        loads=loads,
    )


def _parts_on(instance: Mapping[str, Any], routes: Routes) -> dict[Link, set[int]]:
    """The parts on each link, in the order in which links are first used."""
    parts_on: dict[Link, set[int]] = {}
    for destination in instance["destinations"]:
        for part, path in enumerate(routes[destination]):
            for link in pairwise(path):
                parts_on.setdefault(link, set()).add(part)
    return parts_on


def _flows(instance: Mapping[str, Any], links: Sequence[Link], regions: Sequence[str]) -> dict[Link, Fraction]:
    """Gbit/s on each link after the limits of all regions."""
    vms, speeds = instance["vms"], network().speeds
    flows = {link: vms * speeds[link] for link in links}
    entering: dict[str, list[Link]] = {region: [] for region in regions}
    leaving: dict[str, list[Link]] = {region: [] for region in regions}
    for link in links:
        leaving[link[0]].append(link)
        entering[link[1]].append(link)
    for region in regions:
        for its_links, limits in ((entering, "ingress"), (leaving, "egress")):
            limit = vms * instance[limits][provider(region)]
            if sum(flows[link] for link in its_links[region]) > limit:
                share = Fraction(limit, len(its_links[region]))
                for link in its_links[region]:
                    flows[link] = min(flows[link], share)
    return flows

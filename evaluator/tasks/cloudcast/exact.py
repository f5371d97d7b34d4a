"""Lower bounds on the US$ of a configuration, exact.

*Time.* All parts leave the source and enter each destination. Their VMs let no more through than the limits of their
cloud say, so no routes take less than `least_seconds`.

*Money.* The links that one part uses hold a tree from the source to all destinations. Each link of it costs its price
for the part, and each region of it is paid for at least the least time. Averaged over the parts, no routes cost less
than the cheapest tree for which a link costs its price for the whole volume + the region that it enters, and the source
costs its own VMs. The cost of that tree is exact for few destinations (`cheapest_arborescence`), and bounded from below
by weights of cuts for more (`dual_ascent`).
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from evaluator.task import BoundCheck, Instance
from evaluator.tasks.cloudcast.network import UNITS_PER_USD, network, provider
from evaluator.tasks.cloudcast.rule import USD_PER_VM_SECOND
from evaluator.tasks.cloudcast.steiner import MOST_TERMINALS, cheapest_arborescence, dual_ascent

_UNIT: Final = Fraction(1, 10**7)
"""All costs of trees are whole numbers of this many US$."""


def least_seconds(instance: Mapping[str, Any]) -> Fraction:
    """The time that no routes are faster than."""
    slowest = min(
        instance["egress"][provider(instance["source"])],
        *(instance["ingress"][provider(destination)] for destination in instance["destinations"]),
    )
    return round(Fraction(8 * instance["gb"], instance["vms"] * slowest), 2)


def is_exact(instance: Mapping[str, Any]) -> bool:
    """Whether the cheapest tree itself is found, and not only bounded."""
    return len(instance["destinations"]) <= MOST_TERMINALS


def lower_bound(instance: Mapping[str, Any]) -> Fraction:
    """The US$ that no routes are below."""
    net = network()
    per_region = int(instance["vms"] * USD_PER_VM_SECOND * least_seconds(instance) / _UNIT)  # rounded down
    per_price = int(instance["gb"] / _UNIT / UNITS_PER_USD)
    costs = [
        [0 if a == b else price * per_price + per_region for b, price in enumerate(row)]
        for a, row in enumerate(net.whole_prices())
    ]
    proven = cheapest_arborescence if is_exact(instance) else dual_ascent
    source, *terminals = (net.regions[region] for region in (instance["source"], *instance["destinations"]))
    return (proven(costs, source, terminals) + per_region) * _UNIT


def verify(instance: Instance, *, limit_s: float) -> BoundCheck:
    """Whether the listed bound is at most the one that trees prove."""
    if instance.bound is None:
        return BoundCheck(instance=instance.index, holds=False, detail="there is no bound")
    proven = lower_bound(instance.data)
    how = "the cheapest tree costs" if is_exact(instance.data) else "cuts prove that no tree costs less than"
    detail = f"{how} US$ {float(proven):.6f}, VMs for the least time included; the bound listed is {instance.bound}"
    return BoundCheck(instance=instance.index, holds=instance.bound <= proven, detail=detail)

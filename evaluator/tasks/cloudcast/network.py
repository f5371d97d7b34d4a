"""The regions and links of the task, as exact numbers of the published decimals."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final

from evaluator.tasks.cloudcast.adapter import table

UNITS_PER_USD: Final = 10_000
"""Every price is a whole number of these per GB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """All regions, numbered in the order of the table. `prices` are US$ per GB, `speeds` Gbit/s of one VM, of every
    link."""

    regions: dict[str, int]
    prices: dict[tuple[str, str], Fraction]
    speeds: dict[tuple[str, str], Fraction]

    def whole_prices(self) -> list[list[int]]:
        """Prices by the regions' numbers, in units of 1 / UNITS_PER_USD; 0 from a region to itself."""
        return [[0 if a == b else int(self.prices[a, b] * UNITS_PER_USD) for b in self.regions] for a in self.regions]


@cache
def network() -> Network:
    """The network, read once."""
    regions, links = table()
    return Network(
        regions={region: number for number, region in enumerate(regions)},
        prices={link: Fraction(usd) for link, (usd, _) in links.items()},
        speeds={link: Fraction(bits) / 10**9 for link, (_, bits) in links.items()},
    )


def provider(region: str) -> str:
    """The cloud of a region: `aws`, `azure` or `gcp`."""
    return region.partition(":")[0]

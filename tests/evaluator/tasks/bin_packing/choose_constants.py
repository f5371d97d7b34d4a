"""How the constants of the ingredients of bin packing were chosen.

Usage: python -m tests.evaluator.tasks.bin_packing.choose_constants

No shipped suite takes part, held-out ones included. A price is 1, and so is a factor; a count is 10. A share of the
capacity is a number of tenths, up to half. Chosen are those for which the price, added to that of the room itself (best
fit), has the least mean excess over instances drawn here, from five distributions that no shipped suite has.
"""

import itertools
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from evaluator.tasks.bin_packing.judge import least

INGREDIENTS = Path(__file__).resolve().parents[4] / "programs" / "bin_packing" / "ingredients"
SHARES = {
    "price_little_room": ("LITTLE_ROOM",),
    "price_middling_room": ("SLIVER", "USEFUL_ROOM"),
    "price_hump": ("WORST_ROOM", "HUMP_WIDTH"),
}
"""The constants that are shares of the capacity, of each price that has one."""

TENTHS = (0.1, 0.2, 0.3, 0.4, 0.5)
SEED, ITEMS, DRAWN = 500, 1000, 2
"""The generator's seed, how many items an instance has, and how many instances a distribution gives."""

FAMILIES: tuple[tuple[Callable[[random.Random], float], int], ...] = (
    (lambda rng: rng.triangular(0.1, 0.75, 0.3), 130),
    (lambda rng: rng.triangular(0.05, 0.6, 0.5), 110),
    (lambda rng: rng.gauss(rng.choice((0.15, 0.35, 0.6)), 0.05), 130),
    (lambda rng: rng.betavariate(4, 5), 90),
    (lambda rng: rng.expovariate(4), 90),
)
"""How the share of the capacity that an item takes is drawn, and the capacity."""


def instances() -> list[dict[str, Any]]:
    """The instances that constants are chosen on."""
    rng = random.Random(SEED)
    return [
        {"capacity": capacity, "items": [min(capacity, max(1, round(draw(rng) * capacity))) for _ in range(ITEMS)]}
        for draw, capacity in FAMILIES
        for _ in range(DRAWN)
    ]


def excess(price: str, constants: Mapping[str, float], drawn: list[dict[str, Any]]) -> Fraction:
    """The mean excess of a price with these constants, and the price of the room."""
    names: dict[str, Any] = {}
    for ingredient in ("cheapest_room", "price_room", price):
        exec((INGREDIENTS / f"{ingredient}.py").read_text(encoding="utf-8"), names)
    names |= {**constants, "PRICES": (names["price_room"], names[price])}
    total = Fraction(0)
    for instance in drawn:
        free: list[int] = []
        for item in instance["items"]:
            chosen = names["cheapest_room"](-1, item, instance["capacity"], free)
            if chosen == -1:
                free.append(instance["capacity"])
            free[chosen] -= item
        total += Fraction(len(free), least(instance)) - 1
    return total / len(drawn)


def chosen(price: str, drawn: list[dict[str, Any]]) -> dict[str, float]:
    """The tenths with the least excess, the smaller among equals. A lower limit lies below its upper one."""
    names = SHARES[price]
    tried = [dict(zip(names, values, strict=True)) for values in itertools.product(TENTHS, repeat=len(names))]
    fitting = [
        constants for constants in tried if "SLIVER" not in constants or constants["SLIVER"] < constants["USEFUL_ROOM"]
    ]
    return min(fitting, key=lambda constants: excess(price, constants, drawn))


def main() -> None:
    """Choose and print."""
    drawn = instances()
    for price in SHARES:
        constants = chosen(price, drawn)
        print(f"{price}: {constants}, {float(100 * excess(price, constants, drawn)):.3f} %")


if __name__ == "__main__":
    main()

"""An independent judge of routes: the rule as the task's text describes it, in lists that are searched from end to end.

It reads the table by itself, counts money in hundredths of a cent, and returns None for whatever is no answer.
"""

from fractions import Fraction
from typing import Any

from evaluator.tasks.cloudcast.adapter import TABLE

ROWS = [line.split(" ") for line in TABLE.split("\n") if line]
NAMES = [row[0] for row in ROWS]


def slow_link(a: str, b: str) -> tuple[int, Fraction]:
    """(Hundredths of a cent per GB, Gbit/s of one VM)."""
    others = [name for name in NAMES if name != a]
    usd, bits = ROWS[NAMES.index(a)][1 + others.index(b)].split(":")
    whole, _, rest = bits.partition(".")
    cents = Fraction(usd) * 10_000
    assert cents.denominator == 1
    return cents.numerator, Fraction(int(whole + rest), 10 ** (9 + len(rest)))


def slow_is_answer(instance: Any, answer: Any) -> bool:
    if not isinstance(answer, dict) or sorted(answer) != sorted(instance["destinations"]):
        return False
    for destination, paths in answer.items():
        if not isinstance(paths, list) or len(paths) != instance["parts"]:
            return False
        for path in paths:
            if not isinstance(path, list) or any(not isinstance(name, str) or name not in NAMES for name in path):
                return False
            if path[:1] != [instance["source"]] or path[-1:] != [destination] or sorted(set(path)) != sorted(path):
                return False
    return True


def slow_usd(instance: Any, answer: Any) -> Fraction | None:
    """The US$ of any JSON value; None for one that is refused."""
    if not slow_is_answer(instance, answer):
        return None
    links: list[tuple[str, str]] = []
    carried: list[list[int]] = []
    for destination in instance["destinations"]:
        for part in range(instance["parts"]):
            path = answer[destination][part]
            for place in range(1, len(path)):
                link = (path[place - 1], path[place])
                if link not in links:
                    links.append(link)
                    carried.append([])
                if part not in carried[links.index(link)]:
                    carried[links.index(link)].append(part)
    regions, flows = slow_flows(instance, links)
    size = Fraction(instance["gb"]) / instance["parts"]
    slowest = max(len(parts) * size * 8 / flow for parts, flow in zip(carried, flows, strict=True))
    hundredths = slow_rounded(slowest * 100)
    if instance["deadline_s"] is not None and hundredths > 100 * instance["deadline_s"]:
        return None
    money = sum(len(parts) * size * slow_link(a, b)[0] for parts, (a, b) in zip(carried, links, strict=True))
    vm_hours = Fraction(len(regions) * instance["vms"] * hundredths, 100 * 3600)
    return Fraction(money, 10_000) + vm_hours * Fraction(54, 100)


def slow_flows(instance: Any, links: list[tuple[str, str]]) -> tuple[list[str], list[Fraction]]:
    """The regions that are used, and Gbit/s on each link after the limits of all of them."""
    regions: list[str] = []
    for link in links:
        regions += [end for end in link if end not in regions]
    flows = [instance["vms"] * slow_link(a, b)[1] for a, b in links]
    for region in regions:
        for end, limits in ((1, instance["ingress"]), (0, instance["egress"])):
            limit = instance["vms"] * limits[region.split(":")[0]]
            touching = [number for number, link in enumerate(links) if link[end] == region]
            if sum([flows[number] for number in touching], Fraction(0)) > limit:
                for number in touching:
                    flows[number] = min(flows[number], Fraction(limit) / len(touching))
    return regions, flows


def slow_rounded(value: Fraction) -> int:
    """To the nearest whole number, a half to the even one."""
    below = value.numerator // value.denominator
    rest = value - below
    return below + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1))

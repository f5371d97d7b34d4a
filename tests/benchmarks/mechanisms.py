"""What the mechanisms are worth that earlier runs on `placement` recommended and never tried: each with and without.

    PYTHONPATH=. python tests/benchmarks/mechanisms.py [--draws 5] [--orders 5] [--only MECHANISM ...] [--write]

A program of `programs/placement/families/` is run with the mechanism and with the constant changed that turns it off,
on fresh instances of the recipes: each draw has other instances, and another seed in the program; each order has the
instances of the first draw with their models shuffled, and nothing else. In this process, without a sandbox: they are
ours. `--write` puts the table into programs/README.md.
"""

import argparse
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median
from typing import Any, Final

from evaluator import Infeasible
from evaluator.tasks.placement import adapter, judge

ROOT: Final = Path(__file__).resolve().parents[2]
FAMILIES: Final = ROOT / "programs" / "placement" / "families"
PAGE: Final = ROOT / "programs" / "README.md"
BEGIN: Final = "<!-- mechanisms: python tests/benchmarks/mechanisms.py --write -->\n"
END: Final = "<!-- mechanisms end -->"
SUITES: Final = {"adrs": 10, "tight": 6, "skewed": 6}
"""How many fresh instances of each recipe a draw has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A program, and the constants that it has with the mechanism and without."""

    name: str
    program: str
    on: Mapping[str, str]
    off: Mapping[str, str]


MECHANISMS: Final = (
    Mechanism(
        name="targeted perturbation: kicks from the bottleneck to the least pressed GPU",
        program="iterated_search",
        on={"TARGETED": "1.0", "KICKS": "60"},
        off={"TARGETED": "0.0", "KICKS": "60"},
    ),
    Mechanism(
        name="burst kicks of 3 to 5 models instead of one",
        program="iterated_search",
        on={"BURST": "(3, 5)", "KICKS": "60"},
        off={"BURST": "(1, 1)", "KICKS": "60"},
    ),
    Mechanism(
        name="2-2 swaps in iterated search",
        program="iterated_search",
        on={"KICKS": "60"},
        off={"TWO_TWO": "False", "KICKS": "60"},
    ),
    Mechanism(name="2-2 swaps in one descent", program="bottleneck_descent", on={}, off={"TWO_TWO": "False"}),
    Mechanism(
        name="randomised multi-start: 50 noisy packings instead of one without noise",
        program="linearised_starts",
        on={"STARTS": "50"},
        off={"STARTS": "50", "NOISE": "(0.0, 0.0)"},
    ),
    Mechanism(
        name="tabu: no return to a GPU for 7 to 14 steps",
        program="tabu_search",
        on={"STEPS": "500"},
        off={"TENURE": "0", "STEPS": "500"},
    ),
    Mechanism(
        name="steepest descent instead of the first exchange that helps",
        program="bottleneck_descent",
        on={"TIES": '"peak"'},
        off={"STEEPEST": "False"},
    ),
    Mechanism(
        name="best fit and first fit",
        program="packing_portfolio",
        on={"WHEELS": "0"},
        off={"WHEELS": "0", "FITS": '("first",)'},
    ),
    Mechanism(
        name="density keys and weight, size and load",
        program="packing_portfolio",
        on={"WHEELS": "0"},
        off={"WHEELS": "0", "KEYS": '("weight", "size", "load")'},
    ),
    Mechanism(
        name="variance ties instead of the lowest peak of the two GPUs",
        program="bottleneck_descent",
        on={},
        off={"TIES": '"peak"'},
    ),
    Mechanism(
        name="vector of pressures (the four most pressed GPUs) instead of the bottleneck alone",
        program="neighbourhood_descent",
        on={"SHAKES": "10"},
        off={"SHAKES": "10", "DEPTH": "1"},
    ),
)


def changed(source: str, constants: Mapping[str, str]) -> str:
    """The program with other constants. Raises ValueError for one that it has not."""
    for name, value in constants.items():
        source, count = re.subn(rf"^{name} = [^#\n]*", f"{name} = {value}  ", source, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"the program has no constant {name}")
    return source


def entry_of(source: str) -> Callable[[int, list[Any]], Any]:
    """The entry point of a program's source."""
    names: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(source, "<candidate>", "exec"), names)
    entry: Callable[[int, list[Any]], Any] = names["compute_model_placement"]
    return entry


def costs(source: str, instances: Sequence[Mapping[str, Any]], seed: int) -> list[float]:
    """The cost of each instance by a program with that seed; infinite where it finds no placement."""
    place = entry_of(re.sub(r"(random\.Random|default_rng)\(1\)", rf"\1({seed})", source))
    found = []
    for data in instances:
        arguments, encode = adapter.prepare(data)
        try:
            found.append(float(judge.judge(data, encode(place(*arguments)))))
        except (ValueError, Infeasible):  # the program says that it found no placement, or fills a memory
            found.append(inf)
    return found


def drawn(suite: str, draw: int) -> list[dict[str, Any]]:
    """Fresh instances of a suite's recipe."""
    rng = random.Random(f"{suite} {draw}")
    return [judge.draw_instance(rng, suite) for _ in range(SUITES[suite])]


def shuffled(suite: str, order: int) -> list[dict[str, Any]]:
    """The instances of the first draw, the models of each in another order."""
    rng = random.Random(f"{suite} order {order}")
    return [judge.permuted(data, rng) for data in drawn(suite, 0)]


def gain(mechanism: Mechanism, instances: Sequence[Mapping[str, Any]], seed: int) -> float:
    """Mean share of the better of the two costs that is reached with the mechanism, less that without."""
    source = (FAMILIES / f"{mechanism.program}.py").read_text(encoding="utf-8")
    on, off = (costs(changed(source, values), instances, seed) for values in (mechanism.on, mechanism.off))
    shares = [
        (min(a, b) / a if a < inf else 0.0) - (min(a, b) / b if b < inf else 0.0) for a, b in zip(on, off, strict=True)
    ]
    return sum(shares) / len(shares)


def verdict(gains: Sequence[float]) -> str:
    """Whether a mechanism helped: only where every draw agrees."""
    if all(abs(one) < 5e-6 for one in gains):
        return "no difference"
    if min(gains) > 0:
        return "helped"
    return "hurt" if max(gains) < 0 else "undecided"


def measured(mechanism: Mechanism, suite: str, draws: int, orders: int) -> str:
    """The verdict, the median gain in percent points and its range over the draws, then its range over the orders."""
    gains = [gain(mechanism, drawn(suite, draw), draw + 1) for draw in range(draws)]
    by_order = [gain(mechanism, shuffled(suite, order), 1) for order in range(orders)]
    settled = verdict(gains)
    if settled == verdict(by_order) == "no difference":
        return settled
    low, middle, high = 100 * min(gains), 100 * median(gains), 100 * max(gains)
    least, most = f"{100 * min(by_order):+.2f}", f"{100 * max(by_order):+.2f}"
    turned = f"{least} in any order" if least == most else f"{least} to {most}"
    return f"{settled} {middle:+.2f} ({low:+.2f} to {high:+.2f}); {turned}"


def line(mechanism: Mechanism, draws: int, orders: int) -> str:
    """A row: what was measured on each suite."""
    cells = [mechanism.name, f"`{mechanism.program}`", *(measured(mechanism, suite, draws, orders) for suite in SUITES)]
    return f"| {' | '.join(cells)} |"


def table(rows: Sequence[str], draws: int, orders: int) -> str:
    """The section of the page."""
    titles = ["mechanism", "program", *(f"`{suite}` ({count})" for suite, count in SUITES.items())]
    head = (
        "The share of the better of the two costs reached with the mechanism, less that without, in percent points: "
        f"median of {draws} draws of fresh instances (how many stands in brackets), and the range; behind the "
        f"semicolon the range over {orders} orders of the models in the instances of the first draw (a program that "
        "sorts them does the same in any). `helped` and `hurt` are said where all draws agree; an instance without an "
        "answer counts 0."
    )
    return "\n".join([head, "", f"| {' | '.join(titles)} |", "|---|---|" + "---|" * len(SUITES), *rows]) + "\n"


def main() -> int:
    """Measure, print, and (--write) put the table into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5, help="draws of fresh instances")
    parser.add_argument("--orders", type=int, default=5, help="orders of the models in the first draw's instances")
    parser.add_argument("--only", nargs="*", default=[], metavar="MECHANISM", help="those whose name begins so")
    parser.add_argument("--write", action="store_true", help="write the table into programs/README.md")
    arguments = parser.parse_args()
    if arguments.only and arguments.write:
        parser.error("--write is for all mechanisms")
    chosen = [one for one in MECHANISMS if not arguments.only or one.name.startswith(tuple(arguments.only))]
    rows = []
    for mechanism in chosen:
        rows.append(line(mechanism, arguments.draws, arguments.orders))
        print(rows[-1], flush=True)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(
            before + BEGIN + table(rows, arguments.draws, arguments.orders) + END + rest.partition(END)[2],
            encoding="utf-8",
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the mechanisms are worth that earlier runs on `placement` recommended and never tried: each with and without.

    PYTHONPATH=. python tests/benchmarks/mechanisms.py [--orders 5] [--only MECHANISM ...] [--write]

A program of `programs/placement/families/` is run with the mechanism and with the constant changed that turns it off,
on instances of the held-out twins with their models in several drawn orders. One order gives one difference of the
mean optimality; the line says their median and range. In this process, without a sandbox: they are our own programs.
`--write` puts the table into programs/README.md.
"""

import argparse
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any, Final

from evaluator.task_files import load_task
from evaluator.tasks.placement import adapter, judge

ROOT: Final = Path(__file__).resolve().parents[2]
FAMILIES: Final = ROOT / "programs" / "placement" / "families"
PAGE: Final = ROOT / "programs" / "README.md"
BEGIN: Final = "<!-- mechanisms: python tests/benchmarks/mechanisms.py --write -->\n"
END: Final = "<!-- mechanisms end -->"
SUITES: Final = {"adrs-holdout": 15, "tight-holdout": 8, "skewed-holdout": 8, "fleet-holdout": 1}
"""How many instances of each are run: the first ones."""


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
        name="best fit beside first fit",
        program="packing_portfolio",
        on={"WHEELS": "0"},
        off={"WHEELS": "0", "FITS": '("first",)'},
    ),
    Mechanism(
        name="density keys beside weight, size and load",
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


def optimality(source: str, suite: str, order: int) -> float:
    """The mean of bound / cost over instances whose models are in a drawn order; what is not answered counts 0."""
    place, shares = entry_of(source), []
    for instance in load_task("placement").suite(suite).instances[: SUITES[suite]]:
        data = judge.permuted(instance.data, random.Random(f"{suite} {instance.index} {order}"))
        arguments, encode = adapter.prepare(data)
        try:
            answer = encode(place(*arguments))
        except ValueError:  # how the programs say that they found no placement
            shares.append(0.0)
            continue
        assert instance.bound is not None
        shares.append(float(Fraction(instance.bound) / judge.judge(data, answer)))
    return sum(shares) / len(shares)


def difference(mechanism: Mechanism, suite: str, order: int) -> tuple[float, float]:
    """Optimality with and without a mechanism, in one order."""
    source = (FAMILIES / f"{mechanism.program}.py").read_text(encoding="utf-8")
    with_it, without = (optimality(changed(source, values), suite, order) for values in (mechanism.on, mechanism.off))
    return with_it, without


def verdict(gains: Sequence[float]) -> str:
    """Whether a mechanism helped: only where every order agrees."""
    if all(abs(gain) < 5e-6 for gain in gains):
        return "no difference"
    if min(gains) > 0:
        return "helped"
    return "hurt" if max(gains) < 0 else "undecided"


def line(mechanism: Mechanism, by_suite: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """A row: for each suite the verdict, the median gain in percent points and its range over the orders."""
    cells = [mechanism.name, f"`{mechanism.program}`"]
    for pairs in by_suite.values():
        gains = [100 * (with_it - without) for with_it, without in pairs]
        said = verdict([gain / 100 for gain in gains])
        spread = "" if said == "no difference" else f" {median(gains):+.3f} ({min(gains):+.3f} to {max(gains):+.3f})"
        cells.append(said + spread)
    return f"| {' | '.join(cells)} |"


def table(rows: Sequence[str], orders: int) -> str:
    """The section of the page."""
    titles = ["mechanism", "program", *(f"`{suite}` ({count})" for suite, count in SUITES.items())]
    head = (
        f"Percent points of mean optimality with the mechanism less those without: median of {orders} orders of the "
        "models, and their range. `helped` and `hurt` are said where all orders agree; the number in brackets is that "
        "of the instances."
    )
    return "\n".join([head, "", f"| {' | '.join(titles)} |", "|---|---|" + "---|" * len(SUITES), *rows]) + "\n"


def main() -> int:
    """Measure, print, and (--write) put the table into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=5, help="drawn orders of the models")
    parser.add_argument("--only", nargs="*", default=[], metavar="MECHANISM", help="those whose name begins so")
    parser.add_argument("--write", action="store_true", help="write the table into programs/README.md")
    arguments = parser.parse_args()
    if arguments.only and arguments.write:
        parser.error("--write is for all mechanisms")
    chosen = [one for one in MECHANISMS if not arguments.only or one.name.startswith(tuple(arguments.only))]
    rows = []
    for mechanism in chosen:
        found = {suite: [difference(mechanism, suite, order) for order in range(arguments.orders)] for suite in SUITES}
        rows.append(line(mechanism, found))
        print(rows[-1], flush=True)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(before + BEGIN + table(rows, arguments.orders) + END + rest.partition(END)[2], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The strategies on real tasks, offline, at equal attempts: five experiments, and their table in docs/measurements.md.

    PYTHONPATH=. python tests/benchmarks/strategies.py [SUITE ...] [--write]

The runs are kept in `runs/strategies-*` and gone on with. Without `--write` it prints the table.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

from evolve.apps.experiment.conducting import side_by_side
from evolve.apps.experiment.plan import Plan, read_plan
from evolve.review.comparison import finals
from evolve.review.scores import value_text
from tests.benchmarks.landscapes import write

DATA = Path(__file__).resolve().parent.parent / "data" / "experiment"
SUITES = ("adrs", "first", "or3", "tight", "skewed")


def conducted(suite: str) -> Plan:
    """The plan of a suite's experiment, once all of its runs are done."""
    file = DATA / f"strategies-{suite}.yaml"
    ran = subprocess.run([sys.executable, "-m", "evolve", "experiment", str(file)], check=False, stdout=sys.stderr)
    if ran.returncode not in (0, 1):  # 1: a run has no correct program, which the table says
        sys.exit(ran.returncode)
    return read_plan(file)


def rows(suite: str, plan: Plan) -> list[str]:
    """A line for each strategy: the values of its seeds, best first, their median and its interval; then its test."""
    (together,) = side_by_side(plan.runs())
    found = finals(together)
    against = {pair["second"]: pair for pair in found["pairs"] if pair["first"] == "evolve"}
    sign, task = together.objective.direction.sign, plan.runs()[0].config.task
    cells = (
        (
            f"`{task}/{suite}`",
            f"`{group['label']}`",
            _median(group),
            _values(group, sign),
            _test(against.get(group["label"])),
        )
        for group in found["groups"]
    )
    return [f"| {' | '.join(row)} |" for row in cells]


def _median(group: dict[str, Any]) -> str:
    interval = group["interval"]
    if interval is None:
        return value_text(group["median"])
    return f"{value_text(group['median'])} [{value_text(interval['low'])}, {value_text(interval['high'])}]"


def _values(group: dict[str, Any], sign: int) -> str:
    known = sorted((value for value in group["values"] if value is not None), reverse=sign > 0)
    none = len(group["values"]) - len(known)
    return ", ".join(map(value_text, known)) + f"; {none} without a correct program" * bool(none)


def _test(pair: dict[str, Any] | None) -> str:
    if pair is None or pair["test"] is None:
        return "-"
    test = pair["test"]
    pairs, better, worse, p = (test[key] for key in ("pairs", "better", "worse", "p"))
    # The second of a pair is the strategy of this row.
    return f"better in {better} of {pairs} pairs, worse in {worse}, p = {p:.2g}"


def main() -> None:
    """Run what is missing, and print the table or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], help=f"which (default: {', '.join(SUITES)})")
    parser.add_argument("--write", action="store_true", help="put the table into docs/measurements.md")
    arguments = parser.parse_args()
    lines = [
        "| suite | strategy | median of 5 seeds [93.75 % interval] | values | against `evolve` |",
        "|---|---|---|---|---|",
    ]
    for suite in arguments.suites or SUITES:
        lines += rows(suite, conducted(suite))
    table = "\n".join(lines) + "\n"
    if arguments.write:
        write("tasks", table)
    else:
        sys.stdout.write(table)


if __name__ == "__main__":
    main()

"""Finds the best placements, proves how good they are: `python -m evaluator.tasks.placement.prove_bounds [SUITE ...]`.

Writes `bounds/<suite>.json`: per instance a lower bound on the cost, whether it is proven to be the optimum, and
the best placement known. Needs OR-Tools (the extra `bounds`).
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.errors import EvaluatorError
from evaluator.tasks.placement import packing
from evaluator.tasks.placement.exact import solve
from evaluator.tasks.suite_files import as_text

FOLDER = Path(__file__).resolve().parent


def prove_suite(suite: str, limit_s: float) -> None:
    """Solves every instance of a suite, tells of each as it is done, and writes the suite's bounds."""
    instances = json.loads((FOLDER / "suites" / f"{suite}.json").read_text(encoding="utf-8"))["instances"]
    bounds: list[dict[str, Any]] = []
    for index, data in enumerate(instances):
        began = time.perf_counter()
        solution = solve(data, limit_s=limit_s)
        bounds.append({"lower_bound": str(solution.bound), "proven": solution.proven, "answer": solution.answer})
        sys.stdout.write(
            f"{suite} {index}: cost {float(solution.cost):.9f}, "
            + ("optimal" if solution.proven else f"lower bound {float(solution.bound):.9f}")
            + f", {time.perf_counter() - began:.2f} s\n"
        )
        sys.stdout.flush()
    path = FOLDER / "bounds" / f"{suite}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(as_text(suite, "bounds", bounds), encoding="utf-8")
    proven = sum(bound["proven"] for bound in bounds)
    sys.stdout.write(f"{suite}: {proven} of {len(bounds)} optima proven\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The script; returns its exit code."""
    known = sorted(path.stem for path in (FOLDER / "suites").glob("*.json"))
    parser = argparse.ArgumentParser(description="Find the best placements of a suite and prove their bounds.")
    parser.add_argument("suite", nargs="*", help=f"suites to solve (all: {', '.join(known)})")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each search (default: 60)")
    options = parser.parse_args(arguments)
    try:
        packing.solver_module()
        for suite in options.suite or known:
            if suite not in known:
                parser.error(f"there is no suite {suite!r} (there is: {', '.join(known)})")
            prove_suite(suite, options.limit)
    except EvaluatorError as error:
        sys.stderr.write(f"prove_bounds: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Finds the best placements and proves how good they are: `python -m evaluator.placement.prove_bounds [SUITE ...]`.

Writes `bounds/<suite>.json`: per instance a lower bound on the cost, whether it is proven to be the optimum, and
the best placement known. Needs OR-Tools (the extra `bounds`).
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from evaluator.errors import EvaluatorError
from evaluator.placement.exact import (
    Answer,
    Search,
    cost_of,
    fluid_bound,
    packing_below,
    solver_module,
    strictly_better,
)

FOLDER = Path(__file__).resolve().parent
_BISECTIONS = 12


def first_fit(data: Mapping[str, Any], bound: Fraction) -> Answer | None:
    """A placement with a cost below `bound` by decreasing first fit, or None where first fit finds none."""
    weights, capacity = packing_below(data, bound)
    room = [capacity] * data["gpu_num"]
    answer: Answer = [[gpu, []] for gpu in range(data["gpu_num"])]
    for index in sorted(range(len(weights)), key=lambda index: (-weights[index], index)):
        gpu = next((gpu for gpu, left in enumerate(room) if weights[index] <= left), None)
        if gpu is None:
            return None
        room[gpu] -= weights[index]
        answer[gpu][1].append(index)
    return answer


def start(data: Mapping[str, Any], limit_s: float) -> Answer:
    """A good placement: by bisection with first fit, or by the solver where first fit finds none at all."""
    # No valid placement costs more than all the load on a GPU with a single GB left.
    anything = sum((Fraction(rate, slo) for _, rate, slo in data["models"]), start=Fraction(1))
    best = first_fit(data, anything) or strictly_better(data, anything, limit_s=limit_s).answer
    if best is None:
        raise EvaluatorError(f"no placement at all was found within {limit_s} s")
    low, high = fluid_bound(data), cost_of(data, best)
    for _ in range(_BISECTIONS):
        if low >= high:
            break
        middle = (low + high) / 2
        answer = first_fit(data, middle)
        if answer is None:
            low = middle
        else:
            best, high = answer, cost_of(data, answer)
    return best


def solve(data: Mapping[str, Any], limit_s: float) -> tuple[Fraction, bool, Answer]:
    """The best lower bound, whether it is the optimum, and the best placement; `limit_s` is for each search."""
    best = start(data, limit_s)
    while True:
        cost = cost_of(data, best)
        proof = strictly_better(data, cost, limit_s=limit_s)
        if proof.answer is None:
            break
        best = proof.answer
    if proof.search is Search.NONE_EXISTS:
        return cost, True, best
    return fluid_bound(data), False, best


def as_text(suite: str, bounds: Sequence[tuple[Fraction, bool, Answer]]) -> str:
    """The file of a suite's bounds: JSON, one instance a line."""
    entries = [{"lower_bound": str(bound), "proven": proven, "answer": answer} for bound, proven, answer in bounds]
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    return f'{{"suite": {json.dumps(suite)}, "bounds": [\n{lines}\n]}}\n'


def prove_suite(suite: str, limit_s: float) -> None:
    """Solves every instance of a suite, tells of each as it is done, and writes the suite's bounds."""
    instances = json.loads((FOLDER / "suites" / f"{suite}.json").read_text(encoding="utf-8"))["instances"]
    bounds = []
    for index, data in enumerate(instances):
        began = time.perf_counter()
        bound, proven, answer = solve(data, limit_s)
        bounds.append((bound, proven, answer))
        cost = cost_of(data, answer)
        sys.stdout.write(
            f"{suite} {index}: cost {float(cost):.9f}, "
            + ("optimal" if proven else f"lower bound {float(bound):.9f}")
            + f", {time.perf_counter() - began:.2f} s\n"
        )
        sys.stdout.flush()
    path = FOLDER / "bounds" / f"{suite}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(as_text(suite, bounds), encoding="utf-8")
    sys.stdout.write(f"{suite}: {sum(proven for _, proven, _ in bounds)} of {len(bounds)} optima proven\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The script; returns its exit code."""
    known = sorted(path.stem for path in (FOLDER / "suites").glob("*.json"))
    parser = argparse.ArgumentParser(description="Find the best placements of a suite and prove their bounds.")
    parser.add_argument("suite", nargs="*", help=f"suites to solve (all: {', '.join(known)})")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each search (default: 300)")
    options = parser.parse_args(arguments)
    try:
        solver_module()
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

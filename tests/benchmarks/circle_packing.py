"""The judge of the task `circle_packing` against a slow one, on random answers; and what the holdout is measured by.

Usage: python -m tests.benchmarks.circle_packing [ANSWERS]
       python -m tests.benchmarks.circle_packing references [SEEDS]

The first prints, for every kind of answer, how many were judged (10,000 in all) and in how many the slow judge said
anything else (0 is right), and the CPU time that the judge takes for 26 circles. The second is where the values of the
suite `holdout` in task.yaml come from: the baseline of random starts through the evaluator, in the sandbox and within
the suite's limits, with the seeds 1 to SEEDS (10); it prints the best value of each instance and its seed.
"""

import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from evaluator import Infeasible, InvalidAnswer
from evaluator.evaluator import SandboxedEvaluator
from evaluator.places import PROGRAMS
from evaluator.task_files import load_task
from evaluator.tasks.circle_packing.judge import judge
from tests.builders import one_file
from tests.evaluator.tasks.circle_packing.slow_circle_packing import slow_verdict

Answer = list[Any]

BASELINE = PROGRAMS / "circle_packing" / "baselines" / "random_start_slsqp.py"


def valid(rng: random.Random, n: int) -> Answer:
    """Circles at random centres that keep apart; some of them touch, as far as floats can."""
    if rng.random() < 0.2:
        return [[(2 * (k % 8) + 1) / 16, (2 * (k // 8) + 1) / 16, 0.0625] for k in range(n)]
    centres = [(rng.random(), rng.random()) for _ in range(n)]
    circles: Answer = []
    for k, (x, y) in enumerate(centres):
        room = min(x, y, 1 - x, 1 - y)
        for other, (u, v) in enumerate(centres):
            distance = math.hypot(x - u, y - v)
            if other < k:
                room = min(room, distance - circles[other][2])
            elif other > k:
                room = min(room, distance / 2)
        circles.append([x, y, max(0.0, room) * rng.choice([1, 1 - 1e-15, rng.random()])])
    return circles


def grown_a_little(rng: random.Random, n: int) -> Answer:
    """A valid packing, with one radius or all of them up to a thousandth larger: mostly too large."""
    circles = valid(rng, n)
    for circle in circles if rng.random() < 0.5 else [rng.choice(circles)]:
        circle[2] *= 1 + 10.0 ** rng.uniform(-16, -3)
    return circles


def anything(rng: random.Random, n: int) -> Answer:
    """Numbers of all sizes where they are allowed."""

    def place() -> float:
        return rng.random() if rng.random() < 0.9 else rng.choice([0, 1, 0.5, 2.0 ** -rng.randint(1, 1074)])

    def radius() -> float:
        return rng.random() if rng.random() < 0.9 else rng.choice([0, 1, 10.0 ** rng.uniform(-300, 300)])

    return [[place(), place(), radius()] for _ in range(n)]


def _with(rng: random.Random, n: int, place: int | None, value: Any) -> Answer:
    """A valid packing with one number of one circle replaced (`place` None: any of the three)."""
    circles = valid(rng, n)
    rng.choice(circles)[rng.randrange(3) if place is None else place] = value
    return circles


def _same_centre(rng: random.Random, n: int) -> Answer:
    circles = valid(rng, n)
    circles[-1] = [*circles[0][:2], rng.random() + 1e-9]
    return circles


BROKEN: dict[str, Callable[[random.Random, int], Any]] = {
    "nan": lambda rng, n: _with(rng, n, None, math.nan),
    "infinite": lambda rng, n: _with(rng, n, None, rng.choice([math.inf, -math.inf])),
    "no number": lambda rng, n: _with(rng, n, None, rng.choice([True, False, None, "0.1", [0.1], {}])),
    "out of range": lambda rng, n: _with(rng, n, None, rng.choice([1, -1]) * 10 ** rng.randint(309, 400)),
    "radius below 0": lambda rng, n: _with(rng, n, 2, rng.choice([-5e-324, -1, -rng.random() - 1e-300])),
    "centre below 0": lambda rng, n: _with(rng, n, rng.randrange(2), rng.choice([-5e-324, -rng.random() - 1e-300])),
    "centre above 1": lambda rng, n: _with(rng, n, rng.randrange(2), rng.choice([1 + 2**-52, 2, 1e300])),
    "centre on a side": lambda rng, n: _with(rng, n, rng.randrange(2), rng.choice([0, 1, 0.0, 1.0])),
    "same centre": _same_centre,
    "too few": lambda rng, n: valid(rng, n + 1)[: rng.randint(0, n - 1)],
    "too many": lambda rng, n: [*valid(rng, n), *[[0.5, 0.5, 0.0]] * rng.randint(1, 3)],
    "two numbers": lambda rng, n: [*valid(rng, n)[1:], [0.5, 0.5]],
    "four numbers": lambda rng, n: [*valid(rng, n)[1:], [0.5, 0.5, 0.1, 0.1]],
    "circle no list": lambda rng, n: [*valid(rng, n)[1:], rng.choice([None, 1, "abc", {}, (0.5, 0.5, 0.1)])],
    "answer no list": lambda rng, n: rng.choice([None, 1, "abc", {}, tuple(valid(rng, n))]),
}
"""A valid packing that is broken in one way, and in no other."""

KINDS: dict[str, Callable[[random.Random, int], Any]] = {
    "valid": valid,
    "grown a little": grown_a_little,
    "anything": anything,
    **BROKEN,
}


def verdict(n: int, answer: object) -> Fraction | type[Exception]:
    """What the task's judge says, in the form of the slow one."""
    try:
        return judge({"n": n}, answer)
    except (InvalidAnswer, Infeasible) as refusal:
        return type(refusal)


def compare(answers: int) -> None:
    """Half of the answers are broken in one way; the rest are packings, valid or not."""
    rng = random.Random(26)
    judged: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    repaired: Counter[str] = Counter()
    different: Counter[str] = Counter()
    for _ in range(answers):
        kind = rng.choice(list(BROKEN) if rng.random() < 0.5 else ["valid", "grown a little", "anything"])
        n = rng.randint(2 if kind == "same centre" else 1, 6)
        answer = KINDS[kind](rng, n)
        fast = verdict(n, answer)
        judged[kind] += 1
        refused[kind] += isinstance(fast, type)
        repaired[kind] += isinstance(fast, Fraction) and fast < sum(Fraction(r) for _, _, r in answer)
        different[kind] += fast != slow_verdict(n, answer)
    for kind in KINDS:
        figures = f"{judged[kind]:6} judged, {refused[kind]:5} refused, {repaired[kind]:5} repaired"
        print(f"{kind:18}{figures}, {different[kind]} judged otherwise by the slow judge")
    print(f"{judged.total()} answers, judged otherwise by the slow judge: {different.total()}")
    packing = grown_a_little(rng, 26)
    began = time.process_time()
    judge({"n": 26}, packing)
    print(f"26 circles: {1000 * (time.process_time() - began):.1f} ms of CPU")


def references(seeds: int) -> None:
    """What the baseline reaches on the suite `holdout`: the best of its seeds, instance by instance."""
    task = load_task("circle_packing")
    suite = task.suite("holdout")
    source = BASELINE.read_text(encoding="utf-8")
    best: dict[int, tuple[float, int]] = {}
    with SandboxedEvaluator(task, suite, workers=1) as evaluator:
        for seed in range(1, seeds + 1):
            seeded = source.replace("SEED = 1\n", f"SEED = {seed}\n")
            if seed > 1 and seeded == source:
                raise SystemExit(f"{BASELINE}: has no line `SEED = 1`")
            evaluation = evaluator.evaluate(one_file(seeded))
            values = [None if result.cost is None else float(result.cost) for result in evaluation.results]
            print(f"seed {seed}: {evaluation.outcome}, {evaluation.runtime_s:.1f} s of CPU per instance, {values}")
            for index, value in enumerate(values):
                if value is not None:
                    best[index] = max(best.get(index, (0.0, 0)), (value, -seed))
    for index, (value, seed) in sorted(best.items()):
        print(f"instance {index} (n = {suite.instances[index].data['n']}): {value!r}, seed {-seed}")


def main() -> None:
    """Compare and print, or print the references."""
    if sys.argv[1:2] == ["references"]:
        references(int(sys.argv[2]) if len(sys.argv) > 2 else 10)
    else:
        compare(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)


if __name__ == "__main__":
    main()

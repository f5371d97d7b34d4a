"""The judge of the task `autocorrelation` against the definition, on random heights.

Usage: python -m tests.benchmarks.autocorrelation [ANSWERS]

Prints how many answers were judged (10,000), in how many the slow judge said anything else (0 is right), and the CPU
time that the judge takes for 2,000 heights.
"""

import random
import sys
import time

from evaluator.tasks.autocorrelation.judge import judge
from tests.evaluator.tasks.autocorrelation.slow_autocorrelation import slow_constant

INSTANCE = {"max_n": 2000}


def drawn(rng: random.Random, count: int) -> list[int | float]:
    """Heights of one of several kinds, at least one of them positive."""
    kinds = [
        rng.random,
        lambda: 10.0 ** rng.uniform(-300, 300),
        lambda: rng.choice([0, 0.0, 1, 1.0, 5e-324, 2**-60, 2**-61, 1e-300]),
        lambda: rng.getrandbits(rng.randint(1, 200)),
        lambda: rng.random() ** 30,
    ]
    mixed = rng.random() < 0.3
    kind = rng.choice(kinds)
    heights = [(rng.choice(kinds) if mixed else kind)() for _ in range(count)]
    heights[rng.randrange(count)] = rng.random() + 1e-9
    return heights


def main() -> None:
    """Compare and print."""
    answers = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rng = random.Random(12)
    different = 0
    for _ in range(answers):
        heights = drawn(rng, rng.randint(1, 16))
        different += judge(INSTANCE, heights) != slow_constant(heights)
    print(f"{answers} answers, judged otherwise by the slow judge: {different}")
    heights = drawn(rng, 2000)
    began = time.process_time()
    judge(INSTANCE, heights)
    print(f"2,000 heights: {1000 * (time.process_time() - began):.1f} ms of CPU")


if __name__ == "__main__":
    main()

"""The optimiser behind tuning against a random search, CMA-ES (`cma`) and TPE (`optuna`), on functions that look like
what tuning meets: `python -m tests.benchmarks.tuning [SEEDS [NAME,NAME]]`. The libraries are asked only where they are
named: `pip install cma optuna`.

Every function is the distance of numbers (two in five are integers) from where they would be best, as factors: `sep`
each for itself, `dep` with dependencies between them, `rough` with many local optima, `plateau` in steps, `cliff` with
programs that fail just beyond the best values. A number weighs 0, 0.1, 0.5, 1 or 3. Printed is the share of the way
from the start to the optimum, the mean over all functions.
"""

import importlib
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterator

from evolve.propose.tuning.search import BATCH, Dimension, PatternSearch, Point, Standing

KINDS = ("sep", "dep", "rough", "plateau", "cliff")
NUMBERS = (1, 3, 8, 20)
BUDGETS = (30, 100, 300)
FAILED = -50.0  # the score of a failed program, for a library

Score = Callable[[Point], Standing]
Search = Callable[[list[Dimension], Score, int, int], Standing]


def landscape(kind: str, count: int, seed: int, budget: int) -> tuple[list[Dimension], Score]:
    """A function of the numbers that such a budget searches (a third of it: see `evolve.propose.tuning.tuner`)."""
    rng = random.Random(f"{count}{kind}{seed}")
    dimensions, best, weights = [], [], []
    for _ in range(count):
        integer = rng.random() < 0.4
        value = rng.randint(2, 60) if integer else float(f"{math.exp(rng.uniform(-4, 4)):.3g}")
        low, high = (1 if integer else value / 16), value * 16
        dimensions.append(Dimension(value=value, low=low, high=high))
        away = rng.gauss(0, 0.8)
        away = abs(away) if kind == "cliff" else away
        best.append(min(max(math.log(value) + away, math.log(low)), math.log(high)))
        weights.append(rng.choice((0, 0.1, 0.5, 1, 3)) if count > 2 else 1)
    turned = [[rng.gauss(0, 1) for _ in range(count)] for _ in range(count)]
    searched = dimensions[: budget // 3]

    def score(point: Point) -> Standing:
        values = (*point, *(dimension.value for dimension in dimensions[len(point) :]))
        away = [math.log(value) - target for value, target in zip(values, best, strict=True)]
        pairs = list(zip(weights, away, strict=True))
        if kind == "cliff" and any(weight and z > 0.25 for weight, z in pairs):
            return False, 0.0
        match kind:
            case "sep":
                cost = sum(weight * z * z for weight, z in pairs)
            case "dep":
                scaled = [weight * z for weight, z in pairs]
                cost = sum(sum(a * z for a, z in zip(row, scaled, strict=True)) ** 2 for row in turned) / count
            case "rough":
                cost = sum(weight * (z * z + 0.15 * (1 - math.cos(9 * z))) for weight, z in pairs)
            case "plateau":
                cost = sum(math.floor(4 * weight * abs(z)) / 4 for weight, z in pairs)
            case _:
                cost = sum(weight * abs(z) for weight, z in pairs)
        return True, -cost

    return searched, score


def ours(dimensions: list[Dimension], score: Score, budget: int, seed: int) -> Standing:
    """What ships."""
    search, used = PatternSearch(dimensions, start=score(_start(dimensions)), seed=seed), 1
    while used < budget and (batch := search.ask()[: budget - used]):
        used += len(batch)
        search.tell([(point, score(point)) for point in batch])
    return search.standing


def by_chance(dimensions: list[Dimension], score: Score, budget: int, seed: int) -> Standing:
    """Points around the start."""
    rng = random.Random(seed)
    points = (tuple(one.moved(one.value, rng.gauss(0, 0.7)) for one in dimensions) for _ in range(budget - 1))
    return max([score(_start(dimensions)), *map(score, points)])


def cma(dimensions: list[Dimension], score: Score, budget: int, seed: int) -> Standing:
    """CMA-ES on the logarithms, integers rounded; one number is joined by one that says nothing."""
    library, best, used = importlib.import_module("cma"), score(_start(dimensions)), 1
    idle = [0.0] if len(dimensions) == 1 else []
    bounds = [[math.log(one.low) for one in dimensions] + [-5 * (1 + x) for x in idle]]
    bounds += [[math.log(one.high) for one in dimensions] + [5 * (1 + x) for x in idle]]
    options = {"seed": seed + 1, "verbose": -9, "bounds": bounds}
    strategy = library.CMAEvolutionStrategy([math.log(one.value) for one in dimensions] + idle, 0.4, options)
    while used < budget and not strategy.stop():
        asked, costs = strategy.ask(), []
        for x in asked:
            point = tuple(_whole(one, math.exp(a)) for one, a in zip(dimensions, x, strict=False))
            found = score(point) if used < budget else (False, 0.0)
            used, best = used + 1, max(best, found)
            costs.append(-found[1] if found[0] else -FAILED)
        strategy.tell(asked, costs)
    return best


def tpe(dimensions: list[Dimension], score: Score, budget: int, seed: int) -> Standing:
    """Optuna's sampler, which starts from the present numbers; six trials at a time."""
    optuna = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.enqueue_trial({str(index): one.value for index, one in enumerate(dimensions)})
    best, used = (False, 0.0), 0
    while used < budget:
        trials = []
        for trial in [study.ask() for _ in range(min(BATCH, budget - used) if used else 1)]:
            found = score(tuple(_suggested(trial, index, one) for index, one in enumerate(dimensions)))
            used, best = used + 1, max(best, found)
            trials.append((trial, found[1] if found[0] else FAILED))
        for trial, value in trials:
            study.tell(trial, value)
    return best


def _suggested(trial, index: int, one: Dimension) -> int | float:  # type: ignore[no-untyped-def]
    suggest = trial.suggest_int if one.integer else trial.suggest_float
    found: int | float = suggest(str(index), one.low, one.high, log=True)
    return found


def _whole(one: Dimension, value: float) -> int | float:
    return int(min(max(round(value), one.low), one.high)) if one.integer else value


def _start(dimensions: list[Dimension]) -> Point:
    return tuple(one.value for one in dimensions)


SEARCHES: dict[str, Search] = {"ours": ours, "random": by_chance, "cma": cma, "tpe": tpe}


def shares(search: Search, kind: str, count: int, budget: int, seeds: int) -> Iterator[float]:
    """How much of the way to the optimum was gone, for each seed."""
    for seed in range(seeds):
        dimensions, score = landscape(kind, count, seed, budget)
        start, found = score(_start(dimensions))[1], search(dimensions, score, budget, seed)
        yield 1 - found[1] / start if start else 0.0


def main() -> None:
    """Print a table for each budget."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    names = sys.argv[2].split(",") if len(sys.argv) > 2 else ["ours", "random"]
    print(f"{'evaluations':>11}  {'function':8}  " + "  ".join(f"{name:>7}" for name in names))
    for budget in BUDGETS:
        totals: dict[str, list[float]] = {name: [] for name in names}
        for kind in KINDS:
            cells = []
            for name in names:
                of_kind = [found for n in NUMBERS for found in shares(SEARCHES[name], kind, n, budget, seeds)]
                totals[name].append(statistics.mean(of_kind))
                cells.append(f"{totals[name][-1]:7.3f}")
            print(f"{budget:11}  {kind:8}  " + "  ".join(cells), flush=True)
        print(f"{budget:11}  {'all':8}  " + "  ".join(f"{statistics.mean(totals[name]):7.3f}" for name in names))


if __name__ == "__main__":
    main()

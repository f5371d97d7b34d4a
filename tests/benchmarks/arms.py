"""Measures `search.models: bandit` against equal weights: simulated models of known quality and price, through the real
`evolve.search.arms`. One command prints the table of docs/measurements.md, or writes it there:

    PYTHONPATH=. python tests/benchmarks/arms.py [--seeds 200] [--calls 400] [--write]

A proposal of a model is better than its parent with a probability, by an amount that is exponential with a mean; it
costs a price times a factor that is lognormal with mean 1 and sigma 0.4.

The yield of a model is probability times mean: what one proposal is expected to gain. Its rate is the yield over the
price, and the best rate is that of the best model. **Regret per dollar** is the best rate minus what all proposals of a
run were expected to gain over what they were expected to cost: what each dollar lost against spending it on the best
model alone. (By expectations, given which models were asked: what chance gave or took is nobody's merit.)
"""

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean
from typing import Final, Literal

from evolve.archive.events import Status
from evolve.archive.records import Contribution, EndedGeneration
from evolve.core.config import SearchConfig
from evolve.core.program import PatchKind
from evolve.core.usage import Spending
from evolve.proposal import SearchSettings
from evolve.search.arms import Arms

PAGE: Final = Path(__file__).resolve().parent.parent.parent / "docs" / "measurements.md"
LAST: Final = 200
"""The shares of models are of the last calls, this many."""
SIGMA: Final = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """One simulated model: how likely a proposal of it improves, by how much in the mean, and its price in dollars."""

    chance: float
    mean: float
    price: float

    @property
    def gain(self) -> float:
        """What one proposal is expected to gain."""
        return self.chance * self.mean


def _of(*models: tuple[float, float, float]) -> tuple[Quality, ...]:
    return tuple(Quality(chance=chance, mean=mean, price=price) for chance, mean, price in models)


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """Four models. After `halved` calls improvements are half as large (None: they stay); `in_flight` at a time."""

    models: tuple[Quality, ...]
    halved: int | None = None
    in_flight: int = 1

    @property
    def best(self) -> int:
        """The model with the best rate."""
        return max(range(len(self.models)), key=lambda n: _rate(self.models[n]))

    @property
    def failing(self) -> int | None:
        """The one that only fails, if there is one."""
        return next((n for n, model in enumerate(self.models) if not model.chance), None)


def _rate(model: Quality) -> float:
    return 0.0 if not model.gain else model.gain / model.price


_MIXED = _of((0.1, 1, 0.5), (0.2, 1, 1), (0.3, 2, 2), (0.4, 2, 8))
MARKETS: Final[Mapping[str, Market]] = {
    "same quality, prices 1 to 8": Market(models=_of((0.3, 1, 1), (0.3, 1, 2), (0.3, 1, 4), (0.3, 1, 8))),
    "same price, 5 to 40 % improve": Market(models=_of((0.05, 1, 1), (0.1, 1, 1), (0.2, 1, 1), (0.4, 1, 1))),
    "the most expensive is the best": Market(models=_of((0.03, 1, 1), (0.05, 1, 1), (0.1, 1, 2), (0.5, 2, 4))),
    "the cheapest is the best": Market(models=_of((0.2, 1, 0.25), (0.25, 1, 1), (0.35, 1.5, 3), (0.4, 2, 10))),
    "one between is the best": Market(models=_MIXED),
    "the same, improvements halve every 100 calls": Market(models=_MIXED, halved=100),
    "the same, 8 in flight": Market(models=_MIXED, in_flight=8),
    "improvements are rare": Market(models=_of((0.02, 1, 1), (0.04, 1, 2), (0.08, 2, 1), (0.1, 1, 8))),
    "one only fails, as dear as others": Market(models=_of((0, 1, 1), (0.1, 1, 1), (0.2, 1, 1), (0.3, 1, 3))),
    "one only fails, a twentieth of the price": Market(models=_of((0, 1, 0.05), (0.1, 1, 1), (0.2, 1, 1), (0.3, 1, 1))),
    "one only fails, for nothing": Market(models=_of((0, 1, 0), (0.1, 1, 1), (0.2, 1, 1), (0.3, 1, 3))),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run: its regret per dollar, and how often each model was asked in the last LAST calls."""

    regret: float
    last: tuple[int, ...]


def simulate(market: Market, rule: Literal["weights", "bandit"], seed: int, calls: int) -> Result:
    """One run under a rule. What is drawn is drawn by the seed, the generation and nothing else."""
    names = [f"model {n}" for n in range(len(market.models))]
    arms = Arms(
        SearchSettings(
            config=SearchConfig(models=rule),
            seed=seed,
            shares=dict.fromkeys(names, 1.0),
            kinds=dict.fromkeys(names, frozenset({PatchKind.DIFF})),
        )
    )
    arms.ended(EndedGeneration(generation=0, status=Status.EVALUATED, parent=None, program=None))
    asked: list[int] = []
    waiting: list[tuple[int, int]] = []
    for generation in range(1, calls + 1):
        if len(waiting) == market.in_flight:  # one of them, any, ends
            one = waiting.pop(random.Random(f"{seed}:{generation}:ends").randrange(len(waiting)))
            arms.ended(_end(market, seed, *one))
        name, _ = arms.choose(generation, random.Random(f"{seed}:{generation}:choose"))
        asked.append(names.index(name))
        waiting.append((generation, asked[-1]))
    counts, last = Counter(asked), Counter(asked[-LAST:])
    gained = math.fsum(counts[n] * model.gain for n, model in enumerate(market.models))
    paid = math.fsum(counts[n] * model.price for n, model in enumerate(market.models))
    best = _rate(market.models[market.best])
    return Result(regret=best - gained / paid, last=tuple(last[n] for n in range(len(names))))


def _end(market: Market, seed: int, generation: int, number: int) -> EndedGeneration:
    """What became of a proposal of a model."""
    model, rng = market.models[number], random.Random(f"{seed}:{generation}:proposal")
    improves, size, factor = rng.random() < model.chance, rng.expovariate(1 / model.mean), rng.gauss(0, SIGMA)
    paid = Spending(calls=1, known_usd=model.price * math.exp(factor - SIGMA * SIGMA / 2))
    shrunk = size if market.halved is None else size * 0.5 ** (generation / market.halved)
    name = f"model {number}"
    contribution = Contribution(model=name, answered=True, applied=True, failed=0, spent=paid, fair=paid)
    return EndedGeneration(
        generation=generation,
        status=Status.EVALUATED,
        parent="",
        program=None,
        improvement=shrunk if improves else None,
        models=(contribution,),
        arm=name,
    )


def _job(job: tuple[str, Literal["weights", "bandit"], int, int]) -> Result:
    name, rule, seed, calls = job
    return simulate(MARKETS[name], rule, seed, calls)


def row(name: str, uniform: Sequence[Result], bandit: Sequence[Result]) -> str:
    """The line of a market."""
    market = MARKETS[name]
    regrets = [fmean(result.regret for result in results) for results in (uniform, bandit)]
    best = fmean(result.last[market.best] for result in bandit) / LAST
    failing = "-"
    if market.failing is not None:
        shares = [result.last[market.failing] / LAST for result in bandit]
        failing = f"{100 * fmean(shares):.1f} % ({100 * max(shares):.1f} %)"
    cells = [f"{regrets[0]:.4f}", f"{regrets[1]:.4f}", f"{regrets[1] / regrets[0]:.2f}", f"{100 * best:.0f} %", failing]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Measure, and print the table or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="how many runs each row has")
    parser.add_argument("--calls", type=int, default=400, help="proposals of each run")
    parser.add_argument("--only", nargs="*", default=list(MARKETS), choices=list(MARKETS), help="which rows")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    arguments = parser.parse_args()
    if arguments.write and arguments.only != list(MARKETS):
        parser.error("--write writes the whole table: leave out --only")
    lines = [
        f"Four models, {arguments.calls} proposals, {arguments.seeds} seeds; the mean regret per dollar; then shares",
        f"of the last {LAST}: of the model with the best rate, and of the one that only fails (in the worst run).",
        "",
        "| models | equal weights | bandit | bandit / equal | the best is asked | the failing one |",
        "|---|---|---|---|---|---|",
    ]
    with Pool() as pool:
        for name in arguments.only:
            results = [
                pool.map(_job, [(name, rule, seed, arguments.calls) for seed in range(arguments.seeds)], chunksize=5)
                for rule in ("weights", "bandit")
            ]
            lines.append(row(name, *results))
            sys.stderr.write(f"{lines[-1]}\n")
    rows = "\n".join(lines) + "\n"
    if arguments.write:
        write(rows)
    else:
        sys.stdout.write(rows)


def write(rows: str) -> None:
    """Put the table between its marks in the page."""
    head, begin, rest = PAGE.read_text(encoding="utf-8").partition("<!-- measured: arms -->\n")
    _, end, tail = rest.partition("<!-- end of arms -->")
    if not begin or not end:
        raise SystemExit(f"{PAGE}: it lacks the marks between which the table of models stands")
    PAGE.write_text(head + begin + rows + end + tail, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Strategies on simulated landscapes, through the real `Search` interface. No archive, no model, no clock.

    PYTHONPATH=. python tests/benchmarks/landscapes.py [--seeds 200] [--only TABLE ...] [--write]

A seeded proposer answers each choice of a search; what its programs cost follows the distribution that stands with each
landscape. `--write` puts the tables into docs/measurements.md.

On all of them: a proposal fails with probability 0.15, more for a full rewrite (by 0.2), and
more the longer its program has grown (2 to 8 % a generation). A program that fails succeeds on a share of the instances
that is drawn evenly; it is repaired with that probability.
"""

import argparse
import math
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from multiprocessing import Pool
from pathlib import Path
from typing import Any, Final, Protocol

from evaluator.evaluation import Outcome
from evaluator.objective import SCORE_ITSELF
from evolve.archive.events import Status
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.core.config import SearchConfig
from evolve.core.program import Origin, PatchKind
from evolve.proposal import Choice, SearchSettings
from evolve.review.statistics import median, median_interval
from evolve.search.strategies import open_search

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PAGE: Final = ROOT / "docs" / "measurements.md"
LEVEL: Final = Fraction(95, 100)
INSTANCES: Final = 8
UNIT: Final = 1_000_000
"""What the initial program costs on an instance is about this; costs are whole numbers."""

Genome = tuple[float, ...]


class Landscape(Protocol):
    """What programs are made of and cost. `rng` decides all that is random."""

    def start(self) -> Genome:
        """The initial program."""
        ...

    def step(self, genome: Genome, rng: random.Random) -> Genome:
        """A change of it: an edit."""
        ...

    def rewritten(self, genome: Genome, rng: random.Random) -> Genome:
        """A full rewrite: most of it kept in kind, a part drawn as if nothing had been there."""
        ...

    def cross(self, genome: Genome, other: Genome, rng: random.Random) -> Genome:
        """It, with parts of another."""
        ...

    def costs(self, genome: Genome) -> list[int]:
        """What it costs on each instance."""
        ...


def _mixed(genome: Genome, other: Genome, rng: random.Random, block: int = 1) -> Genome:
    """Each block of places from one of the two, as a coin falls."""
    taken = [rng.random() < 0.5 for _ in range(0, len(genome), block)]
    return tuple(b if taken[at // block] else a for at, (a, b) in enumerate(zip(genome, other, strict=True)))


class Smooth:
    """16 numbers; an instance costs the weighted squared distance of six of them from its own optimum, which lies near
    everybody's. An edit moves one to three numbers by a normal step."""

    size = 16

    def __init__(self, rng: random.Random) -> None:
        common = [rng.gauss(0, 1) for _ in range(self.size)]
        self.places = [rng.sample(range(self.size), 6) for _ in range(INSTANCES)]
        self.weights = [[rng.uniform(0.5, 1.5) for _ in places] for places in self.places]
        self.optima = [[common[place] + rng.gauss(0, 0.15) for place in places] for places in self.places]
        self._start = tuple(value + rng.choice((-1, 1)) * rng.uniform(1, 2) for value in common)

    def start(self) -> Genome:
        return self._start

    def step(self, genome: Genome, rng: random.Random) -> Genome:
        moved = list(genome)
        for place in rng.sample(range(self.size), rng.randint(1, 3)):
            moved[place] += rng.gauss(0, 0.5)
        return tuple(moved)

    def rewritten(self, genome: Genome, rng: random.Random) -> Genome:
        return tuple(rng.gauss(0, 1.5) if rng.random() < 0.3 else value for value in genome)

    def cross(self, genome: Genome, other: Genome, rng: random.Random) -> Genome:
        return _mixed(genome, other, rng)

    def costs(self, genome: Genome) -> list[int]:
        rows = zip(self.places, self.weights, self.optima, strict=True)
        return [round(UNIT * sum(w * (genome[p] - o) ** 2 for p, w, o in zip(*row, strict=True)) / 14) for row in rows]


class Deceptive:
    """Two families of programs, each 16 numbers with optima of their own, as in `smooth` (d: the distance, 1 at first).
    The first one costs 0.4 + 0.6 d, and 0.7 + 0.3 d on two of the instances: never less than 0.4. The second one
    costs 1.3 d, and 0.6 d on those two: worse at first, better in the end. An edit stays in its family but once in
    fifty; half of the full rewrites begin the other one."""

    def __init__(self, rng: random.Random) -> None:
        self.families = (Smooth(rng), Smooth(rng))

    def start(self) -> Genome:
        return (0.0, *self.families[0].start())

    def step(self, genome: Genome, rng: random.Random) -> Genome:
        family = self.families[int(genome[0])]
        if rng.random() < 0.02:
            return self._other(genome, rng)
        return (genome[0], *family.step(genome[1:], rng))

    def rewritten(self, genome: Genome, rng: random.Random) -> Genome:
        if rng.random() < 0.5:
            return self._other(genome, rng)
        return (genome[0], *self.families[int(genome[0])].rewritten(genome[1:], rng))

    def cross(self, genome: Genome, other: Genome, rng: random.Random) -> Genome:
        if genome[0] != other[0]:
            return self.step(genome, rng)
        return (genome[0], *self.families[int(genome[0])].cross(genome[1:], other[1:], rng))

    def costs(self, genome: Genome) -> list[int]:
        distances = self.families[int(genome[0])].costs(genome[1:])
        if genome[0]:
            return [round(cost * (1.3 if i > 1 else 0.6)) for i, cost in enumerate(distances)]
        return [
            round(0.4 * UNIT + 0.6 * cost if i > 1 else 0.7 * UNIT + 0.3 * cost) for i, cost in enumerate(distances)
        ]

    def _other(self, genome: Genome, rng: random.Random) -> Genome:
        start = self.families[1 - int(genome[0])].start()
        return (1 - genome[0], *(value + rng.gauss(0, 0.1) for value in start))


class Plateaus:
    """30 choices out of four; each instance wants 10 of them right, in an order of its own, and costs how many are
    missing after the first one that is wrong. An edit draws one to three choices again: most change no cost."""

    size = 30

    def __init__(self, rng: random.Random) -> None:
        self.right = [rng.randrange(4) for _ in range(self.size)]
        self.places = [rng.sample(range(self.size), 10) for _ in range(INSTANCES)]
        self._start = tuple(float((right + rng.randint(1, 3)) % 4) for right in self.right)

    def start(self) -> Genome:
        return self._start

    def step(self, genome: Genome, rng: random.Random) -> Genome:
        drawn = list(genome)
        for place in rng.sample(range(self.size), rng.randint(1, 3)):
            drawn[place] = float(rng.randrange(4))
        return tuple(drawn)

    def rewritten(self, genome: Genome, rng: random.Random) -> Genome:
        return tuple(float(rng.randrange(4)) if rng.random() < 0.3 else value for value in genome)

    def cross(self, genome: Genome, other: Genome, rng: random.Random) -> Genome:
        return _mixed(genome, other, rng)

    def costs(self, genome: Genome) -> list[int]:
        return [UNIT * (10 - self._reached(genome, places)) // 10 for places in self.places]

    def _reached(self, genome: Genome, places: Sequence[int]) -> int:
        return next((n for n, place in enumerate(places) if genome[place] != self.right[place]), len(places))


class HeavyTailed:
    """A program is what it costs. Six edits of seven make it dearer, by a factor of a few percent; one makes it cheaper
    by a Pareto factor (exponent 1.3, from 2 %), shared among three of the instances; nothing is cheaper than 5 %."""

    def __init__(self, rng: random.Random) -> None:
        self._start = tuple(rng.uniform(0.8, 1.2) for _ in range(INSTANCES))

    def start(self) -> Genome:
        return self._start

    def step(self, genome: Genome, rng: random.Random) -> Genome:
        return self._moved(genome, rng, 1)

    def _moved(self, genome: Genome, rng: random.Random, scale: float) -> Genome:
        touched = rng.sample(range(INSTANCES), 3)
        better = rng.random() < 1 / 7
        moved = list(genome)
        for instance in touched:
            gain = 0.02 * scale * rng.paretovariate(1.3) if better else -abs(rng.gauss(0, 0.04 * scale))
            moved[instance] = max(0.05, moved[instance] * math.exp(-gain))
        return tuple(moved)

    def rewritten(self, genome: Genome, rng: random.Random) -> Genome:
        return self._moved(self._moved(genome, rng, 2), rng, 2)

    def cross(self, genome: Genome, other: Genome, rng: random.Random) -> Genome:
        return tuple(value * math.exp(abs(rng.gauss(0, 0.02))) for value in _mixed(genome, other, rng))

    def costs(self, genome: Genome) -> list[int]:
        return [round(UNIT * value) for value in genome]


LANDSCAPES: Final[Mapping[str, Any]] = {
    "smooth": Smooth,
    "deceptive": Deceptive,
    "plateaus": Plateaus,
    "heavy-tailed": HeavyTailed,
}


@dataclass
class Simulation:
    """One run of a search on a landscape. What is drawn is drawn by the seed, the generation and nothing else."""

    landscape: Landscape
    seed: int
    genomes: dict[str, Genome] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    known: dict[Genome, str] = field(default_factory=dict)

    def begin(self) -> EndedGeneration:
        """The initial program, which is correct."""
        return self._program(0, None, self.landscape.start(), 1000, None)

    def end(self, generation: int, choice: Choice) -> EndedGeneration:
        """What becomes of a choice."""
        rng = random.Random(f"{self.seed}:{generation}:proposal")
        parent = self.genomes[choice.parent.commit]
        length = round(self.lengths[choice.parent.commit] * rng.uniform(0.98, 1.08))
        if choice.kind is PatchKind.FIX:
            genome = parent
            fails = rng.random() > choice.parent.combined_score
        else:
            fails = rng.random() < min(0.6, 0.15 + 0.1 * (length / 1000 - 1))
            if choice.kind is PatchKind.FULL:
                genome = self.landscape.rewritten(parent, rng)
                fails = fails or rng.random() < 0.2
            elif choice.kind is PatchKind.CROSS:
                other = self.genomes[choice.inspirations[-1].commit]
                genome = self.landscape.cross(parent, other, rng)
            else:
                genome = self.landscape.step(parent, rng)
        if genome in self.known and choice.kind is not PatchKind.FIX:
            parent_commit = choice.parent.commit
            return EndedGeneration(generation=generation, status=Status.DUPLICATE, parent=parent_commit, program=None)
        share = rng.randrange(INSTANCES) / INSTANCES
        return self._program(generation, choice, genome, length, share if fails else None)

    def _program(
        self, generation: int, choice: Choice | None, genome: Genome, length: int, succeeds: float | None
    ) -> EndedGeneration:
        """`succeeds`: on which share of the instances a program succeeds that fails; None of a correct one."""
        commit = f"{generation:040x}"
        self.genomes[commit], self.lengths[commit] = genome, length
        self.known[genome] = commit
        costs = self.landscape.costs(genome)
        correct = succeeds is None
        score = 1 - sum(costs) / len(costs) / UNIT if succeeds is None else succeeds
        program = ProgramRecord(
            generation=generation,
            commit=commit,
            parents=() if choice is None else (choice.parent.commit,),
            inspirations=() if choice is None else tuple(one.commit for one in choice.inspirations),
            island=0 if choice is None else choice.island,
            origin=Origin(
                kind=PatchKind.INITIAL if choice is None else choice.kind, model="", patch_name="", description=""
            ),
            source_hash=commit,
            outcome=Outcome.OK if correct else Outcome.EXCEPTION,
            combined_score=score,
            ceiling=None,
            quarantine=None,
            metrics={},
            behaviour=" ".join(map(str, costs)) if correct else commit,
            costs=" ".join(map(str, costs)) if correct else "",
            objective=SCORE_ITSELF,
            length=length,
        )
        return EndedGeneration(
            generation=generation,
            status=Status.EVALUATED,
            parent=None if choice is None else choice.parent.commit,
            program=program,
        )


def simulate(landscape: str, seed: int, search: Mapping[str, Any], attempts: int) -> float:
    """The best score of a correct program after a number of proposals."""
    world = Simulation(LANDSCAPES[landscape](random.Random(f"{landscape}:{seed}")), seed)
    kinds = frozenset({PatchKind.DIFF, PatchKind.FULL, PatchKind.CROSS, PatchKind.FIX})
    settings = SearchSettings(
        config=SearchConfig(**search),
        seed=seed,
        shares={"plain": 1.0},
        kinds={"plain": kinds},
    )
    engine = open_search(settings)
    ended = world.begin()
    best = ended.program.combined_score  # type: ignore[union-attr]
    engine.ended(ended)
    for generation in range(1, attempts + 1):
        ended = world.end(generation, engine.choose(generation))
        engine.ended(ended)
        if ended.program is not None and ended.program.correct:
            best = max(best, ended.program.combined_score)
    return best


def _job(job: tuple[str, int, Mapping[str, Any], int]) -> float:
    return simulate(*job)


ROWS: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "strategies": {
        "the default": {},
        "`strategy: sequential`": {"strategy": "sequential"},
        "`strategy: best_of_n`": {"strategy": "best_of_n"},
        "`stagnation: 0`": {"stagnation": 0},
        "`by_instance: 0`": {"by_instance": 0.0},
        "`strategy: islands, islands: 2`": {"strategy": "islands", "islands": 2},
        "`strategy: islands`": {"strategy": "islands"},
    },
    "longer": {
        "the default": {},
        "`strategy: sequential`": {"strategy": "sequential"},
        "`stagnation: 15`": {"stagnation": 15},
        "`strategy: islands, islands: 2`": {"strategy": "islands", "islands": 2},
        "`strategy: islands`": {"strategy": "islands"},
    },
    "wide": {
        "`stagnation: 0`": {"stagnation": 0},
        "`by_instance: 0`": {"stagnation": 0, "by_instance": 0.0},
        "`strategy: islands`": {"stagnation": 0, "strategy": "islands"},
    },
}
"""The tables of the page: the first row of each is what the others are compared with."""
ATTEMPTS: Final[Mapping[str, int]] = {"strategies": 100, "longer": 200, "wide": 100}
"""Proposals of each run of a table."""


def table(found: Mapping[tuple[str, str], Sequence[float]], rows: Sequence[str], attempts: int) -> str:
    """The medians, and behind each the median of the differences to the first row, seed by seed, with its interval."""
    names = list(LANDSCAPES)
    seeds = len(found[rows[0], names[0]])
    lines = [
        f"The best score found after {attempts} proposals (1: nothing costs anything), median of {seeds} seeds; behind",
        "it the median of the difference to the first row, seed by seed, with its 95 % interval. **Bold**: without 0.",
        "",
        f"| search | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for row in rows:
        cells = [_cell(found[row, name], found[rows[0], name], own=row == rows[0]) for name in names]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(values: Sequence[float], default: Sequence[float], *, own: bool) -> str:
    shown = f"{median(values):.3f}"
    if own:
        return shown
    differences = [value - other for value, other in zip(values, default, strict=True)]
    interval = median_interval(differences, least=LEVEL)
    assert interval is not None
    change = f"{median(differences):+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"
    return f"{shown} **{change}**" if interval.low > 0 or interval.high < 0 else f"{shown} {change}"


def main() -> None:
    """Measure, and print the table or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="how many runs each row has on each landscape")
    parser.add_argument("--only", nargs="*", default=list(ROWS), choices=list(ROWS), help="which tables")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    arguments = parser.parse_args()
    with Pool() as pool:
        for group in arguments.only:
            found: dict[tuple[str, str], list[float]] = {}
            for row, search in ROWS[group].items():
                for name in LANDSCAPES:
                    jobs = [(name, seed, search, ATTEMPTS[group]) for seed in range(arguments.seeds)]
                    found[row, name] = pool.map(_job, jobs, chunksize=10)
                sys.stderr.write(f"{row}: {[round(median(found[row, name]), 3) for name in LANDSCAPES]}\n")
            rows = table(found, list(ROWS[group]), ATTEMPTS[group])
            if arguments.write:
                write(group, rows)
            else:
                sys.stdout.write(f"{rows}\n")


def write(group: str, rows: str) -> None:
    """Put a table between its marks in the page."""
    head, begin, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- measured: {group} -->\n")
    _, end, tail = rest.partition(f"<!-- end of {group} -->")
    if not begin or not end:
        raise SystemExit(f"{PAGE}: it lacks the marks between which the table {group!r} stands")
    PAGE.write_text(head + begin + rows + end + tail, encoding="utf-8")


if __name__ == "__main__":
    main()

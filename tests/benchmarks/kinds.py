"""When crossovers and repairs are first asked for: rules compared on landscapes, through the real `Search` interface.

    PYTHONPATH=. python tests/benchmarks/kinds.py [--seeds 200] [--only LANDSCAPE ...] [--check]

The four landscapes of `landscapes.py`, and `ideas`: a model that errs as one did in a run that was answered by
hand. It has the same few ideas first, whatever was tried before; it carries ideas over from programs that it is shown;
one change of ten does nothing. Everywhere a program that fails goes back to its model once, which mostly repairs it.
Printed are the best scores after 20, 45 and 100 proposals, and how they differ from those of the first row, seed by
seed, with a 95 % interval of the mean. `--check` prints what became of the first 24 proposals instead.
"""

import argparse
import math
import random
from collections import Counter
from collections.abc import Mapping
from multiprocessing import Pool
from statistics import mean, median, stdev
from typing import Any, Final

from evolve.archive.events import Status
from evolve.archive.records import EndedGeneration
from evolve.core.config import SearchConfig
from evolve.core.program import PatchKind
from evolve.proposal import Choice, SearchSettings
from evolve.search.evolution import Evolution
from evolve.search.population import Population
from tests.benchmarks.landscapes import INSTANCES, LANDSCAPES, UNIT, Genome, Simulation

MARKS: Final = (20, 45, 100)
KINDS: Final = frozenset({PatchKind.DIFF, PatchKind.FULL, PatchKind.CROSS, PatchKind.FIX})
FAILS: Final = 0.15
REPAIRED: Final = 2 / 3
"""How often an answer fails, and how often the model that it goes back to repairs it."""
CARRIES: Final = 0.3
"""How often a change carries an idea over from a program that is shown, where the landscape has ideas."""


class Ideas:
    """24 ideas, each in a program (how well it is carried out, 1 on average) or not in it (0). Two of three help on
    most instances, the others harm; every sixth pair helps or harms together. A cost falls by half with every unit of
    gain. The model thinks of idea n with a weight of 1 / n."""

    count = 24

    def __init__(self, rng: random.Random) -> None:
        worth = [
            abs(rng.gauss(0, 0.25)) if rng.random() < 2 / 3 else -abs(rng.gauss(0, 0.1)) for _ in range(self.count)
        ]
        self.gains = [[value + rng.gauss(0, 0.08) for _ in range(INSTANCES)] for value in worth]
        pairs = [(a, b) for a in range(self.count) for b in range(a) if rng.random() < 1 / 6]
        self.pairs = [(a, b, rng.gauss(0, 0.06)) for a, b in pairs]

    def start(self) -> Genome:
        return (0.0,) * (self.count + 1)

    def step(self, genome: Genome, rng: random.Random) -> Genome:
        changed, what = list(genome), rng.random()
        present = [at for at in range(self.count) if genome[at]]
        if what < 0.1:
            changed[-1] = rng.random()  # nothing that matters
        elif what < 0.3 and present:
            at = rng.choice(present)
            changed[at] = max(0.1, genome[at] + rng.gauss(0, 0.3))
        elif what < 0.35 and present:
            changed[rng.choice(present)] = 0.0
        else:
            self._add(changed, rng)
        return tuple(changed)

    def carried(self, genome: Genome, other: Genome, rng: random.Random) -> Genome:
        """It with one idea of a program that was shown; another change, where that has none."""
        absent = [at for at in range(self.count) if other[at] and not genome[at]]
        if not absent:
            return self.step(genome, rng)
        at = rng.choice(absent)
        return tuple(other[place] if place == at else value for place, value in enumerate(genome))

    def rewritten(self, genome: Genome, rng: random.Random) -> Genome:
        changed = [value if rng.random() < 0.7 else 0.0 for value in genome]
        for _ in range(2):
            self._add(changed, rng)
        return tuple(changed)

    def cross(self, genome: Genome, other: Genome, rng: random.Random) -> Genome:
        """What both have from one of them, nearly all of the rest of it, and half of the rest of the other."""
        return tuple(
            rng.choice((a, b)) if a and b else a * (rng.random() < 0.9) + b * (rng.random() < 0.5)
            for a, b in zip(genome, other, strict=True)
        )

    def costs(self, genome: Genome) -> list[int]:
        together = sum(worth * min(genome[a], genome[b]) for a, b, worth in self.pairs)
        own = [sum(genome[at] * self.gains[at][i] for at in range(self.count)) for i in range(INSTANCES)]
        return [round(UNIT * 2.0 ** -(gain + together)) for gain in own]

    def _add(self, changed: list[float], rng: random.Random) -> None:
        absent = [at for at in range(self.count) if not changed[at]]
        if absent:
            (at,) = rng.choices(absent, weights=[1 / (at + 1) for at in absent])
            changed[at] = max(0.1, rng.gauss(1, 0.3))


WORLDS: Final[Mapping[str, Any]] = {"ideas": Ideas, **LANDSCAPES}


class Model(Simulation):
    """What answers a choice: a program that failed goes back to it once."""

    def end(self, generation: int, choice: Choice) -> EndedGeneration:
        rng = random.Random(f"{self.seed}:{generation}:proposal")
        parent = self.genomes[choice.parent.commit]
        length = round(self.lengths[choice.parent.commit] * rng.uniform(0.98, 1.08))
        if choice.kind is PatchKind.FIX:
            genome, fails = parent, rng.random() > choice.parent.combined_score
        else:
            genome = self._answer(parent, choice, rng)
            fails = rng.random() < FAILS + 0.2 * (choice.kind is PatchKind.FULL) and rng.random() > REPAIRED
            if genome in self.known:
                status, commit = Status.DUPLICATE, choice.parent.commit
                return EndedGeneration(generation=generation, status=status, parent=commit, program=None)
        share = rng.randrange(INSTANCES) / INSTANCES
        return self._program(generation, choice, genome, length, share if fails else None)

    def _answer(self, parent: Genome, choice: Choice, rng: random.Random) -> Genome:
        world = self.landscape
        if choice.kind is PatchKind.FULL:
            return world.rewritten(parent, rng)
        if choice.kind is PatchKind.CROSS:
            return world.cross(parent, self.genomes[choice.inspirations[-1].commit], rng)
        if isinstance(world, Ideas) and choice.inspirations and rng.random() < CARRIES:
            return world.carried(parent, self.genomes[rng.choice(choice.inspirations).commit], rng)
        return world.step(parent, rng)


class Ruled(Evolution):
    """The search with another rule: while the best program is refined, crossovers (of six elites or more) and repairs
    are asked for with their weight times `share`, once `after` proposals have brought no best."""

    def __init__(self, settings: SearchSettings, *, share: float = 0, after: int = 0) -> None:
        super().__init__(settings)
        self._share, self._after = share, after

    def _asked_for(
        self, population: Population, wide: bool, kinds: Mapping[PatchKind, float]
    ) -> Mapping[PatchKind, float]:
        if wide:
            return kinds
        asked = {kind: weight for kind, weight in kinds.items() if kind in (PatchKind.DIFF, PatchKind.FULL)}
        if self._share and population.since_best >= self._after:
            asked[PatchKind.FIX] = self._share * kinds[PatchKind.FIX]
            if len(population.elites) >= 6:
                asked[PatchKind.CROSS] = self._share * kinds[PatchKind.CROSS]
        return asked


ROWS: Final[Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]] = {
    "both after 30 without a best": ({}, {}),
    "`stagnation: 15`": ({"stagnation": 15}, {}),
    "`stagnation: 10`": ({"stagnation": 10}, {}),
    "both at once": ({}, {"share": 1}),
    "at once, an eighth as often": ({}, {"share": 1 / 8}),
    "after 5": ({}, {"share": 1, "after": 5}),
    "after 5, half as often": ({}, {"share": 1 / 2, "after": 5}),
    "after 4, half as often": ({}, {"share": 1 / 2, "after": 4}),
    "after 3, a quarter as often": ({}, {"share": 1 / 4, "after": 3}),
}
"""Keys of the configuration, and of Ruled."""

Run = tuple[list[float], list[str]]


def simulate(job: tuple[str, int, str]) -> Run:
    """The best score at each mark, and the kind and outcome of each proposal."""
    world, seed, row = job
    search, rule = ROWS[row]
    model = Model(WORLDS[world](random.Random(f"{world}:{seed}")), seed)
    settings = SearchSettings(config=SearchConfig(**search), seed=seed, shares={"m": 1.0}, kinds={"m": KINDS})
    engine = Ruled(settings, **rule)
    first = model.begin()
    engine.ended(first)
    best, scores, outcomes = first.program.combined_score, [], []  # type: ignore[union-attr]
    for generation in range(1, MARKS[-1] + 1):
        choice = engine.choose(generation)
        ended = model.end(generation, choice)
        engine.ended(ended)
        made = ended.program
        if made is None or not made.correct:
            outcome = "nothing new" if made is None else "failed"
        else:
            against = made.combined_score - choice.parent.combined_score
            new_best, best = made.combined_score > best, max(best, made.combined_score)
            outcome = "new best" if new_best else "better" if against > 0 else "worse" if against < 0 else "the same"
        outcomes.append(f"{choice.kind.value}: {outcome}")
        if generation in MARKS:
            scores.append(best)
    return scores, outcomes


def difference(values: list[float], first: list[float]) -> str:
    """The mean of the paired differences with its 95 % interval."""
    each = [100 * (value - other) for value, other in zip(values, first, strict=True)]
    half = 1.96 * stdev(each) / math.sqrt(len(each))
    mark = "**" if abs(mean(each)) > half else ""
    return f"{mark}{mean(each):+.2f} +- {half:.2f}{mark}"


def check(found: Mapping[str, list[Run]]) -> None:
    """What became of the first 24 proposals, by the first row."""
    counts = Counter(what.partition(": ")[2] for _, outcomes in found[next(iter(ROWS))] for what in outcomes[:24])
    print("  of 24:", ", ".join(f"{what} {24 * n / counts.total():.1f}" for what, n in counts.most_common()))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--only", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    with Pool(2) as pool:
        for world in given.only:
            rows = list(ROWS)[:1] if given.check else list(ROWS)
            found = {row: pool.map(simulate, [(world, seed, row) for seed in range(given.seeds)]) for row in rows}
            print(f"\n{world}, {given.seeds} seeds; differences in hundredths of the score")
            check(found)
            for row, runs in found.items():
                cells = []
                for at, mark in enumerate(MARKS):
                    values, first = ([scores[at] for scores, _ in each] for each in (runs, found[rows[0]]))
                    cells.append(f"{mark}: {median(values):.3f} {'' if row == rows[0] else difference(values, first)}")
                asked = [Counter(what.partition(": ")[0] for what in outcomes[:45]) for _, outcomes in runs]
                shares = {kind: 100 * mean(one[kind] > 0 for one in asked) for kind in ("cross", "fix")}
                seen = ", ".join(f"{kind} {share:.0f} %" for kind, share in shares.items())
                print(f"  {row:28} {' | '.join(cells)} | seen in 45: {seen}", flush=True)


if __name__ == "__main__":
    main()

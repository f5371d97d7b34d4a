"""Islands: populations that go on beside each other, the programs that are copied from one to the next, and when one
is begun anew."""

from collections.abc import Iterator

from evolve.archive.ranking import better, rank_key
from evolve.archive.records import EndedGeneration, Migration, ProgramRecord
from evolve.config import SearchConfig
from evolve.search.champions import Champions
from evolve.search.population import Population

RESET_EVERY = 4
"""At every migration of that number the island with the worst best is begun anew."""


class Island:
    """A population, the best program that it knows, and how many generations of its own ended since that one came."""

    def __init__(self, *, elites: int) -> None:
        self.population = Population(elites=elites)
        self.best: ProgramRecord | None = None
        self.since_best = 0

    def ended(self, ended: EndedGeneration) -> None:
        """Take up a generation of the island that ended."""
        self.since_best += 1
        self._crown(ended.program)
        self.population.ended(ended)

    def copy(self, record: ProgramRecord) -> bool:
        """Take up a correct program of another island; whether it came among the elites, else nothing has changed."""
        if not self.population.admits(record):
            return False
        self._crown(record)
        self.population.take_up(record)
        return True

    def _crown(self, record: ProgramRecord | None) -> None:
        if record is not None and better(record, self.best):
            self.best, self.since_best = record, 0


class Archipelago:
    """All islands of a search. A generation belongs to one of them, in turn; the initial program to each."""

    def __init__(self, config: SearchConfig) -> None:
        self._elites = config.elites
        self._every = config.migrate_every
        self._islands = [Island(elites=config.elites) for _ in range(config.islands)]
        self._ended = 0

    def __len__(self) -> int:
        return len(self._islands)

    def __getitem__(self, number: int) -> Island:
        return self._islands[number]

    def __iter__(self) -> Iterator[ProgramRecord]:
        """Every program that may be shown; one may come more than once."""
        for island in self._islands:
            yield from island.population

    def number(self, generation: int) -> int:
        """The island of a generation, from 1 on."""
        return (generation - 1) % len(self._islands)

    def ended(self, ended: EndedGeneration) -> list[Migration]:
        """Take up a generation that ended; the programs that are known on one more island from now on."""
        if ended.generation == 0:
            for island in self._islands:
                island.ended(ended)
            return []
        self._islands[self.number(ended.generation)].ended(ended)
        self._ended += 1
        if len(self._islands) == 1 or self._ended % self._every:
            return []
        return self._migrate(reset=self._ended % (self._every * RESET_EVERY) == 0)

    def _migrate(self, *, reset: bool) -> list[Migration]:
        """Copy the best program of each island to the next one, all at once; none to the one that is begun anew."""
        bests = [island.best for island in self._islands]
        worst = max(range(len(bests)), key=lambda at: _rank(bests[at])) if reset else None
        moved = [] if worst is None else self._begin_anew(worst)
        renewed = worst if moved else None
        for source, best in enumerate(bests):
            target = (source + 1) % len(bests)
            if best is not None and target != renewed and self._islands[target].copy(best):
                moved.append(Migration(generation=best.generation, source=source, target=target, reset=False))
        return moved

    def _begin_anew(self, target: int) -> list[Migration]:
        """Empty an island, and let it begin with programs that are the best on some instance among the other islands.

        Those that are the best of an island are refined there already: they come only where there are no others.
        """
        others = [at for at, island in enumerate(self._islands) if at != target and island.best is not None]
        bests = {best.commit: (at, best) for at in reversed(others) if (best := self._islands[at].best) is not None}
        champions, home = Champions(), dict[str, int]()
        for at in others:
            for champion in self._islands[at].population.champions:
                champions.take_up(champion.record)
                home.setdefault(champion.record.commit, at)
        found = {champion.record.commit: champion.record for champion in champions}
        diverse = [(home[commit], record) for commit, record in found.items() if commit not in bests]
        # The best of an island need not be among its elites: it may have ended after one of them that behaves alike.
        diverse = diverse or [bests[commit] for commit in reversed(bests)]
        if not diverse:
            return []
        self._islands[target] = island = Island(elites=self._elites)
        return [
            Migration(generation=record.generation, source=source, target=target, reset=True)
            for source, record in diverse
            if island.copy(record)
        ]


def _rank(best: ProgramRecord | None) -> tuple[float, ...]:
    """Sorts the bests of islands, the worst last: where there is none, it is worse than any."""
    return (1.0,) if best is None else (0.0, *rank_key(best))

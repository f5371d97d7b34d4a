"""The strategy `islands`: populations that go on side by side. The best programs are copied from one to the next, and
now and then the worst island is begun again. All of it follows from the generations that ended, in their order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from evolve.archive.ranking import rank_key
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.core.config import SearchConfig
from evolve.proposal import Choice, SearchSettings
from evolve.search.champions import Champions
from evolve.search.evolution import Evolution
from evolve.search.population import Population

RESET_EVERY = 4
"""At every migration of that number the island with the worst best is begun again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A program of island `source` is known on `target` too from now on; `reset`: that one was begun again with it."""

    generation: int
    source: int
    target: int
    reset: bool


class Islands(Evolution):
    """Each island refines and widens by itself, as `evolve` does."""

    def __init__(self, settings: SearchSettings) -> None:
        super().__init__(settings)
        self._islands = Archipelago(settings.config)

    def choose(self, generation: int) -> Choice:
        """See Search.choose. Raises ValueError before any program is on record."""
        number = self._islands.number(generation)
        return self._choose_from(self._islands.populations[number], generation, island=number)

    def ended(self, ended: EndedGeneration) -> None:
        """See Search.ended."""
        self._islands.ended(ended)
        self._take_note(ended, shown=chain(*self._islands.populations))

    def confirmed(self, record: ProgramRecord) -> None:
        """See Search.confirmed."""
        self._arms.confirmed(record)
        self._islands.confirmed(record)
        self._look_again(shown=chain(*self._islands.populations))


class Archipelago:
    """The populations. A generation belongs to one of them, in turn; the initial program to each."""

    def __init__(self, config: SearchConfig) -> None:
        self._elites = config.elites
        self._every = config.migrate_every
        self.populations = [Population(elites=config.elites) for _ in range(config.islands)]
        self._ended = 0
        self._initial: EndedGeneration | None = None

    def number(self, generation: int) -> int:
        """The island of a generation, from 1 on."""
        return (generation - 1) % len(self.populations)

    def ended(self, ended: EndedGeneration) -> Sequence[Copy]:
        """Take up a generation that ended; the copies that follow from it."""
        if ended.generation == 0:
            self._initial = ended
            for population in self.populations:
                population.ended(ended)
            return []
        self.populations[self.number(ended.generation)].ended(ended)
        self._ended += 1
        if self._ended % self._every:
            return []
        return self._migrate(reset=self._ended % (self._every * RESET_EVERY) == 0)

    def confirmed(self, record: ProgramRecord) -> None:
        """A program was confirmed or withdrawn. An island that is left with nothing is begun again."""
        for population in self.populations:
            population.confirmed(record)
        for at, population in enumerate(self.populations):
            if not population.elites and population.nearest is None:
                self._begin_again(at)
            if self._initial is not None and not self.populations[at].elites and self.populations[at].nearest is None:
                self.populations[at].ended(self._initial)

    def _migrate(self, *, reset: bool) -> list[Copy]:
        """Copy the best program of each island to the next one, all at once; none to the one that is begun again."""
        bests = [population.best for population in self.populations]
        worst = max(range(len(bests)), key=lambda at: _rank(bests[at])) if reset else None
        moved = [] if worst is None else self._begin_again(worst)
        renewed = worst if moved else None
        for source, best in enumerate(bests):
            target = (source + 1) % len(bests)
            if best is not None and target != renewed:
                moved += self._copy([(source, best)], target, reset=False)
        return moved

    def _begin_again(self, target: int) -> list[Copy]:
        """Empty an island, and let it begin with programs that are the best on some instance among the other islands.

        Those that are the best of an island are refined there already: they come only where there are no others.
        """
        others = [at for at, population in enumerate(self.populations) if at != target and population.best is not None]
        bests = {best.commit: (at, best) for at in reversed(others) if (best := self.populations[at].best) is not None}
        champions, home = Champions(), dict[str, int]()
        for at in others:
            for champion in self.populations[at].champions:
                champions.take_up(champion.record)
                home.setdefault(champion.record.commit, at)
        records = {champion.record.commit: champion.record for champion in champions}
        diverse = [(home[commit], record) for commit, record in records.items() if commit not in bests]
        # The best of an island need not be among its elites: it may have ended after one of them that behaves alike.
        diverse = diverse or [bests[commit] for commit in reversed(bests)]
        if not diverse:
            return []
        self.populations[target] = Population(elites=self._elites)
        return self._copy(diverse, target, reset=True)

    def _copy(self, programs: Iterable[tuple[int, ProgramRecord]], target: int, *, reset: bool) -> list[Copy]:
        """Copy programs, each with its island, to one where they come among the elites."""
        moved = []
        for source, record in programs:
            if self.populations[target].admits(record):
                self.populations[target].take_up(record)
                moved.append(Copy(generation=record.generation, source=source, target=target, reset=reset))
        return moved


def _rank(best: ProgramRecord | None) -> tuple[float, ...]:
    """Sorts the bests of islands, the worst last: where there is none, it is worse than any."""
    return (1.0,) if best is None else (0.0, *rank_key(best))

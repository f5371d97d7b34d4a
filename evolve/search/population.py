"""What the search goes by: the elites, those that are best on some instance, the failures worth mending, and how often
each program was a parent."""

from bisect import insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from evolve.archive.ranking import better, rank_key, rank_score
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.search.champions import Champions
from evolve.search.select import admit

MENDABLE = 8
"""How many of the best failed programs may get a repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mendable:
    """A failed program that no repair was asked for, and its parent's rank."""

    record: ProgramRecord
    parent_score: float

    @property
    def key(self) -> tuple[float, float, int]:
        """Sorts failures best first: those that succeed on most instances (the score of a failed program), of these
        the ones made from the best parent, of these the newest."""
        return -self.record.combined_score, -self.parent_score, -self.record.generation


class Population:
    """Changes with every generation that ends; each change costs the same however long the run is, but for a program
    that is withdrawn."""

    def __init__(self, *, elites: int) -> None:
        self._size = elites
        self.elites: tuple[ProgramRecord, ...] = ()
        self.champions = Champions()
        self.best: ProgramRecord | None = None
        self.nearest: ProgramRecord | None = None
        """The failed program that succeeds on most instances, the earliest of equals: what is repaired while no program
        is correct."""
        self._failures: list[Mendable] = []
        self._offspring: Counter[str] = Counter()
        self._correct: dict[str, tuple[int, ProgramRecord]] = {}  # by commit, with how many had ended then, in order
        self._ended = self._ended_at_best = 0

    @property
    def since_best(self) -> int:
        """How many generations ended since the best program came."""
        return self._ended - self._ended_at_best

    @property
    def offspring(self) -> Mapping[str, int]:
        """How many generations each program was the parent of."""
        return self._offspring

    def admits(self, record: ProgramRecord) -> bool:
        """Whether a correct program would be one of the elites."""
        return admit(self.elites, record, size=self._size) != self.elites

    def take_up(self, record: ProgramRecord) -> None:
        """Take up a correct program."""
        self._correct.setdefault(record.commit, (self._ended, record))
        self._admit(self._ended, record)

    def _admit(self, ended: int, record: ProgramRecord) -> None:
        if better(record, self.best):
            self.best, self._ended_at_best = record, ended
        self.elites = admit(self.elites, record, size=self._size)
        self.champions.take_up(record)

    def confirmed(self, record: ProgramRecord) -> None:
        """A program that was taken up has another record. Where that changes what it is worth, or it is withdrawn, what
        follows from all others is found again."""
        if record.commit not in self._correct:
            return
        ended, before = self._correct[record.commit]
        self._correct[record.commit] = ended, record
        if not record.correct:
            del self._correct[record.commit]
        elif record == before:
            return
        self.best, self.elites, self.champions, self._ended_at_best = None, (), Champions(), 0
        for ended, program in self._correct.values():
            self._admit(ended, program)

    @property
    def failed(self) -> Sequence[ProgramRecord]:
        """The best failures that no repair was asked for, best first."""
        return [failure.record for failure in self._failures]

    def __iter__(self) -> Iterator[ProgramRecord]:
        """Every program that may be shown; one may come twice."""
        yield from self.elites
        yield from (champion.record for champion in self.champions)
        yield from self.failed
        if self.nearest is not None:
            yield self.nearest

    def ended(self, ended: EndedGeneration) -> None:
        """Take up a generation that ended, with a program or without."""
        self._ended += 1
        if ended.parent is not None:
            self._offspring[ended.parent] += 1
            self._failures = [failure for failure in self._failures if failure.record.commit != ended.parent]
        record = ended.program
        if record is None or record.quarantine is not None:
            return
        if record.correct:
            self.take_up(record)
            return
        parent_score = next((rank_score(elite) for elite in self.elites if elite.commit == ended.parent), -inf)
        insort(self._failures, Mendable(record=record, parent_score=parent_score), key=lambda failure: failure.key)
        del self._failures[MENDABLE:]
        if self.nearest is None or rank_key(record) < rank_key(self.nearest):
            self.nearest = record

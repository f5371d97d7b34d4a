"""What the search goes by: the elites, the failures worth mending, and how often each program was a parent."""

from collections import Counter, deque
from collections.abc import Mapping

from evolve.archive.ranking import rank_key
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.search.select import admit

MENDABLE = 8
"""How many of the newest failed programs may be asked to be mended."""


class Population:
    """Changes with every generation that ends; each change costs the same however long the run is."""

    def __init__(self, *, elites: int) -> None:
        self._size = elites
        self.elites: tuple[ProgramRecord, ...] = ()
        self.failed: deque[ProgramRecord] = deque(maxlen=MENDABLE)
        self.nearest: ProgramRecord | None = None
        """The failed program that succeeds on most instances, the earliest of equals: what is mended while no program
        is correct."""
        self._offspring: Counter[str] = Counter()

    @property
    def offspring(self) -> Mapping[str, int]:
        """How many generations each program was the parent of."""
        return self._offspring

    def ended(self, ended: EndedGeneration) -> None:
        """Take up a generation that ended, with a program or without."""
        if ended.parent is not None:
            self._offspring[ended.parent] += 1
        record = ended.program
        if record is None or record.quarantine is not None:
            return
        if record.correct:
            self.elites = admit(self.elites, record, size=self._size)
            return
        self.failed.append(record)
        if self.nearest is None or rank_key(record) < rank_key(self.nearest):
            self.nearest = record

"""The facts of all generations of a run that goes on, each made once and again only when an event was about it."""

from collections.abc import Sequence
from itertools import islice

from evolve.archive.archive import Archive
from evolve.review.facts import FactsReader, GenerationFacts


class GatheredFacts:
    """Those of one archive. They are made a slice at a time, so that whoever else waits for the archive has a turn."""

    def __init__(self) -> None:
        self._facts: dict[int, GenerationFacts] = {}
        self._missing: set[int] = set()
        self._events = 0

    def gather(self, archive: Archive, most: int) -> bool:
        """Make up to `most` of those that are missing, or that an event was about since; whether all are there."""
        self._missing.update(archive.chronicle.touched(self._events))
        self._events = archive.chronicle.events
        some = list(islice(self._missing, most))
        self._facts |= {one.n: one for one in FactsReader(archive).facts(some)}
        self._missing.difference_update(some)
        return not self._missing

    @property
    def all(self) -> Sequence[GenerationFacts]:
        """Those that are there, lowest generation first."""
        return [self._facts[number] for number in sorted(self._facts)]

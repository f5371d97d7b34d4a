"""The default strategy: parents from one pool of elites by score and novelty, inspirations beside them."""

import random
from collections.abc import Iterable

from evolve.archive.records import EndedGeneration
from evolve.program import PatchKind
from evolve.proposal import Choice, SearchSettings
from evolve.search.population import Population
from evolve.search.select import choose, choose_model


class Evolution:
    """The search `evolve`. Every choice is drawn from a generator keyed by seed and generation."""

    def __init__(self, settings: SearchSettings) -> None:
        self._settings = settings
        weights = settings.config.kinds
        self._weights = {
            PatchKind.DIFF: weights.diff,
            PatchKind.FULL: weights.full,
            PatchKind.CROSS: weights.cross,
            PatchKind.FIX: weights.fix,
        }
        self._population = Population(elites=settings.config.elites)

    def choose(self, generation: int) -> Choice:
        """See Search.choose. Raises ValueError before any program is on record."""
        settings, population = self._settings, self._population
        rng = random.Random(f"{settings.seed}:{generation}:choose")
        model = choose_model(settings.shares, rng=rng)
        kinds = {kind: weight for kind, weight in self._weights.items() if kind in settings.kinds[model]}
        return choose(
            population.elites,
            population.nearest,
            population.offspring,
            failed=population.failed,
            kinds=kinds,
            inspirations=settings.config.inspirations,
            model=model,
            rng=rng,
        )

    def ended(self, ended: EndedGeneration) -> None:
        """See Search.ended."""
        self._population.ended(ended)

    def restore(self, history: Iterable[EndedGeneration]) -> None:
        """See Search.restore."""
        for ended in history:
            self._population.ended(ended)

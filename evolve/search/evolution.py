"""The default strategy: the best program is refined while that helps, and then the search widens."""

import random
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from evolve.archive.ranking import rank_score
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.core.program import PatchKind
from evolve.proposal import Choice, SearchSettings
from evolve.search.arms import Arms
from evolve.search.lineage import Lineage
from evolve.search.population import Population
from evolve.search.select import choose_inspirations, choose_kind, is_guided, parent_weights, shortness

_PLAIN = frozenset({PatchKind.DIFF, PatchKind.FULL, PatchKind.TUNE})
"""What is asked for while new bests come: earlier crossovers and repairs cost more than they bring (docs/search.md)."""


class Evolution:
    """The search `evolve`. Every choice is drawn from a generator keyed by seed and generation.

    While new bests come, the best program is the parent (of several with one score a shorter one is likelier). Once
    `stagnation` generations have brought none, parents are drawn widely: programs that are the best on some instance,
    and elites by score and novelty; crossovers and repairs are asked for too.
    """

    def __init__(self, settings: SearchSettings) -> None:
        self.settings = settings
        weights = settings.config.kinds
        self._weights = {
            PatchKind.DIFF: weights.diff,
            PatchKind.FULL: weights.full,
            PatchKind.CROSS: weights.cross,
            PatchKind.FIX: weights.fix,
            PatchKind.TUNE: weights.tune,
        }
        self._population = Population(elites=settings.config.elites)
        self._lineage = Lineage()
        self._arms = Arms(settings)
        self._tuned: set[str] = set()  # programs whose numbers were searched, and the results

    def choose(self, generation: int) -> Choice:
        """See Search.choose. Raises ValueError before any program is on record."""
        return self._choose_from(self._population, generation)

    def ended(self, ended: EndedGeneration) -> None:
        """See Search.ended."""
        self._population.ended(ended)
        self._take_note(ended, shown=self._population)

    def confirmed(self, record: ProgramRecord) -> None:
        """See Search.confirmed."""
        self._arms.confirmed(record)
        self._population.confirmed(record)
        self._look_again(shown=self._population)

    def _choose_from(self, population: Population, generation: int, *, island: int = 0) -> Choice:
        """What a generation works on that belongs to a population."""
        settings, config = self.settings, self.settings.config
        rng = random.Random(f"{settings.seed}:{generation}:choose")
        guided = is_guided(settings.seed, generation, unguided=config.unguided)
        wide = population.since_best >= config.stagnation
        model, picked = self._arms.choose(generation, rng)
        kinds = {kind: weight for kind, weight in self._weights.items() if kind in settings.kinds[model]}
        made = partial(Choice, island=island, model=model, guided=guided, picked=picked)
        return self._choice(population, wide, kinds, made, rng)

    def _take_note(self, ended: EndedGeneration, *, shown: Iterable[ProgramRecord]) -> None:
        """Take note of a generation that ended; `shown`: every program that may be shown from now on."""
        self._arms.ended(ended)
        if ended.kind is PatchKind.TUNE:
            self._tuned |= {commit for commit in (ended.parent, ended.program and ended.program.commit) if commit}
        if ended.program is not None:
            self._lineage.add(ended.program)
        self._lineage.keep({record.commit for record in shown})

    def _look_again(self, *, shown: Iterable[ProgramRecord]) -> None:
        """Programs that were no longer shown may be shown again, now that one was withdrawn."""
        self._lineage.keep(())
        self._lineage.keep({record.commit for record in shown})

    def _choice(
        self,
        population: Population,
        wide: bool,
        kinds: Mapping[PatchKind, float],
        made: Callable[..., Choice],
        rng: random.Random,
    ) -> Choice:
        """What the next generation works on; `made` makes a choice of a kind, a parent and inspirations.

        While no program is correct the nearest to it is the parent; it then gets a repair, if the proposer
        knows that kind. `kinds` maps the patch kinds that the proposer writes to their weights.
        """
        count = self.settings.config.inspirations
        if not population.elites:
            if population.nearest is None:
                raise ValueError("nothing is on record that could be a parent")
            kind = PatchKind.FIX if PatchKind.FIX in kinds else PatchKind.DIFF
            return made(kind=kind, parent=population.nearest, inspirations=())
        parent = self._parent(population, wide, rng)
        champions = {champion.record.commit: champion.record for champion in population.champions}.values()
        draw = partial(choose_inspirations, population.elites, champions, rng=rng)
        possible = self._asked_for(population, wide, kinds)
        crossing = possible.get(PatchKind.CROSS, 0) > 0
        unrelated = draw(count=count, fits=partial(self._is_unrelated, parent)) if crossing else ()
        needs = {PatchKind.CROSS: unrelated, PatchKind.FIX: population.failed}
        impossible = [kind for kind, found in needs.items() if not found]
        if parent.commit in self._tuned:
            impossible.append(PatchKind.TUNE)
        kind = choose_kind(possible, impossible=impossible, rng=rng)
        if kind is PatchKind.CROSS:
            return made(kind=kind, parent=parent, inspirations=unrelated)
        if kind is PatchKind.FIX:
            parent, count = population.failed[0], min(1, count)
        return made(kind=kind, parent=parent, inspirations=draw(count=count, fits=partial(self._is_another, parent)))

    def _asked_for(
        self, population: Population, wide: bool, kinds: Mapping[PatchKind, float]
    ) -> Mapping[PatchKind, float]:
        """The kinds that may be asked for now, by weight."""
        return {kind: weight for kind, weight in kinds.items() if wide or kind in _PLAIN}

    def _parent(self, population: Population, wide: bool, rng: random.Random) -> ProgramRecord:
        config = self.settings.config
        if not wide:
            top = rank_score(population.elites[0])
            best = [elite for elite in population.elites if rank_score(elite) == top]
            return best[0] if len(best) == 1 else rng.choices(best, weights=shortness(best))[0]
        if rng.random() < config.by_instance and len(population.champions):
            return population.champions[rng.randrange(len(population.champions))].record
        weights = parent_weights(population.elites, population.offspring)
        return rng.choices(population.elites, weights=weights)[0]

    def _is_another(self, parent: ProgramRecord, other: ProgramRecord) -> bool:
        return self._is_no_ancestor(parent, other) and not self._lineage.near_copies(parent, other)

    def _is_no_ancestor(self, parent: ProgramRecord, other: ProgramRecord) -> bool:
        return other.commit != parent.commit and other.commit not in self._lineage.ancestors(parent.commit)

    def _is_unrelated(self, parent: ProgramRecord, other: ProgramRecord) -> bool:
        return self._is_another(parent, other) and self._is_no_ancestor(other, parent)

"""The strategies that ship, by name, and those of others by dotted path; and the two plain ones that any other has to
beat."""

import random
from collections.abc import Callable, Iterable
from typing import cast

from evolve.archive.ranking import better, rank_key
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.core.dotted import is_dotted, open_dotted
from evolve.core.errors import InputError
from evolve.core.program import PatchKind
from evolve.proposal import Choice, SearchSettings
from evolve.seams import Search
from evolve.search.arms import Arms
from evolve.search.evolution import Evolution
from evolve.search.islands import Islands
from evolve.search.select import choose_kind, is_guided


class BestOfN:
    """The search `best_of_n`: every proposal changes the initial program, and none knows of another."""

    def __init__(self, settings: SearchSettings) -> None:
        self.settings = settings
        self.parent: ProgramRecord | None = None
        self._programs: dict[str, ProgramRecord] = {}  # those that can be believed, by commit, in order
        self._arms = Arms(settings)

    def choose(self, generation: int) -> Choice:
        """See Search.choose. Raises ValueError before any program is on record."""
        settings, parent = self.settings, self.parent
        if parent is None:
            raise ValueError("nothing is on record that could be a parent")
        rng = random.Random(f"{settings.seed}:{generation}:choose")
        model, picked = self._arms.choose(generation, rng)
        weights = {PatchKind.DIFF: settings.config.kinds.diff, PatchKind.FULL: settings.config.kinds.full}
        kinds = settings.kinds[model]
        if not parent.correct and PatchKind.FIX in kinds:
            kind = PatchKind.FIX
        else:
            kind = choose_kind({kind: weight for kind, weight in weights.items() if kind in kinds}, rng=rng)
        guided = is_guided(settings.seed, generation, unguided=settings.config.unguided)
        return Choice(kind=kind, island=0, parent=parent, inspirations=(), model=model, guided=guided, picked=picked)

    def ended(self, ended: EndedGeneration) -> None:
        """See Search.ended."""
        self._arms.ended(ended)
        if ended.program is not None and ended.program.quarantine is None:
            self._programs[ended.program.commit] = ended.program
            self.take_up(ended.program)

    def confirmed(self, record: ProgramRecord) -> None:
        """See Search.confirmed."""
        self._arms.confirmed(record)
        self._programs |= {record.commit: record}
        if not record.correct:
            del self._programs[record.commit]
        self.parent = None
        for program in self._programs.values():
            self.take_up(program)

    def take_up(self, record: ProgramRecord) -> None:
        """Take up a program that can be believed: the first one is the parent of all."""
        if self.parent is None:
            self.parent = record


class Sequential(BestOfN):
    """The search `sequential`: every proposal changes the best program so far; while none is correct, that which
    succeeds on most instances."""

    def take_up(self, record: ProgramRecord) -> None:
        """Take up a program that can be believed."""
        before = self.parent
        if record.correct:
            taken = before is None or not before.correct or better(record, before)
        else:
            taken = before is None or rank_key(record) < rank_key(before)
        if taken:
            self.parent = record


STRATEGIES: dict[str, Callable[[SearchSettings], Search]] = {
    "evolve": Evolution,
    "best_of_n": BestOfN,
    "islands": Islands,
    "sequential": Sequential,
}


def open_search(settings: SearchSettings) -> Search:
    """The strategy that the configuration names, before any event. Raises InputError for an unknown one."""
    name = settings.config.strategy
    if is_dotted(name):
        methods = ("choose", "ended", "confirmed")
        return cast(Search, open_dotted(name, settings, key="search.strategy", methods=methods))
    if name not in STRATEGIES:
        names = ", ".join(sorted(STRATEGIES))
        raise InputError(f"search.strategy: {name!r} is none of {names}, and no dotted path (package.module:Class)")
    return STRATEGIES[name](settings)


def recall(search: Search, history: Iterable[EndedGeneration | ProgramRecord]) -> None:
    """Feed a search the history of an archive (`RunReader.history`), in the order in which it happened."""
    for entry in history:
        if isinstance(entry, EndedGeneration):
            search.ended(entry)
        else:
            search.confirmed(entry)

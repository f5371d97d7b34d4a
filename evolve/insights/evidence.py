"""What code computes over the generations of a run: the ground that every sentence of a document stands on."""

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from math import fsum
from typing import NamedTuple

from evolve.archive.ranking import compared, compared_costs
from evolve.archive.records import OPEN
from evolve.insights.credit import NO_INSTANCE, SAME, Tally
from evolve.insights.facts import Fact


@dataclass(slots=True, kw_only=True)
class Group:
    """The programs that have something in common, and how their scores differ from those of what they are measured
    against. Only a correct program with a correct base is compared. Lists hold generations, in recorded order; `same`
    are also those that cannot be distinguished from it. `wins` and `best_wins` count instances: against the base,
    and against the best program when they came."""

    name: str
    programs: list[int] = field(default_factory=list)
    correct: int = 0
    changes: list[float] = field(default_factory=list)
    gained: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    same: list[int] = field(default_factory=list)
    wins: Tally = NO_INSTANCE
    best_wins: Tally = NO_INSTANCE
    best: tuple[float, int] | None = None  # the largest change (of the gains, if there are), and its generation

    def add(self, fact: Fact) -> None:
        """Count a program."""
        self.programs.append(fact.generation)
        self.correct += fact.correct
        change = fact.change
        if change is None:
            return
        self.changes.append(change)
        if self.best is None or (fact.apart > 0, change - SAME) > (bool(self.gained), self.best[0]):
            self.best = change, fact.generation
        (self.same, self.gained, self.lost)[fact.apart].append(fact.generation)
        self.wins = self.wins.plus(fact.wins)
        self.best_wins = self.best_wins.plus(fact.best_wins)

    def snapshot(self) -> "Group":
        """The same, which does not grow with this one."""
        snapshot = copy(self)
        snapshot.programs, snapshot.changes = list(self.programs), list(self.changes)
        snapshot.gained, snapshot.lost, snapshot.same = list(self.gained), list(self.lost), list(self.same)
        return snapshot

    @property
    def mean(self) -> float | None:
        """The mean score change; None where nothing could be compared."""
        return fsum(self.changes) / len(self.changes) if self.changes else None


class Leader(NamedTuple):
    """The correct program that is the best on one instance, the first of equals: its generation and exact cost."""

    generation: int
    cost: str


class Evidence:
    """Everything counted so far, growing by one generation at a time; the same facts in the same order give the same.
    The work per generation does not grow with the run."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self.facts: dict[int, Fact] = {}
        self.by_kind: dict[str, Group] = {}
        self.by_feature: dict[str, Group] = {}
        self.failures: dict[str, list[int]] = {}  # generations by how they failed, those without a program too
        self.records: list[int] = []  # generations whose correct program was better than all before
        self.best: Fact | None = None
        self.leaders: list[Leader] = []  # by instance
        self.programs = self.correct = 0
        for fact in facts:
            self.add(fact)

    def add(self, fact: Fact) -> None:
        """Take in a finished generation. Raises ValueError when it is known already or has not ended."""
        if fact.generation in self.facts:
            raise ValueError(f"generation {fact.generation} has been counted already")
        if fact.status in OPEN:
            raise ValueError(f"generation {fact.generation} has not ended (status {fact.status.value})")
        if fact.correct and not fact.excluded:
            self._lead(fact)
        # The bulky texts are needed of new programs only; keeping them would hold a run's sources in memory.
        fact = self.facts[fact.generation] = replace(fact, source="", parent_source="", feedback="", costs="")
        if not fact.correct:
            self.failures.setdefault(fact.ending, []).append(fact.generation)
        if fact.is_program:
            self._count(fact)

    def _count(self, fact: Fact) -> None:
        self.programs += 1
        self.correct += fact.correct
        if fact.parent_generation is not None:
            for groups, names in ((self.by_kind, (fact.origin.kind.value,)), (self.by_feature, fact.origin.features)):
                for name in names:
                    groups.setdefault(name, Group(name=name)).add(fact)
        if fact.correct and not fact.excluded and fact.combined_score is not None:
            self._rank(fact, _rank_of(fact))

    def _lead(self, fact: Fact) -> None:
        for instance, cost in enumerate(fact.costs.split()):
            if instance == len(self.leaders):
                self.leaders.append(Leader(fact.generation, cost))
            elif fact.per_instance.sign * compared_costs(cost, self.leaders[instance].cost) > 0:
                self.leaders[instance] = Leader(fact.generation, cost)

    def _rank(self, fact: Fact, score: float) -> None:
        best = self.best
        ahead = 1 if best is None else compared(score, fact.spread, _rank_of(best), best.spread, same=SAME)
        if ahead > 0:
            self.records.append(fact.generation)
        # Ties go to the earlier generation, not to what ended first; with a spread, being earlier is no merit.
        tie = best and ahead == 0 and not (fact.spread and best.spread) and fact.generation < best.generation
        if ahead > 0 or tie:
            self.best = fact

    def snapshot(self) -> "Evidence":
        """The same, which does not grow with this one."""
        snapshot = copy(self)
        snapshot.facts, snapshot.records, snapshot.leaders = dict(self.facts), list(self.records), list(self.leaders)
        snapshot.failures = {how: list(generations) for how, generations in self.failures.items()}
        snapshot.by_kind = {name: group.snapshot() for name, group in self.by_kind.items()}
        snapshot.by_feature = {name: group.snapshot() for name, group in self.by_feature.items()}
        return snapshot

    @property
    def gained(self) -> int:
        """How many programs are better than what they are measured against."""
        return sum(len(group.gained) for group in self.by_kind.values())

    def chain(self) -> tuple[Fact, ...]:
        """The line of first parents that ends in the best program, oldest first."""
        line: list[Fact] = []
        fact = self.best
        while fact is not None:  # a parent is recorded before its child, so this ends
            line.append(fact)
            fact = None if fact.parent_generation is None else self.facts.get(fact.parent_generation)
        return tuple(reversed(line))

    def changes(self) -> list[Group]:
        """The programs by what changed in them; what only ever changed together counts as one change."""
        together: dict[tuple[int, ...], list[Group]] = {}
        for group in self.by_feature.values():
            together.setdefault(tuple(group.programs), []).append(group)
        return [
            replace(alike[0], name=", ".join(group.name for group in alike[:3]) + ", ..." * (len(alike) > 3))
            for alike in together.values()
        ]

    def gainers(self) -> list[Group]:
        """What changed, as far as it gained on average: more gains first, then the larger mean."""
        groups = [group for group in self.changes() if group.gained and (group.mean or 0.0) > SAME]
        return sorted(groups, key=lambda group: (-len(group.gained), -(group.mean or 0.0), group.name))

    def losers(self) -> list[Group]:
        """What changed and never gained though it was compared, the most tried first."""
        groups = [group for group in self.changes() if group.changes and not group.gained]
        return sorted(groups, key=lambda group: (-len(group.changes), group.mean, group.name))


def _rank_of(fact: Fact) -> float:
    return fact.combined_score or 0.0 if fact.rank is None else fact.rank

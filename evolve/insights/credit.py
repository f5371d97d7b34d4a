"""What a program is measured against, and how it stands there instance by instance.

A program is measured against its parent. A crossover draws on everything that it saw, so it is measured against the
best of that: parent or inspirations. To be better than its parent is no merit where the better half is another's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, Self

from evaluator.objective import Direction
from evolve.archive.ranking import better, by_medians, measured_against, paired_scores
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.core.program import PatchKind

SAME: Final = 1e-9
"""Two scores that differ by no more than this are equal."""
_MOST_KEPT: Final = 512  # programs whose costs are kept at hand while parents are compared with their children

Ratio = tuple[int, int]
"""An exact cost as numerator and (positive) denominator: what a Fraction is, and quicker to make and to compare."""


class Tally(NamedTuple):
    """On how many instances one program is better than another, the same, and worse."""

    better: int
    same: int
    worse: int

    @classmethod
    def of(cls, steps: Sequence[int]) -> Self:
        """Counted of what `steps` gives."""
        return cls(steps.count(1), steps.count(0), steps.count(-1))

    @property
    def sentence(self) -> str:
        """In words."""
        return f"{self.better} better, {self.same} the same, {self.worse} worse"

    def plus(self, other: "Tally | None") -> "Tally":
        """Both together."""
        better, same, worse = NO_INSTANCE if other is None else other
        return Tally(self.better + better, self.same + same, self.worse + worse)


NO_INSTANCE: Final = Tally(0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """What came before a program: its parent (None for the initial program), what it is measured against (`base`: the
    parent, or what a crossover saw that is better), the best program when it came, and all that a crossover was made
    of (`contributors`, the parent first; of any other program just that). Tallies are None where there is nothing to
    compare, or only one instance."""

    parent: ProgramRecord | None
    base: ProgramRecord | None
    contributors: tuple[int, ...] = ()
    against_base: Tally | None = None
    best: ProgramRecord | None = None
    against_best: Tally | None = None


NOBODY: Final = Credit(parent=None, base=None)
"""Of a program that nothing came before."""


class Credits:
    """Says of the programs of one archive what they are measured against. It keeps the costs of some at hand, since
    parents are many's."""

    def __init__(self, archive: RunReader) -> None:
        self._archive = archive
        self._costs = lru_cache(maxsize=_MOST_KEPT)(self._read_costs)
        self._first: dict[str, int] = {}  # by behaviour, the first correct program
        self._known = 0  # how many programs these are of

    def of(self, program: ProgramRecord) -> Credit:
        """What came before a program, and how it stands to that."""
        if not program.parents:
            return NOBODY
        base, best = self.base(program), self.best_before(program)
        drawn_on = program.inspirations if program.origin.kind is PatchKind.CROSS else ()
        seen = dict.fromkeys((program.parents[0], *drawn_on))
        return Credit(
            parent=self._archive.find(program.parents[0]),
            base=base,
            contributors=tuple(self._archive.find(commit).generation for commit in seen),
            against_base=self.tally(program, base),
            best=best,
            against_best=None if best is None else self.tally(program, best),
        )

    def base(self, program: ProgramRecord) -> ProgramRecord:
        """What a program (not the initial one) is measured against; of equals the parent."""
        seen = [program.parents[0], *program.inspirations]
        return measured_against(program, list(map(self._archive.find, seen)))

    def best_before(self, program: ProgramRecord) -> ProgramRecord | None:
        """The program that was the best when this one came, or is a candidate for that; None while nothing was
        correct."""
        best = None
        for position, record in reversed(self._archive.best_history):
            if position < program.moment.position:
                best = record
                break
        for candidate in self._archive.candidates:
            if candidate.moment.position < program.moment.position and better(candidate, best):
                best = candidate
        return None if best is None else self._archive.program(best.generation)

    def same_as(self, program: ProgramRecord) -> int | None:
        """The first correct program that does the same on every instance, other than this one."""
        programs = self._archive.programs
        for earlier in programs[self._known :]:
            if earlier.correct and not earlier.stale and not earlier.excluded:
                self._first.setdefault(earlier.behaviour, earlier.generation)
        self._known = len(programs)
        first = self._first.get(program.behaviour) if program.correct else None
        return None if first == program.generation else first

    def tally(self, program: ProgramRecord, other: ProgramRecord) -> Tally | None:
        """On how many instances a program is better than another; None where that says nothing (see `steps`)."""
        changes = self.steps(program, other)
        return None if changes is None else Tally.of(changes)

    def steps(self, program: ProgramRecord, other: ProgramRecord) -> list[int] | None:
        """How a program stands to another, instance by instance; None where that says nothing: a program had a hand in
        the numbers, another judge gave them, or there is one instance."""
        if program.self_judged or program.stale != other.stale:
            return None
        ours, theirs = self._costs(program.generation, program.stale), self._costs(other.generation, other.stale)
        return steps(ours, theirs, program.objective.per_instance) if min(len(ours), len(theirs)) > 1 else None

    def _read_costs(self, generation: int, stale: bool) -> list[Ratio | None]:
        """By generation and by the judge: a program that is scored again has other costs."""
        program = self._archive.program(generation)
        return [] if program is None else list(map(ratio, self._archive.costs(program)))


def change_on(program: ProgramRecord, base: ProgramRecord | None) -> float | None:
    """By how much a program is better than what it is measured against, in the task's own metric and direction (of the
    medians, where both have one and the score is the metric); None where the two cannot be compared."""
    if base is None or not (program.correct and base.correct) or program.stale != base.stale:
        return None
    if program.value is None or base.value is None:
        return None
    if on_medians(program, base):
        score, than = paired_scores(program, base)
        return score - than
    return program.objective.direction.sign * (program.value - base.value)


def on_medians(program: ProgramRecord, base: ProgramRecord | None) -> bool:
    """Whether the change of a program is that of the medians over other orders: both have one, of the shown metric."""
    shown = (program.objective.metric, program.objective.direction.sign)
    return base is not None and program.score_as == base.score_as == shown and by_medians(program, base)


def ratio(cost: str | None) -> Ratio | None:
    """A recorded cost such as `7/3`; None for a failure."""
    if cost is None:
        return None
    above, _, below = cost.partition("/")
    return int(above), int(below or 1)


def steps(ours: Sequence[Ratio | None], theirs: Sequence[Ratio | None], direction: Direction) -> list[int]:
    """Of each instance 1 where one program is better than another, 0 where it is the same, -1 where it is worse;
    anything is better than nothing."""
    changes = []
    for our, other in zip(ours, theirs, strict=False):
        if our is not None and other is not None:
            ahead = direction.sign * (our[0] * other[1] - other[0] * our[1])
            changes.append((ahead > 0) - (ahead < 0))
        else:
            changes.append((our is not None) - (other is not None))
    return changes

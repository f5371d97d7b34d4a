"""Which programs descend from each other, and which differ in next to nothing: what keeps the programs in a prompt from
repeating each other."""

from collections.abc import Collection

from evolve.archive.records import ProgramRecord
from evolve.core.program import PatchKind

FEW_LINES = 2
"""Programs that differ in at most this many lines are near-copies: no new idea to draw on."""


class Lineage:
    """The ancestors of the programs that are kept, as far as those are kept themselves.

    A program's ancestors are its parent and theirs; of a crossover also the programs that it was made with. Each kept
    program holds a set of kept ones alone, so that memory does not grow with the depth of a lineage. For one that is
    not kept any more, the way up goes on until it meets kept ones: it is as long as the part of the line that dropped
    out since.
    """

    def __init__(self) -> None:
        self._sources: dict[str, tuple[str, ...]] = {}  # of every program, what it was made from
        self._ancestors: dict[str, frozenset[str]] = {}  # of those that are kept
        self._copied: dict[str, tuple[str, int]] = {}  # of a program of few changed lines, its parent and how many

    def add(self, record: ProgramRecord) -> None:
        """Take up a program, before any that is made from it."""
        crossed = record.inspirations if record.origin.kind is PatchKind.CROSS else ()
        self._sources[record.commit] = (*record.parents[:1], *crossed)
        if record.parents and record.origin.lines is not None and record.origin.lines <= FEW_LINES:
            self._copied[record.commit] = (record.parents[0], max(1, record.origin.lines))

    def near_copies(self, first: ProgramRecord, other: ProgramRecord) -> bool:
        """Whether two programs do the same on every instance, or differ in very few lines: as many as were changed on
        the way up from both to a program that they come from. That looks at FEW_LINES steps, however long a run is."""
        ways = [self._nearly(program.commit) for program in (first, other)]
        met = (ways[0][commit] + ways[1][commit] for commit in ways[0].keys() & ways[1].keys())
        return first.behaviour == other.behaviour or min(met, default=FEW_LINES + 1) <= FEW_LINES

    def _nearly(self, commit: str) -> dict[str, int]:
        """A program and those above it that differ from it in very few lines, with how many at most."""
        distances, lines = {commit: 0}, 0
        while commit in self._copied:
            commit, more = self._copied[commit]
            lines += more
            if lines > FEW_LINES:
                break
            distances[commit] = lines
        return distances

    def keep(self, kept: Collection[str]) -> None:
        """From now on the programs `kept` are those that may be shown. One that was not kept after it had been added
        does not come back."""
        ancestors = {commit: self._ancestors.get(commit) for commit in kept}
        self._ancestors = {
            commit: self._above(commit, kept) if above is None else above for commit, above in ancestors.items()
        }

    def ancestors(self, commit: str) -> frozenset[str]:
        """The ancestors of a program among those that are kept (and some that were)."""
        ancestors = self._ancestors.get(commit)
        return self._above(commit, self._ancestors) if ancestors is None else ancestors

    def _above(self, commit: str, kept: Collection[str]) -> frozenset[str]:
        waiting, seen, found = list(self._sources.get(commit, ())), set[str](), set[str]()
        while waiting:
            above = waiting.pop()
            if above in seen:
                continue
            seen.add(above)
            if above in kept:
                found.add(above)
            known = self._ancestors.get(above)
            if known is None:
                waiting.extend(self._sources.get(above, ()))
            else:
                found.update(known.intersection(kept))
        return frozenset(found)

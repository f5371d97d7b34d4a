"""Who descends from whom, among the programs that may still be shown: what keeps a crossover from repeating itself."""

from collections.abc import Collection

from evolve.archive.records import ProgramRecord
from evolve.program import PatchKind


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

    def add(self, record: ProgramRecord) -> None:
        """Take up a program, before any that is made from it."""
        crossed = record.inspirations if record.origin.kind is PatchKind.CROSS else ()
        self._sources[record.commit] = (*record.parents[:1], *crossed)

    def keep(self, kept: Collection[str]) -> None:
        """From now on the programs `kept` are those that may be shown. One that was not kept after it had been added
        does not come back."""
        found = {commit: self._ancestors.get(commit) for commit in kept}
        self._ancestors = {
            commit: self._above(commit, kept) if known is None else known for commit, known in found.items()
        }

    def ancestors(self, commit: str) -> frozenset[str]:
        """The ancestors of a program among those that are kept (and some that were)."""
        known = self._ancestors.get(commit)
        return self._above(commit, self._ancestors) if known is None else known

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

"""What the search goes by: the elites, the failures worth mending, and what came of every parent so far.

It follows from the archive alone: `restore` and a run that was never stopped end in the same place.
"""

from collections import Counter, deque
from collections.abc import Mapping

from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord, Status
from evolve.program import PatchKind
from evolve.progress import Tally
from evolve.proposal import Tried
from evolve.search.select import admit

TRIED = 8
"""How many earlier children of a parent a proposer is told of."""
MENDABLE = 8
"""How many of the newest failed programs may be asked to be mended."""


class Population:
    """Changes with every generation that ends; each change costs the same however long the run is."""

    def __init__(self, *, elites: int) -> None:
        self._size = elites
        self.elites: tuple[ProgramRecord, ...] = ()
        self.failed: deque[ProgramRecord] = deque(maxlen=MENDABLE)
        self.tally = Tally()
        self._offspring: Counter[str] = Counter()
        self._children: dict[str, deque[int]] = {}

    @property
    def offspring(self) -> Mapping[str, int]:
        """How many generations each program was the parent of."""
        return self._offspring

    def add(self, record: ProgramRecord, parent_score: float | None) -> None:
        """Take up a program; `parent_score` is None for the initial one, which is nobody's success."""
        self.elites = admit(self.elites, record, size=self._size)
        if not record.correct and record.quarantine is None:
            self.failed.append(record)
        if parent_score is not None:
            self.tally.valid += record.correct
            self.tally.improved += record.correct and record.combined_score > parent_score

    def ended(self, generation: int, parent: str) -> None:
        """A generation ended, with a program or without."""
        self._offspring[parent] += 1
        self._children.setdefault(parent, deque(maxlen=TRIED)).append(generation)

    def restore(self, archive: Archive) -> None:
        """Take up everything that an archive holds."""
        scores: dict[str, float] = {}
        for record in archive.programs:
            scores[record.commit] = record.combined_score
            self.add(record, scores[record.parents[0]] if record.parents else None)
        parents = {record.generation: record.parents[0] for record in archive.programs if record.parents}
        parents |= {ended.generation: ended.parents[0] for ended in archive.ended_without_program()}
        for generation in sorted(parents):
            self.ended(generation, parents[generation])
        self.tally.answered, self.tally.applied, self.tally.new = archive.funnel()

    def tried(self, archive: Archive, parent: ProgramRecord) -> tuple[Tried, ...]:
        """What became of the latest children of `parent`, earliest first; failed calls tell nothing about it.

        A quarantined child is left out: nobody is to be told how a score that cannot be believed was made.
        """
        told = []
        for generation in sorted(self._children.get(parent.commit, ())):
            if archive.statuses[generation] is Status.EVALUATED:
                child = archive.find(str(generation))
                if child.quarantine is None:
                    told.append(_of_program(archive, child, parent))
            elif archive.statuses[generation] in (Status.REFUSED, Status.DUPLICATE):
                told.append(_of_refusal(archive, generation))
        return tuple(told)


def _of_program(archive: Archive, child: ProgramRecord, parent: ProgramRecord) -> Tried:
    return Tried(
        generation=child.generation,
        kind=child.origin.kind,
        patch_name=child.origin.patch_name,
        status=Status.EVALUATED,
        outcome=child.outcome,
        score_change=child.combined_score - parent.combined_score if child.correct else None,
        reason="" if child.correct else archive.evaluation(child).detail,
    )


def _of_refusal(archive: Archive, generation: int) -> Tried:
    last = archive.attempts(generation)[-1]
    return Tried(
        generation=generation,
        kind=PatchKind(archive.generation(generation).kind),
        patch_name="",
        status=archive.statuses[generation],
        outcome=None,
        score_change=None,
        reason=f"{last.reason}: {_first_line(last.message or '')}",
    )


def _first_line(text: str) -> str:
    return text.partition("\n")[0]

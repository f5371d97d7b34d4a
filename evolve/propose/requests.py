"""From a choice of the search to the request that a proposer answers: sources and verdicts, read from the archive."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from evolve.archive.events import Status
from evolve.archive.ranking import compared
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord, Unfinished
from evolve.errors import PromptTooLong
from evolve.evidence.credit import Credits
from evolve.program import PatchKind
from evolve.proposal import Change, Choice, Guidance, MadeFrom, Picked, Refusal, Request, Returned, ScoredProgram, Tried
from evolve.propose.verdicts import succeeded
from evolve.seams import Proposer

TRIED = 8
"""How many earlier children of a parent a proposer is told of."""
CHANGES = 400
"""Of how many programs, the latest, a proposer is told what they changed."""
ANCESTORS = 12
"""How many programs of a line of descent are looked through for lines that come and go."""


class Requests:
    """Makes requests for one run. Programs that were shown lately are kept at hand."""

    def __init__(self, archive: RunReader, *, seed: int, elites: int) -> None:
        self._archive, self._seed, self._elites = archive, seed, elites
        self.renew()

    def renew(self) -> None:
        """Keep nothing at hand: what is on record of a program is otherwise now."""
        archive, elites = self._archive, self._elites
        self._credits = Credits(archive)
        self._scored = lru_cache(maxsize=2 * elites)(self._read)
        self._changes = deque[Change](maxlen=CHANGES)
        self._taken_up = 0  # so many programs of the archive are among the changes, or were
        self._source = lru_cache(maxsize=4 * elites)(lambda commit: archive.source(archive.find(commit)))
        self._returned = lru_cache(maxsize=2 * elites)(self._come_back)

    def make(
        self, generation: int, attempt: int, choice: Choice, refusals: Sequence[Refusal], guidance: Guidance | None
    ) -> Request:
        """The request for one attempt of a generation."""
        return Request(
            seed=self._seed,
            generation=generation,
            attempt=attempt,
            kind=choice.kind,
            parent=self._scored(choice.parent.commit),
            inspirations=tuple(self._scored(record.commit) for record in choice.inspirations),
            refusals=tuple(refusals),
            guidance=guidance,
            tried=self._tried(choice.parent),
            changes=self._changed(),
            returned=self._returned(choice.parent.commit),
        )

    def source(self, record: ProgramRecord) -> str:
        """The source of a program."""
        return self._scored(record.commit).program.source

    def _read(self, commit: str) -> ScoredProgram:
        record = self._archive.find(commit)
        return ScoredProgram(
            program=self._archive.load(record),
            evaluation=replace(self._archive.evaluation(record), private=None),  # templates are anybody's
            made_from=_made_from(record, self._archive.find(record.parents[0])) if record.parents else None,
        )

    def _changed(self) -> tuple[Change, ...]:
        """What the latest programs changed. Quarantined ones are left out, as below."""
        programs = self._archive.programs
        for child in programs[self._taken_up :]:
            if child.parents and child.quarantine is None and not child.excluded:
                gained = _gained(child, self._archive.find(child.parents[0]))
                self._changes.append(Change(parent=child.parents[0], features=child.origin.features, gained=gained))
        self._taken_up = len(programs)
        return tuple(self._changes)

    def _come_back(self, commit: str) -> tuple[Returned, ...]:
        """What came back on the way to a program: its nearest ancestors, each the parent of the next, are looked at."""
        line = [self._archive.find(commit)]
        while line[-1].parents and len(line) < ANCESTORS:
            line.append(self._archive.find(line[-1].parents[0]))
        return returned([(record.generation, self._source(record.commit)) for record in reversed(line)])

    def _tried(self, parent: ProgramRecord) -> tuple[Tried, ...]:
        """What became of the latest children of `parent`, earliest first; failed calls tell nothing about it.

        A quarantined child is left out: nobody is to be told how a score that cannot be believed was made.
        """
        archive, told = self._archive, []
        for generation in archive.children(parent.commit, TRIED):
            if archive.statuses[generation] is Status.EVALUATED:
                child = archive.find(str(generation))
                if child.quarantine is None and not child.excluded:
                    same_as = self._credits.same_as(child)
                    told.append(_of_program(archive, self._credits, child, parent, same_as))
            else:
                told.append(_of_refusal(archive, generation))
        return tuple(told)


def fitting(proposer: Proposer, request: Request) -> tuple[Request, str | None]:
    """The request with its prompt, or the fullest shorter one whose prompt is not too long. Raises PromptTooLong."""
    too_long: PromptTooLong | None = None
    for shorter in request.shorter():
        try:
            return shorter, proposer.prompt(shorter)
        except PromptTooLong as found:
            too_long = found
    assert too_long is not None
    raise too_long


def recorded_choice(archive: RunReader, begun: Unfinished) -> Choice:
    """The choice that was recorded with the question of a generation that an earlier session began."""
    return Choice(
        kind=PatchKind(begun.kind),
        island=begun.island,
        parent=archive.find(begun.parents[0]),
        inspirations=tuple(archive.find(commit) for commit in begun.inspirations),
        model=begun.model,
        guided="unguided" not in begun.why,
        picked=Picked.from_json(begun.why.get("picked")),
    )


def _made_from(record: ProgramRecord, parent: ProgramRecord) -> MadeFrom | None:
    """How a program stands to its own parent; None where another judge scored that one."""
    if parent.stale:
        return None
    value = parent.value if parent.correct else None
    if value is None or record.value is None or not record.correct:
        return MadeFrom(generation=parent.generation, value=value, change=None, step=None)
    return MadeFrom(
        generation=parent.generation,
        value=value,
        change=record.value - value,
        step=compared(record.combined_score, record.spread, parent.combined_score, parent.spread),
    )


def _of_program(
    archive: RunReader, credit: Credits, child: ProgramRecord, parent: ProgramRecord, same_as: int | None
) -> Tried:
    evaluation = None if child.correct else archive.evaluation(child)
    return Tried(
        generation=child.generation,
        kind=child.origin.kind,
        patch_name=child.origin.patch_name,
        status=Status.EVALUATED,
        outcome=child.outcome,
        score_change=_change(child, parent),
        reason="" if evaluation is None else evaluation.detail,
        succeeded=None if evaluation is None else succeeded(evaluation),
        same_as=same_as,
        instances=_instances(credit, child, parent) if child.correct and parent.correct else "",
    )


def _gained(child: ProgramRecord, parent: ProgramRecord) -> bool:
    if child.correct != parent.correct:
        return child.correct
    return compared(child.combined_score, child.spread, parent.combined_score, parent.spread) > 0


def _instances(credit: Credits, child: ProgramRecord, parent: ProgramRecord) -> str:
    """On how many instances a child is better than its parent, and than the best program when it came."""
    against, best = credit.tally(child, parent), credit.best_before(child)
    told = [] if against is None else [f"by instance {against.told} than this program"]
    if best is not None and best.commit != parent.commit and (against := credit.tally(child, best)) is not None:
        told.append(f"{against.told} than the best when it came (generation {best.generation})")
    return "; ".join(told)


def _change(child: ProgramRecord, parent: ProgramRecord) -> float | None:
    if not child.correct or child.value is None:
        return None
    return child.value - (parent.value or 0.0) if parent.correct else None


def _of_refusal(archive: RunReader, generation: int) -> Tried:
    last = archive.attempts(generation)[-1]
    return Tried(
        generation=generation,
        kind=PatchKind(archive.generation(generation).kind),
        patch_name="",
        status=archive.statuses[generation],
        outcome=None,
        score_change=None,
        reason=f"{last.reason}: {(last.message or '').partition(chr(10))[0]}",
    )


_LEAST = 12
"""Shorter lines (`else:`, `return None`) come and go for no reason of their own."""
_TOLD = 3
"""How many returns are told, the latest ones."""


def returned(line: Sequence[tuple[int, str]]) -> tuple[Returned, ...]:
    """What came back along a line of programs (generation and source), the oldest one first: the latest few.

    A line of code counts as removed when it stands nowhere in the next program, so that moving one is no return.
    """
    removed: dict[str, int] = {}
    found: dict[tuple[int, int], list[str]] = {}
    before: dict[str, None] = dict.fromkeys(_telling(line[0][1])) if line else {}
    for generation, source in line[1:]:
        now = dict.fromkeys(_telling(source))
        for text in now:
            if text not in before and text in removed:
                found.setdefault((removed.pop(text), generation), []).append(text)
        removed |= dict.fromkeys((text for text in before if text not in now), generation)
        before = now
    told = [Returned(removed=gone, brought_back=back, lines=tuple(texts)) for (gone, back), texts in found.items()]
    return tuple(told[-_TOLD:])


def _telling(source: str) -> Iterator[str]:
    stripped = (text.strip() for text in source.splitlines())
    return (text for text in stripped if len(text) >= _LEAST)

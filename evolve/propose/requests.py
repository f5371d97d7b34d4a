"""From a choice of the search to the request that a proposer answers: sources and verdicts, read from the archive."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord, Status, Unfinished
from evolve.errors import PromptTooLong
from evolve.program import PatchKind
from evolve.proposal import Choice, Guidance, Refusal, Request, ScoredProgram, Tried
from evolve.seams import Proposer

TRIED = 8
"""How many earlier children of a parent a proposer is told of."""


class Requests:
    """Makes requests for one run. Programs that were shown lately are kept at hand."""

    def __init__(self, archive: Archive, *, seed: int, elites: int) -> None:
        self._archive = archive
        self._seed = seed
        self._scored = lru_cache(maxsize=2 * elites)(self._read)

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
        )

    def source(self, record: ProgramRecord) -> str:
        """The source of a program."""
        return self._scored(record.commit).program.source

    def _read(self, commit: str) -> ScoredProgram:
        record = self._archive.find(commit)
        return ScoredProgram(
            program=self._archive.load(record),
            evaluation=replace(self._archive.evaluation(record), private=None),  # templates are anybody's
            overfitted=record.overfitted is not None,
        )

    def _tried(self, parent: ProgramRecord) -> tuple[Tried, ...]:
        """What became of the latest children of `parent`, earliest first; failed calls tell nothing about it.

        A quarantined child is left out: nobody is to be told how a score that cannot be believed was made.
        """
        archive, told = self._archive, []
        for generation in archive.children(parent.commit, TRIED):
            if archive.statuses[generation] is Status.EVALUATED:
                child = archive.find(str(generation))
                if child.quarantine is None:
                    told.append(_of_program(archive, child, parent))
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


def recorded_choice(archive: Archive, begun: Unfinished) -> Choice:
    """The choice that was recorded with the question of a generation that an earlier session began."""
    return Choice(
        kind=PatchKind(begun.kind),
        island=begun.island,
        parent=archive.find(begun.parents[0]),
        inspirations=tuple(archive.find(commit) for commit in begun.inspirations),
        model=begun.model,
    )


def _of_program(archive: Archive, child: ProgramRecord, parent: ProgramRecord) -> Tried:
    return Tried(
        generation=child.generation,
        kind=child.origin.kind,
        patch_name=child.origin.patch_name,
        status=Status.EVALUATED,
        outcome=child.outcome,
        score_change=_change(child, parent),
        reason="" if child.correct else archive.evaluation(child).detail,
    )


def _change(child: ProgramRecord, parent: ProgramRecord) -> float | None:
    if not child.correct or child.value is None:
        return None
    return child.value - (parent.value or 0.0) if parent.correct else None


def _of_refusal(archive: Archive, generation: int) -> Tried:
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

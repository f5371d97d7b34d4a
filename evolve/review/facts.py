"""What became of each generation, as plain values: what curves, funnels, yields and pages are made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.archive.ranking import better
from evolve.archive.reader import RunReader
from evolve.archive.records import AttemptRecord, GenerationRecord, ProgramRecord, Status
from evolve.evidence.credit import Credits, Tally, change_on
from evolve.guidance.history import followed_by_answers, guidance_of, recommendation_of
from evolve.patch.format import PatchReason
from evolve.review.catalogue import why_overfitted
from evolve.review.curves import Reign
from evolve.review.generations import OPEN, reason, taken, telling_line, why_failed

STAGES: Final = ("asked", "answered", "parsed", "applied", "new", "correct", "improved", "best")
"""How far a generation can come, each stage part of the one before it."""

_NOT_PARSED: Final = frozenset({PatchReason.NO_PATCH, PatchReason.TRUNCATED, PatchReason.MALFORMED})
"""Refusals of what is no patch at all. Any other is of a patch that does not give a program."""
_UNUSABLE: Final = frozenset({"empty", "refusal", "content_filter", "oversize", "nothing", "length"})
"""Of an answer that is none, by how it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationFacts:
    """One generation, by name of the column. None: not known, or there is no such thing.

    `mark`: best (when it came), correct, failed, quarantined; without a
    program refused, duplicate, unanswered, open.
    `why`: what the patch is for, by whoever wrote it; of one that failed, its error.
    `stage`: an index of STAGES, None of the initial program. `value`: the task's own metric, of a correct program.
    `change`: by how much it is better, in the direction of the task, than what it is measured against (`base`: its
    parent, or of a crossover the best that it saw). `best_after`: the best value once the generation had ended, of
    the judge that scores now (see Reign); `position` how many had by then. `t`: wall seconds; `seconds`: for so long
    sessions had gone on by then. `wins`: on how many instances it is better, the same, worse than its base;
    `best_wins`: than the best when it came. `document`: the meta document that its first prompt held; `guidance`: that,
    and which recommendation of it; `followed`: what the answer says of that.
    """

    n: int
    status: str
    reason: str | None
    mark: str
    stage: int | None
    kind: str
    model: str
    island: int
    parents: tuple[int, ...]
    inspirations: tuple[int, ...]
    value: float | None
    score: float | None
    base: int | None
    change: float | None
    best_after: float | None
    name: str
    why: str
    cost_usd: float | None
    tokens: int
    tuning_evaluations: int | None  # what a search over its numbers took, where there was one
    t: float
    seconds: float
    spent_usd_after: float | None
    tokens_after: int | None
    position: int | None
    held_out: float | None
    overfitted: str | None
    excluded: bool
    stale: bool
    features: tuple[str, ...]
    commit: str | None
    wins: Tally | None
    best_wins: Tally | None
    document: int | None
    guidance: tuple[int, int] | None
    followed: str | None


class FactsReader:
    """Makes the facts of generations of one archive."""

    def __init__(self, archive: RunReader) -> None:
        self._archive = archive
        self._reign = Reign(archive)
        self._crowned = {record.generation for _, record in archive.reigns if record is not None}
        self._credits = Credits(archive)

    def facts(self, generations: Iterable[int]) -> list[GenerationFacts]:
        """The facts of these generations, in the order given. Raises KeyError for one that was not begun."""
        return list(map(self._of, generations))

    def _of(self, generation: int) -> GenerationFacts:
        archive = self._archive
        program, attempts = archive.program(generation), archive.attempts(generation)
        asked = archive.generation(generation) if attempts else None
        ended = None if archive.statuses[generation] in OPEN else archive.ended_generation(generation).moment
        parent = archive.find(program.parents[0]) if program is not None and program.parents else None
        credit = None if program is None else self._credits.of(program)
        held_out = archive.held_out_scores.get(generation)
        return GenerationFacts(
            n=generation,
            status=archive.statuses[generation].value,
            reason=reason(archive, generation),
            mark=self._mark(generation, program),
            stage=None if asked is None else self._stage(asked, attempts[-1], program, parent),
            **_origin(archive, asked, program, attempts),
            parents=self._generations(program.parents if program else asked.parents if asked else ()),
            inspirations=self._generations(program.inspirations if program else asked.inspirations if asked else ()),
            value=program.value if program is not None and program.correct else None,
            score=None if program is None else program.combined_score,
            base=None if credit is None or credit.base is None else credit.base.generation,
            change=None if program is None or credit is None else change_on(program, credit.base),
            best_after=None if ended is None else self._reign.value_at(ended.position),
            **taken(archive, generation),
            seconds=archive.chronicle.seconds(archive.times[generation]),
            spent_usd_after=None if ended is None else ended.spent.known_usd,
            tokens_after=None if ended is None else ended.spent.tokens,
            position=None if ended is None else ended.position,
            held_out=None if held_out is None or not held_out.correct else held_out.value,
            overfitted=None if program is None else why_overfitted(archive, program),
            excluded=program is not None and program.excluded,
            stale=program is not None and program.stale,
            commit=None if program is None else program.commit,
            wins=None if credit is None else credit.against_base,
            best_wins=None if credit is None else credit.against_best,
            document=None if (given := guidance_of(attempts)) is None else given["document"],
            guidance=recommendation_of(attempts),
            followed=followed_by_answers(attempts),
        )

    def _generations(self, commits: Sequence[str]) -> tuple[int, ...]:
        return tuple(self._archive.find(commit).generation for commit in commits)

    def _mark(self, generation: int, program: ProgramRecord | None) -> str:
        if program is None:
            status = self._archive.statuses[generation]
            return "open" if status in OPEN else _MARKS[status]
        if program.quarantine is not None:
            return "quarantined"
        if not program.correct:
            return "failed"
        return "best" if generation in self._crowned and not program.excluded else "correct"

    def _stage(
        self,
        asked: GenerationRecord,
        last: AttemptRecord,
        program: ProgramRecord | None,
        parent: ProgramRecord | None,
    ) -> int:
        if program is None:
            return _stage_without_program(asked, last)
        if not program.correct:
            return STAGES.index("new")
        if asked.generation in self._crowned:
            return STAGES.index("best")
        gained = better(program, parent if parent is not None and parent.correct else None)
        return STAGES.index("improved" if gained else "correct")


_MARKS: Final = {Status.REFUSED: "refused", Status.DUPLICATE: "duplicate", Status.FAILED: "unanswered"}


def _stage_without_program(asked: GenerationRecord, last: AttemptRecord) -> int:
    if asked.status is Status.DUPLICATE:
        return STAGES.index("applied")
    if last.answer is None:
        return STAGES.index("asked")
    if asked.status in OPEN or last.reason in _NOT_PARSED or last.reason in _UNUSABLE:
        return STAGES.index("answered")
    return STAGES.index("parsed")


def _origin(
    archive: RunReader,
    asked: GenerationRecord | None,
    program: ProgramRecord | None,
    attempts: Sequence[AttemptRecord],
) -> dict[str, Any]:
    """What was to be made, by whom, and what was said of it."""
    if program is not None:
        origin = program.origin
        return {
            "kind": origin.kind.value,
            "model": origin.model,
            "island": program.island,
            "name": one_line(origin.patch_name, 200),
            "why": one_line(origin.description if program.correct else why_failed(archive, program), 400),
            "features": origin.features,
        }
    assert asked is not None
    said = telling_line(attempts[-1].message or "")
    told = {"name": "", "why": one_line(said, 400), "features": ()}
    return {"kind": asked.kind, "model": asked.model, "island": asked.island, **told}


def columns(facts: Sequence[GenerationFacts]) -> dict[str, list[Any]]:
    """The facts as columns of equal length, ready for JSON."""
    return {field.name: [getattr(one, field.name) for one in facts] for field in fields(GenerationFacts)}

"""What is asked of whoever proposes: the choice of the search, and all that may be looked at in answering."""

from dataclasses import dataclass

from evaluator.evaluation import Evaluation, Outcome
from evolve.archive.records import ProgramRecord, Status
from evolve.program import PatchKind, Program


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredProgram:
    """A program with its verdict, as a proposer sees it."""

    program: Program
    evaluation: Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What one generation works on, and who is asked: a decision of the search, recorded with the question."""

    kind: PatchKind
    island: int
    parent: ProgramRecord
    inspirations: tuple[ProgramRecord, ...]
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the last answer of this generation could not be used, in words for the model."""

    answer: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """What the run has learned, from its meta document `document` (1, 2, ...): the scratchpad, and the one
    recommendation (number `number` of the document) that this request follows."""

    document: int
    scratchpad: str
    number: int
    recommendation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One earlier change of the same parent and how it ended.

    `score_change` is against the parent, None unless a correct program came of it. `reason` (untrusted) is why none
    did: the detail of the failed evaluation, or the reason of the refusal.
    """

    generation: int
    kind: PatchKind
    patch_name: str
    status: Status
    outcome: Outcome | None
    score_change: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question: improve `parent`. Everything random in answering it is keyed by (seed, generation, attempt)."""

    seed: int
    generation: int
    attempt: int
    kind: PatchKind
    parent: ScoredProgram
    inspirations: tuple[ScoredProgram, ...]
    refusals: tuple[Refusal, ...] = ()
    guidance: Guidance | None = None
    tried: tuple[Tried, ...] = ()

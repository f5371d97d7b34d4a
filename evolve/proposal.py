"""What is asked of whoever proposes: the choice of the search, and all that may be looked at in answering."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from evaluator.evaluation import Evaluation, Outcome
from evolve.archive.records import ProgramRecord, Status
from evolve.config import SearchConfig
from evolve.program import PatchKind, Program


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredProgram:
    """A program with its verdict, as a proposer sees it."""

    program: Program
    evaluation: Evaluation
    overfitted: bool = False  # it gains on the suite only


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """What a strategy is made of: its part of the configuration, the run's seed, and who may be asked: the `shares` of
    the models that propose, and the `kinds` of patch that each can write."""

    config: SearchConfig
    seed: int
    shares: Mapping[str, float]
    kinds: Mapping[str, frozenset[PatchKind]]


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
    """What the run has learned, from its meta document after `document` programs: the scratchpad, and the one
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
    block_only: bool = False  # show of the parent only what may change: the whole of it does not fit

    def shorter(self) -> Iterator["Request"]:
        """The request, and then others that need less room in a prompt: without what a crossover must show, and with
        nothing of the parent but the part that may change."""
        yield self
        request = self
        if request.kind is PatchKind.CROSS:
            request = replace(request, kind=PatchKind.DIFF, inspirations=())
            yield request
        yield replace(request, inspirations=(), block_only=True)

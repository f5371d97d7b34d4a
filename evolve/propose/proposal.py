"""The seam between the loop and whoever proposes: what may be looked at, and what comes back."""

from dataclasses import dataclass
from typing import Protocol

from evaluator.evaluation import Evaluation, Outcome
from evolve.archive.records import Status
from evolve.program import PatchKind, Program
from evolve.propose.llm import FinishReason, Observer


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A program with its verdict, as a proposer sees it."""

    program: Program
    evaluation: Evaluation


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
    parent: Candidate
    inspirations: tuple[Candidate, ...]
    refusals: tuple[Refusal, ...] = ()
    guidance: Guidance | None = None
    tried: tuple[Tried, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back, as text in the patch format, how it ended, and what it took.

    `estimated` says that tokens and cost are estimates, since the server stated none.
    """

    text: str
    finish_reason: FinishReason = "stop"
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    latency_s: float = 0.0
    estimated: bool = False


class Proposer(Protocol):
    """Who writes patches. `name` is recorded as the model of every program that comes of them, and `kinds` are
    the kinds of patch that it can be asked for."""

    name: str
    kinds: frozenset[PatchKind]

    def prompt(self, request: Request) -> str | None:
        """The text that will be sent, recorded before it is; None when no text is sent. Pure."""
        ...

    def estimate_usd(self, prompt: str | None) -> float:
        """What an answer to `prompt` is likely to cost."""
        ...

    def answer(self, request: Request, prompt: str | None, observe: Observer) -> Answer:
        """Answer a request. Called from a thread; may take long. `observe` is told of every call that it costs.

        Raises CallFailed when no answer can be had.
        """
        ...

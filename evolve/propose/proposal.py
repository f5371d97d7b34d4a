"""The seam between the loop and whoever proposes: what may be looked at, and what comes back."""

from dataclasses import dataclass
from typing import Protocol

from evaluator.evaluation import Evaluation
from evolve.program import PatchKind, Program


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
class Request:
    """One question: improve `parent`. Everything random in answering it is keyed by (seed, generation, attempt)."""

    seed: int
    generation: int
    attempt: int
    kind: PatchKind
    parent: Candidate
    inspirations: tuple[Candidate, ...]
    refusals: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back, as text in the patch format, and what it took."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    latency_s: float = 0.0


class Proposer(Protocol):
    """Who writes patches. `name` is recorded as the model of every program that comes of them, and `kinds` are
    the kinds of patch that it can be asked for."""

    name: str
    kinds: frozenset[PatchKind]

    def prompt(self, request: Request) -> str | None:
        """The text that will be sent, recorded before it is; None when no text is sent. Pure."""
        ...

    def answer(self, request: Request, prompt: str | None) -> Answer:
        """Answer a request. Called from a thread; may take long."""
        ...

"""The plug points of a run, together on one screen. Whatever has these methods can take the place of what ships.

Values that cross a seam live on this floor or below. Each seam has a conformance test in `tests/seams/`, which every
implementation that does something runs. A configuration names its own by dotted path:
`search.strategy`, `models[].client`.
"""

from collections.abc import Sequence
from typing import Protocol

from evaluator.evaluation import Evaluation
from evaluator.task import Suite
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.archive.reports import Round
from evolve.core.completion import Completion, Message, Observer, RequestKey
from evolve.core.program import PatchKind
from evolve.insights.summarizer import SummaryRequest
from evolve.progress import Event, Progress
from evolve.proposal import Choice, Request


class Evaluator(Protocol):
    """Scores programs over one suite, outside this process. Called from several threads."""

    suite: Suite
    version: str
    sandbox: str
    ceiling: float | None
    ceiling_is_proven: bool

    def evaluate(self, source: str) -> Evaluation:
        """The verdict on one program, which may be any text; what a program does wrong is a verdict too."""
        ...

    def examine(self, source: str, evaluation: Evaluation) -> Evaluation:
        """`evaluation`, made of `source` by this evaluator, after asking in every way that must not matter."""
        ...

    def cancel(self) -> None:
        """End what is being evaluated, in whichever thread: EvaluationCancelled is raised there."""
        ...


class Search(Protocol):
    """What a run works on next. No clock and no I/O: a function of its settings and of what it was told, in order."""

    def choose(self, generation: int) -> Choice:
        """Parent, inspirations, kind and model of a generation. Changes nothing: asked twice, it says the same."""
        ...

    def ended(self, ended: EndedGeneration) -> None:
        """A generation ended, with a program or without."""
        ...

    def confirmed(self, record: ProgramRecord) -> None:
        """A program that stood above the best was evaluated strictly, and this is its record now: it holds, or it is
        not correct, and withdrawn."""
        ...


class LLM(Protocol):
    """A model that answers. `name` is recorded as the author of what comes of its answers."""

    name: str

    def estimate_usd(self, tokens_in: int) -> float:
        """What an answer to so many tokens is likely to cost."""
        ...

    def complete(self, messages: Sequence[Message], *, key: RequestKey, observe: Observer) -> Completion:
        """The answer to `messages`; called from threads, may take long. Raises CallFailed.

        `key` says which request of the run this is: whatever is random about
        answering it is keyed by it, and the scripted LLM chooses its answer by it.
        """
        ...


class Proposer(Protocol):
    """Who writes patches: by default one that sends no text to anybody, and costs nothing. `name` is recorded as the
    model of every program that comes of them, and `kinds` are the kinds of patch that it can be asked for."""

    name: str
    kinds: frozenset[PatchKind]

    def prompt(self, request: Request) -> str | None:
        """The text that will be sent, recorded before it is; None when no text is sent. Pure."""
        return None

    def estimate_usd(self, prompt: str | None) -> float:
        """What an answer to `prompt` is likely to cost."""
        return 0.0

    def answer(self, request: Request, prompt: str | None, observe: Observer) -> Completion:
        """A patch, as text in the patch format; called from threads, may take long. `observe` is told of every call
        that it costs. Raises CallFailed when no answer can be had."""
        ...


class Summarizer(Protocol):
    """Puts what a run has learnt into a report. Called from a thread, one request at a time."""

    def summarise(self, request: SummaryRequest) -> Round:
        """The next report, or why there is none. What the request asks of a model is recorded by its maker."""
        ...


class Listener(Protocol):
    """Whoever is told what happens: the terminal, a test, a tracker. Called from the loop's thread only."""

    def tell(self, event: Event, progress: Progress) -> None:
        """Something happened."""
        ...

    def tick(self, progress: Progress) -> None:
        """Nothing happened for a moment; time went on."""
        ...

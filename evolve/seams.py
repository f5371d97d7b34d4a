"""The plug points of a run, together on one screen. Any class with these methods can replace the one that ships.

Values that cross a seam live on this floor or below. Each seam has a conformance test in `tests/seams/`, which every
implementation that does something runs. A configuration names its own by dotted path:
`search.strategy`, `models[].client`.
"""

from collections.abc import Sequence
from typing import Protocol

from evaluator.evaluation import Evaluation, Incumbent
from evaluator.program_files import Files
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

    def evaluate(self, program: Files) -> Evaluation:
        """The verdict on one program, which may be any text; what a program does wrong is a verdict too."""
        ...

    def examine(self, program: Files, evaluation: Evaluation, best: Incumbent | None = None) -> Evaluation:
        """`evaluation`, which this evaluator made of `program`, with the report of the strict re-evaluation. Where
        programs are measured in pairs, it is compared with `best`, the best so far (None: the initial program)."""
        ...

    def cancel(self) -> None:
        """End every evaluation under way: EvaluationCancelled is raised in its thread."""
        ...


class Search(Protocol):
    """What a run works on next. No clock and no I/O: a function of its settings and of the calls to it, in order."""

    def choose(self, generation: int) -> Choice:
        """Parent, inspirations, kind and model of a generation. Changes nothing: a second call returns the same."""
        ...

    def ended(self, ended: EndedGeneration) -> None:
        """A generation ended, with a program or without."""
        ...

    def confirmed(self, record: ProgramRecord) -> None:
        """A program that scored above the best was re-evaluated strictly, and `record` is the result: it is confirmed,
        or it is not correct and withdrawn."""
        ...


class LLM(Protocol):
    """A model that answers. `name` is recorded as the author of its answers."""

    name: str

    def estimate_usd(self, tokens_in: int) -> float:
        """The likely cost of an answer to a prompt of `tokens_in` tokens."""
        ...

    def complete(self, messages: Sequence[Message], *, key: RequestKey, observe: Observer) -> Completion:
        """The answer to `messages`; called from threads, may take long. Raises CallFailed.

        `key` says which request of the run this is: every random choice in the answer is keyed by it, and the scripted
        LLM selects its answer by it.
        """
        ...


class Proposer(Protocol):
    """Writes patches. By default it sends no text to anybody and costs nothing. `name` is recorded as the model of
    every program made of its patches, and `kinds` are the kinds of patch that it can write."""

    name: str
    kinds: frozenset[PatchKind]

    def prompt(self, request: Request) -> str | None:
        """The text that will be sent, recorded before it is sent; None when no text is sent. Pure."""
        return None

    def estimate_usd(self, prompt: str | None) -> float:
        """The likely cost of an answer to `prompt`."""
        return 0.0

    def answer(self, request: Request, prompt: str | None, observe: Observer) -> Completion:
        """A patch, as text in the patch format; called from threads, may take long. `observe` is called for every call
        to a model. Raises CallFailed when there is no answer."""
        ...


class Summarizer(Protocol):
    """Writes the insights report of a run. Called from a thread, one request at a time."""

    def summarise(self, request: SummaryRequest) -> Round:
        """The next report, or why there is none. The maker of the request records its calls to a model."""
        ...


class Listener(Protocol):
    """Receives the events of a run: the terminal, a test, a tracker. Called from the loop's thread only."""

    def tell(self, event: Event, progress: Progress) -> None:
        """Something happened."""
        ...

    def tick(self, progress: Progress) -> None:
        """Nothing happened for a moment; time went on."""
        ...

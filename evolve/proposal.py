"""The request to a proposer: the choice of the search, and the context that the answer may use."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from evaluator.evaluation import Evaluation
from evaluator.program_files import Files
from evolve.archive.events import ModelChoice
from evolve.archive.records import ProgramRecord
from evolve.core.completion import PatchKey
from evolve.core.config import SearchConfig
from evolve.core.program import PatchKind, Program
from evolve.patch import Patch

LEAST_ARMS = 3
"""Fewer models are drawn by weight: learning which one to ask does not pay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFrom:
    """The program that another was made from. `value` is its metric, None where it is not correct. `change` says in
    words how the score changed ("5 slots better"), "" unless the two can be compared."""

    generation: int
    value: float | None
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredProgram:
    """A program with its verdict, as a proposer sees it. For an inspiration `instances` lists the instances on which it
    is better and worse than the parent; "" where the list would say nothing."""

    program: Program
    evaluation: Evaluation
    made_from: MadeFrom | None = None  # None for the initial program
    instances: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProgram:
    """A program that nobody has evaluated yet."""

    patch: Patch
    files: Files
    source_hash: str
    features: tuple[str, ...]
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """The arguments of a strategy: its part of the configuration, the run's seed, the `shares` of the models that
    propose, and the `kinds` of patch that each can write."""

    config: SearchConfig
    seed: int
    shares: Mapping[str, float]
    kinds: Mapping[str, frozenset[PatchKind]]

    @property
    def by_bandit(self) -> bool:
        """Whether a bandit chooses the models: `search.models` says so, and at least LEAST_ARMS of them have a share.
        Otherwise they are drawn by weight."""
        return self.config.models == "bandit" and sum(share > 0 for share in self.shares.values()) >= LEAST_ARMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What one generation works on, and which model is asked: a decision of the search, recorded with the question.

    `guided`: its prompt contains insights; some prompts have none, so that the two can be compared. `picked`: why this
    model was chosen, None where it was drawn by weight.
    """

    kind: PatchKind
    island: int
    parent: ProgramRecord
    inspirations: tuple[ProgramRecord, ...]
    model: str
    guided: bool = True
    picked: ModelChoice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why an answer could not be used: the short name of the `reason`, and a `message` for the model."""

    answer: str
    message: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """The insights report after `document` programs, as a prompt shows it: its scratchpad, the state of the run now
    (`standing`), and the one recommendation that this request follows, with its `number` in the report; None where the
    parent has all of them already."""

    document: int
    scratchpad: str
    standing: str
    number: int | None = None
    recommendation: str | None = None
    others: tuple[str, ...] = ()  # titles of the other recommendations


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """An earlier proposal of the run, made from the program of generation `parent`. `result` says in one line how it
    ended: "5 slots better", or what failed or was refused and why (untrusted). `patch_name` is "" where none is known.
    """

    generation: int
    kind: PatchKind
    patch_name: str
    parent: int
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """A proposal under way. `patch_name` and the first sentence of the `description` (untrusted) are there once it has
    an answer; `recommendation` is the title of the one it follows, and `direction` the one it was given."""

    generation: int
    kind: PatchKind
    parent: int
    patch_name: str
    description: str
    recommendation: str | None
    direction: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The `features` that an earlier program changed in its `parent` (see `evolve.patch.features`), and whether it
    `gained`: it is correct and the parent is not, or it is as correct and scores higher."""

    parent: str
    features: tuple[str, ...]
    gained: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """Lines of code that generation `removed` deleted, and generation `brought_back` inserted again."""

    removed: int
    brought_back: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question: improve `parent`. Every random choice in the answer is keyed by (seed, generation, attempt).
    `changes` are those of the latest programs of the run, in recorded order. `tried` and `in_flight` cover the whole
    run, nearest to the parent first. `direction` is the number (from 1) of the suggested kind of change; prompts
    that are otherwise alike get different ones."""

    seed: int
    generation: int
    attempt: int
    kind: PatchKind
    parent: ScoredProgram
    inspirations: tuple[ScoredProgram, ...]
    refusals: tuple[Refusal, ...] = ()
    guidance: Guidance | None = None
    tried: tuple[Tried, ...] = ()
    in_flight: tuple[InFlight, ...] = ()
    direction: int | None = None
    changes: tuple[Change, ...] = ()
    returned: tuple[Returned, ...] = ()  # in the lineage of the parent
    block_only: bool = False  # show only the part of the parent that may change: the whole does not fit

    @property
    def key(self) -> PatchKey:
        """The key of the model call that answers this request."""
        return PatchKey(self.generation, self.attempt)

    def shorter(self) -> Iterator["Request"]:
        """This request, then versions that need less room in a prompt: a diff instead of a crossover, then only the
        part of the parent that may change."""
        yield self
        request = self
        if request.kind is PatchKind.CROSS:
            request = replace(request, kind=PatchKind.DIFF, inspirations=())
            yield request
        yield replace(request, inspirations=(), block_only=True)

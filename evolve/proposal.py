"""What is asked of whoever proposes: the choice of the search, and all that may be looked at in answering."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from evaluator.evaluation import Evaluation
from evolve.archive.events import Picked
from evolve.archive.records import ProgramRecord
from evolve.core.completion import PatchKey
from evolve.core.config import SearchConfig
from evolve.core.program import PatchKind, Program

LEAST_ARMS = 3
"""With fewer models there is too little to choose from for learning to pay: they are drawn by weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFrom:
    """What a program was made from: `value` is that one's metric, None where it is not correct. `change` says in words
    how the program differs from it ("5 slots better"), "" unless the two can be compared."""

    generation: int
    value: float | None
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredProgram:
    """A program with its verdict, as a proposer sees it. `instances` says of an inspiration, in code's words, on which
    instances it is better and worse than the parent; "" where that says nothing."""

    program: Program
    evaluation: Evaluation
    made_from: MadeFrom | None = None  # None for the initial program
    instances: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """What a strategy is made of: its part of the configuration, the run's seed, and who may be asked: the `shares` of
    the models that propose, and the `kinds` of patch that each can write."""

    config: SearchConfig
    seed: int
    shares: Mapping[str, float]
    kinds: Mapping[str, frozenset[PatchKind]]

    @property
    def by_bandit(self) -> bool:
        """Whether the models are chosen by what they yielded; where fewer than LEAST_ARMS may be asked they are drawn
        by weight, whatever `search.models` says."""
        return self.config.models == "bandit" and sum(share > 0 for share in self.shares.values()) >= LEAST_ARMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What one generation works on, and who is asked: a decision of the search, recorded with the question.

    `guided`: it is given what the run has learned; a share is not, so that the two can be compared. `picked`:
    why of that model, None where it was drawn by weight.
    """

    kind: PatchKind
    island: int
    parent: ProgramRecord
    inspirations: tuple[ProgramRecord, ...]
    model: str
    guided: bool = True
    picked: Picked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the last answer of this generation could not be used: the short name of the reason, and words for the
    model."""

    answer: str
    message: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """What the run has learned, from its meta document after `document` programs: the scratchpad, as of when it was
    written and where the run stands now (`standing`), and the one recommendation (number `number` of the document) that
    this request follows; None where all of them are in the parent already."""

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
    """A proposal that is being worked on. Of one with an answer: the `patch_name` and the first sentence of the
    `description` (untrusted); of any: the title of the `recommendation` and the `direction` that it was given."""

    generation: int
    kind: PatchKind
    parent: int
    patch_name: str
    description: str
    recommendation: str | None
    direction: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an earlier program of the run changed of which parent (`features`, see `evolve.patch.features`), and whether
    that `gained`: it is correct and the parent is not, or it is as correct and stands above it."""

    parent: str
    features: tuple[str, ...]
    gained: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """Lines of code that the change of generation `removed` took out, and that of `brought_back` put in again."""

    removed: int
    brought_back: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question: improve `parent`. Everything random in answering it is keyed by (seed, generation, attempt).
    `changes` are those of the latest programs of the run, in recorded order. `tried` and `in_flight` are of the whole
    run, the nearest to the parent first; `direction` is the number (from 1) of the kind of change that is suggested, so
    that no two prompts ask for the same."""

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
    returned: tuple[Returned, ...] = ()  # on the way to the parent
    block_only: bool = False  # show of the parent only what may change: the whole of it does not fit

    @property
    def key(self) -> PatchKey:
        """That of the call that answers it."""
        return PatchKey(self.generation, self.attempt)

    def shorter(self) -> Iterator["Request"]:
        """The request, and then others that need less room in a prompt: without what a crossover must show, and with
        nothing of the parent but the part that may change."""
        yield self
        request = self
        if request.kind is PatchKind.CROSS:
            request = replace(request, kind=PatchKind.DIFF, inspirations=())
            yield request
        yield replace(request, inspirations=(), block_only=True)

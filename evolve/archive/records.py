"""The records of a run as frozen values. Texts stay in git until they are asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluator.evaluation import OrderRange, Outcome, PairedResult, Scored
from evolve.archive.events import AskedEvent, ForeignClaim, FreshEvent, FreshState, MetaAnsweredEvent, Status
from evolve.archive.reports import InsightsReport, MetaState
from evolve.core.completion import Completion, Followed, MetaKey, PatchKey
from evolve.core.program import Origin, PatchKind
from evolve.core.usage import NOTHING, Spending, Usage

COSTS_KEPT = 1000
"""A program's record holds its costs up to this many instances."""

EVALUATED_REASONS = frozenset(outcome.value for outcome in Outcome if outcome is not Outcome.OK)
"""Reasons of `refused` events that send a program's failed evaluation back to its model."""

OPEN = (Status.ASKED, Status.ANSWERED)
"""The statuses of a generation that has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where a run stood when a generation ended: the wall seconds, how many generations had ended (this one included),
    and what all calls had cost so far. Curves over attempts, hours or dollars are drawn from moments."""

    t: float = 0.0
    position: int = 0
    spent: Spending = field(default_factory=Spending)


BEGINNING = Moment()
"""Before any generation had ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRecord(Scored):
    """One recorded program. `behaviour` is a digest of its outcome and exact cost on every instance. Its `metrics`
    are those of the judge, plus `runtime_s`."""

    generation: int
    commit: str
    parents: tuple[str, ...]
    inspirations: tuple[str, ...]
    island: int
    origin: Origin
    source_hash: str  # of the normalised syntax tree
    length: int  # characters of its source
    behaviour: str
    confirmed: OrderRange | None = None  # scores of a confirmed program in other orders
    overfitted: str | None = None  # why its gains on the suite do not generalise, if so
    costs: str = ""  # of a correct program: its exact costs, separated by spaces (see COSTS_KEPT)
    moment: Moment = BEGINNING  # when it was recorded
    stale: bool = False  # an earlier judge made its score: it is shown, and never compared
    excluded: bool = False  # a person took it out of choice and best
    against: PairedResult | None = None  # the comparison with what was the best, where that decides
    claimed: ForeignClaim | None = None  # what the folder that it was imported from states of it

    @property
    def score_as(self) -> tuple[str, int]:
        """The metric's name and sign in the score: `("makespan", -1)` where the score is the negated makespan."""
        scale = self.objective.scale(self.combined_score, self.value)
        return scale.metric, scale.direction.sign


CONFIRMING = (FreshState.HELD, FreshState.NOT_AVAILABLE)
"""The states in which a check on fresh instances has nothing left to try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshCheck:
    """All samples of fresh instances that one program was tried on, in order. A first sample may fail by chance: a
    second one follows, and counts."""

    samples: tuple[FreshEvent, ...] = ()

    @property
    def whole(self) -> tuple[FreshEvent, ...]:
        """The samples whose instances were all tried."""
        return tuple(sample for sample in self.samples if sample.state in (FreshState.HELD, FreshState.FAILED))

    @property
    def counts(self) -> FreshEvent | None:
        """The sample that counts: the last whole one, else the last; None without samples."""
        return next(iter([*self.whole[-1:], *self.samples[-1:]]), None)

    @property
    def state(self) -> FreshState:
        """The state of the check. A first sample that failed leaves it open until there is a second."""
        if self.whole and (self.whole[-1].state is FreshState.HELD or len(self.whole) > 1):
            return self.whole[-1].state
        if any(sample.count for sample in self.samples):
            return FreshState.PARTLY_TRIED
        return self.samples[-1].state if self.samples else FreshState.NOT_TRIED


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """One question to a model: attempt `attempt` (0, 1, ...) of a generation, and its outcome.

    `reason` is a stable short name (`truncated`, `no_match`, ...) and `message` what the model is sent back, both None
    unless the answer was refused. `prompt`, `answer` and `reasoning` are object ids of blobs, None without such a text.
    """

    generation: int
    attempt: int
    status: Status
    model: str
    parent: str
    prompt: str | None = None
    answer: str | None = None
    reason: str | None = None
    message: str | None = None
    usage: Usage = NOTHING
    finish_reason: str | None = None
    reasoning: str | None = None
    guidance: Mapping[str, int] | None = None  # the insights report in the prompt, and which `recommendation` of it
    followed: Followed | None = None  # what the answer says of that recommendation
    shortened: bool = False  # the prompt would have been too long, so parts of it were left out
    instead_of: str | None = None  # the model that was chosen, and has been given weight 0 since
    repair: bool = False  # there was something to repair, for which `repair_model` was asked
    tuning: Mapping[str, int] | None = None  # counts of the search over numbers that answered (see Completion)

    @property
    def key(self) -> PatchKey:
        """The key of its request."""
        return PatchKey(self.generation, self.attempt)

    @property
    def failure(self) -> Outcome | None:
        """How the program of its answer failed, if the failure went back to the model."""
        if self.answer is None or self.reason is None or self.reason not in EVALUATED_REASONS:
            return None
        return Outcome(self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """Counts of a whole run. Each stage is part of the one before it."""

    answered: int = 0
    applied: int = 0
    new: int = 0
    correct: int = 0
    improved: int = 0  # better than its parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """One model's part in a generation: whether it answered, whether its last answer gave a program (new or known), how
    many of its calls failed, and what all of them cost. `fair` leaves out the calls that a kill cut off, so that a
    killed run decides as any other."""

    model: str
    answered: bool
    applied: bool
    failed: int
    spent: Spending
    fair: Spending


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedGeneration:
    """One generation at its end, as the search sees it: its parent (None for the initial program), and its program, if
    it has one whose score counts.

    `improvement`: how far its score is above its parent's (of a crossover: above the best that it saw), 0 where the
    parent is not correct; None unless it is better. `models`: those that were asked, in order. `arm`: the model that
    `search.models` chose; None for a repair of the search's own, or where nothing was sent.
    """

    generation: int
    status: Status
    parent: str | None
    program: ProgramRecord | None
    moment: Moment = BEGINNING
    improvement: float | None = None
    models: tuple[Contribution, ...] = ()
    arm: str | None = None
    kind: PatchKind = PatchKind.INITIAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A generation without an end, and the question `asked` last. With an `answer`, attempt `attempt` is paid for and
    recorded: it is evaluated, and nothing is asked. Without one, `attempt` is asked (for the first time, or again after
    a crash). `refusals` are the answers, messages and reasons of the attempts before it."""

    asked: AskedEvent
    attempt: int
    refusals: tuple[tuple[str, str, str], ...]
    answer: Completion | None

    @property
    def generation(self) -> int:
        """The generation's number."""
        return self.asked.generation


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaRecord:
    """The state of the meta-summarizer.

    `begun` is the number of programs when its last round began, `shown` when the round of its last report did, and
    `closings` when sessions ended with a report of their own, which is among `reports` and in no prompt. `asked` counts
    the generations begun when the last report came into force, `calls` the answers that its round took. `position` is
    how much a search knew at the last call of the round under way, None between rounds. `state` is what the last round
    left to the next, `problems` why it gave no report, `reports` each report by its number of programs, `corrections`
    what the check changed in each, `written` when it was made (wall seconds), and `answers` the `meta_answered` event
    of each request of the round under way.
    """

    begun: int
    shown: int
    closings: tuple[int, ...] = ()
    asked: int = 0
    calls: int = 0
    position: int | None = None
    state: MetaState = field(default_factory=MetaState)
    problems: tuple[str, ...] = ()
    reports: Mapping[int, InsightsReport] = field(default_factory=dict)
    corrections: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    written: Mapping[int, float] = field(default_factory=dict)
    answers: Mapping[MetaKey, MetaAnsweredEvent] = field(default_factory=dict)

    @property
    def closed(self) -> int:
        """The number of programs when a session last ended with a report of its own."""
        return max(self.closings, default=0)

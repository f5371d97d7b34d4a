"""The messages of a run while it goes on: plain values for a listener."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from evaluator.remote import WorkerState
from evolve.archive.events import HeldOutEvent, WorkerEvent
from evolve.archive.records import Funnel, ProgramRecord
from evolve.core.completion import Adaptation
from evolve.core.usage import Spending
from evolve.insights.yields import ModelYield


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A program was scored and recorded. `provisional`: it scores above the best, and becomes the best only once it is
    confirmed: a `Confirmed` follows, unless a higher one is confirmed first.

    The initial program has no `parent_score`, and has `held_out` when there is a held-out suite.
    """

    record: ProgramRecord
    detail: str
    parent_score: float | None
    provisional: bool = False
    held_out: HeldOutEvent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """A program that scored above the best was confirmed, and is the new best (`is_best`); or it was not, and `detail`
    says why. A new best has `held_out` when there is a held-out suite."""

    record: ProgramRecord
    detail: str
    is_best: bool
    held_out: HeldOutEvent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An answer could not be used. `final`: its generation ended with this refusal."""

    generation: int
    reason: str
    message: str
    final: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A generation got no answer."""

    generation: int
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """An endpoint rejected a parameter: later requests to its model are adapted. Sent once for each change."""

    changes: tuple[Adaptation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTrouble:
    """A model's server refuses, fails, or does not answer: reported at once, and again every 30 s while it lasts.

    `reason` is a FailureReason, or `silent`, and `message` the server's own words. `failed` counts the failed calls
    since its last answer; `tries` is the number of the last try of a request, and how many it may take. `waiting`
    counts the requests that wait; the first is sent again in `next_try_s`. A request without an answer for `silent_s`
    is given up `gives_up_s` after it was sent.
    """

    model: str
    reason: str
    message: str
    failed: int = 0
    tries: tuple[int, int] | None = None
    waiting: int = 0
    next_try_s: float | None = None
    silent_s: float | None = None
    gives_up_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised:
    """A round of the summarizer ended: with an insights report, or with problems."""

    programs: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """The run ends early. It waits for this number of `answers` on their way, for at most `longest_s` seconds where the
    time limits of all their calls are known."""

    answers: int
    longest_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something that the person should look at."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFailed:
    """The task's own code failed. The generation is left open, with its answer."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFailed:
    """The workers that evaluated a program were lost. The generation is left open, with its answer."""

    generation: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerChanged:
    """A worker of a cluster joined, or was lost, refused or expelled."""

    event: WorkerEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Checking:
    """A check of the best program begins at the end of a session: in new orders, or with the initial program on fresh
    instances, or in pairs with the unchanged code. `what` says on how many. At the suite's limits the answers take
    `longest_s` seconds; None where the limits say little."""

    generation: int
    what: str
    longest_s: float | None = None


Event = (
    Evaluated
    | Confirmed
    | Refused
    | Failed
    | Adapted
    | ServerTrouble
    | Summarised
    | Stopping
    | Warned
    | TaskFailed
    | MachineFailed
    | WorkerChanged
    | Checking
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """The phase of a generation under way (`asking`, `tuning`, `evaluating`), and its length in seconds. Its program
    may be `confirming` after its end. An insights report (`summarising`) has the generation None."""

    generation: int | None
    name: str
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of a run at one moment. `finished` counts the generations that have ended.

    `time_left_s` is an estimate, None while there is nothing to estimate from."""

    finished: int
    generations: int | None
    in_flight: int
    best: ProgramRecord | None
    held_out: HeldOutEvent | None = None  # of the best
    ceiling: float | None
    funnel: Funnel = field(default_factory=Funnel)
    phases: tuple[Phase, ...] = ()
    troubles: tuple[ServerTrouble, ...] = ()
    spent: Spending = field(default_factory=Spending)
    models: Sequence[ModelYield] = ()
    workers: Sequence[WorkerState] = ()  # of a cluster
    elapsed_s: float
    time_left_s: float | None


def time_left(
    *, finished: int, generations: int | None, minutes: float | None, session_finished: int, elapsed_s: float
) -> float | None:
    """Seconds until the nearer of the two limits, at this session's pace; None when that is not known yet."""
    estimates = []
    if generations is not None and session_finished > 0:
        estimates.append(max(0, generations - finished) * elapsed_s / session_finished)
    if minutes is not None:
        estimates.append(max(0.0, minutes * 60 - elapsed_s))
    return min(estimates) if estimates else None

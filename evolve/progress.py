"""What a run tells while it goes on: plain values, for whatever shows them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from evolve.archive.events import HeldOutEvent
from evolve.archive.records import Funnel, ProgramRecord
from evolve.core.completion import Adaptation
from evolve.core.usage import Spending
from evolve.insights.yields import ModelYield


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A program was scored and recorded. `provisional`: it stands above the best, and is to be confirmed before it is
    that: `Confirmed` tells what came of it, unless a higher one is confirmed.

    Of the initial program `parent_score` is None, and `held_out` is there when the suite has a held-out twin.
    """

    record: ProgramRecord
    detail: str
    parent_score: float | None
    provisional: bool = False
    held_out: HeldOutEvent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """A program that stood above the best was confirmed, and is the new best (`is_best`); or it was not, and `detail`
    says why. `held_out` is there for a new best, when the suite has a held-out twin."""

    record: ProgramRecord
    detail: str
    is_best: bool
    held_out: HeldOutEvent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An answer could not be used. `final` says that its generation ended with that."""

    generation: int
    reason: str
    message: str
    final: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """No answer could be had for a generation."""

    generation: int
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """An endpoint refused something of a request: its model is asked otherwise from now on. Told once."""

    changes: tuple[Adaptation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTrouble:
    """A model's server refuses, fails, or does not answer: reported at once, and again every 30 s while it lasts.

    `reason` is a FailureReason, or `silent`, and `message` what the server said. `failed` counts the calls since its
    last answer that failed, and `tries` says which try of its request the last one was, of how many. `waiting` counts
    the requests that wait; the first is sent again in `next_try_s`. A request without an answer for `silent_s` is given
    up `gives_up_s` after it was sent.
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
    """A round of the meta-summarizer ended: with a document, or with problems."""

    programs: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """The run is to end before all that is under way has ended. It waits for this number of `answers` on their way, for
    `longest_s` seconds at most where the time limits of all their calls are known."""

    answers: int
    longest_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something that the person should look at."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFailed:
    """The task's own code did something wrong. The generation is left open, with its answer."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checking:
    """The session is over, but for a check of the best program: in new orders, or with the initial program on fresh
    instances. `what` says on how many. At the suite's limits the answers take `longest_s` seconds."""

    generation: int
    what: str
    longest_s: float


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
    | Checking
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What a generation under way is at (`asking`, `tuning`, `evaluating`), and since when. Its program may be
    `confirming` after its end; the generation of a meta document (`summarising`) is None."""

    generation: int | None
    name: str
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands at one moment. `finished` counts the generations that have ended.

    `time_left_s` is an estimate, None while there is nothing to go by."""

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

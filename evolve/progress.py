"""What a run tells while it goes on: plain values, for whatever shows them."""

from dataclasses import dataclass, field

from evolve.archive.records import HeldOutRecord, ProgramRecord
from evolve.usage import Spending


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A program was scored and recorded. `parent_score` is None for the initial program.

    `held_out` is there for a new best, when the suite has a held-out twin.
    """

    record: ProgramRecord
    detail: str
    parent_score: float | None
    is_best: bool
    held_out: HeldOutRecord | None = None


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
class Summarised:
    """A round of the meta-summarizer ended: with a document, or with problems."""

    programs: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """The person asked the run to end; so many answers on their way are waited for."""

    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something that the person should look at."""

    message: str


Event = Evaluated | Refused | Failed | Summarised | Stopping | Warned


@dataclass(slots=True)
class Tally:
    """Counts of a whole run, earlier sessions included. Each stage of the funnel is part of the one before it."""

    answered: int = 0
    applied: int = 0
    new: int = 0
    valid: int = 0
    improved: int = 0  # better than its parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What a generation under way is doing (`asking`, `evaluating`, ...), and for how long."""

    generation: int
    name: str
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands at one moment. `time_left_s` is an estimate, None while there is nothing to go by.

    `tally` counts only what has ended; `phases` tells of what has not.
    """

    finished: int
    generations: int | None
    in_flight: int
    phases: tuple[Phase, ...] = ()
    best: ProgramRecord | None
    held_out: HeldOutRecord | None = None  # of the best
    ceiling: float | None
    tally: Tally = field(default_factory=Tally)
    spent: Spending = field(default_factory=Spending)
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

"""When a run ends, and what is worth a warning while it goes on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Final

from evaluator.untrusted import one_line
from evolve.archive.ranking import reached_ceiling
from evolve.archive.reader import RunReader

_WITHOUT_PATCH = ("no_patch", "truncated", "empty", "length", "refusal", "content_filter")
"""Why an answer is refused that holds no whole patch."""
WITHOUT_PATCH = 3
"""A warning follows this many answers in a row without a patch."""
ALARM_AFTER = 20
"""This many programs in a row with the same fault are a pattern, not bad luck."""


class StopReason(StrEnum):
    """Why a run ended."""

    CEILING = "ceiling"
    UNCONFIRMED = "unconfirmed"  # the ceiling, reached by a program that is not known to hold on other instances
    GENERATIONS = "generations"
    MINUTES = "minutes"
    PATIENCE = "patience"
    BUDGET = "budget"
    BUDGET_TOKENS = "budget_tokens"
    BUDGET_CALLS = "budget_calls"
    UNREACHABLE = "unreachable"
    TASK = "task"
    MACHINE = "machine"  # the workers of a cluster were lost
    INTERRUPTED = "interrupted"


IMPORTED: Final = "imported"
"""The end of a run that was no search: its programs are those of another system's result folder."""

ENDS: Final[Mapping[str, str]] = {
    StopReason.CEILING: "solved",
    StopReason.UNCONFIRMED: "not solved",
    StopReason.GENERATIONS: "finished",
    StopReason.MINUTES: "time limit",
    StopReason.PATIENCE: "no more progress",
    StopReason.BUDGET: "budget spent",
    StopReason.BUDGET_TOKENS: "token budget spent",
    StopReason.BUDGET_CALLS: "call budget spent",
    StopReason.UNREACHABLE: "no model answered",
    StopReason.TASK: "error in the task's code",
    StopReason.MACHINE: "workers lost",
    StopReason.INTERRUPTED: "interrupted",
    IMPORTED: "imported",
}
"""What each reason is called, in the summary, in lists and on pages."""


def end_text(reason: str) -> str:
    """Why a run ended, in words; a reason that is not known here as it is recorded."""
    return ENDS.get(reason, f"stopped: {reason}")


AT_LIMIT = (StopReason.GENERATIONS, StopReason.PATIENCE)
"""A limit that is reached between two generations: what is under way ends as it would."""


OF_BUDGET = {
    "budget_usd": StopReason.BUDGET,
    "budget_tokens": StopReason.BUDGET_TOKENS,
    "budget_calls": StopReason.BUDGET_CALLS,
}
"""The reason that each budget of the configuration is, once another call could exceed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Where a run stands. `begun` counts generations begun, `since_best` those that have ended since the best program
    came; neither counts the initial program."""

    begun: int
    since_best: int
    best_score: float | None
    ceiling: float | None
    ceiling_is_proven: bool
    elapsed_s: float


def stop_reason(
    now: Situation, *, generations: int | None, minutes: float | None, patience: int | None
) -> StopReason | None:
    """Why no further generation should begin, or None. Whether that is why the session ends, `conclude` decides."""
    if now.ceiling_is_proven and reached_ceiling(now.best_score, now.ceiling):
        return StopReason.CEILING
    if generations is not None and now.begun >= generations:
        return StopReason.GENERATIONS
    if minutes is not None and now.elapsed_s >= minutes * 60:
        return StopReason.MINUTES
    if patience is not None and now.since_best >= patience:
        return StopReason.PATIENCE
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """What a session came to, its closing checks included. `limit` made the loop end; `unanswered`: it was reached
    while no model answered; `task_failed`: generations were left open since the task's own code was wrong;
    `machine_lost`: others were, since workers of a cluster were lost; `holds`: the held-out suite and fresh instances,
    where there are any, confirm the best program."""

    limit: StopReason
    interrupted: bool
    at_ceiling: bool
    unanswered: bool
    task_failed: bool
    machine_lost: bool = False
    holds: bool


def conclude(end: SessionEnd) -> StopReason:
    """Why a session ended: what its `stopped` event says, which is written once."""
    if end.interrupted:
        return StopReason.INTERRUPTED
    if end.at_ceiling:  # whatever made it end, there was nothing left to do
        return StopReason.CEILING if end.holds else StopReason.UNCONFIRMED
    if end.task_failed:
        return StopReason.TASK
    if end.machine_lost:
        return StopReason.MACHINE
    return StopReason.UNREACHABLE if end.unanswered else end.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentEnd:
    """How one generation ended, as far as the alarms care: `fault` names what went wrong, None if it was correct;
    `nothing` is what the offline proposer says where it has nothing to propose. `without_patch` counts its answers if
    none held a patch, and `last_answer` is the last one."""

    fault: str | None
    score: float | None
    nothing: str | None = None
    without_patch: int = 0
    last_answer: str = ""


def recent_end(reader: RunReader, generation: int) -> RecentEnd:
    """How a generation of a run ended."""
    program, attempts = reader.program(generation), reader.attempts(generation)
    last = attempts[-1]
    without = len(attempts) if all(attempt.reason in _WITHOUT_PATCH for attempt in attempts) else 0
    return RecentEnd(
        fault=reader.fault(generation),
        score=None if program is None else program.combined_score,
        nothing=last.message if last.reason == "nothing" else None,
        without_patch=without,
        last_answer=reader.text(last.answer) if without and last.answer is not None else "",
    )


def alarm(recent: Sequence[RecentEnd]) -> str | None:
    """A warning about the last ALARM_AFTER generations, all of them: one fault, or one score; and at once, when nobody
    has anything to propose. None otherwise."""
    if recent and recent[-1].nothing is not None:
        return recent[-1].nothing
    without = sum(ended.without_patch for ended in takewhile(lambda ended: ended.without_patch, reversed(recent)))
    if without >= WITHOUT_PATCH > without - recent[-1].without_patch:
        answer = recent[-1].last_answer.strip()
        what = f"begins: {one_line(answer, 120)}" if answer else "is empty"
        return f"{without} answers in a row held no patch; the last {what}"
    if len(recent) < ALARM_AFTER:
        return None
    last = recent[-ALARM_AFTER:]
    faults = {ended.fault for ended in last}
    if None not in faults:
        if len(faults) == 1:
            return f"the last {ALARM_AFTER} proposals all failed in the same way: {last[-1].fault}"
        return f"none of the last {ALARM_AFTER} proposals gave a correct program"
    correct = [ended.score for ended in last if ended.fault is None]
    if len(correct) == ALARM_AFTER and len(set(correct)) == 1:
        return (
            f"the last {ALARM_AFTER} programs all score exactly {correct[0]:.6g}: does the score depend on the program?"
        )
    return None

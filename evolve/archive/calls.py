"""The HTTP attempts behind an answer, each with how it ended: answered, failed for a reason, or lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evolve.archive.events import CalledEvent, MetaAnsweredEvent
from evolve.archive.records import AttemptRecord
from evolve.core.completion import FINISH_REASONS, CallPhase
from evolve.core.usage import Spending, Usage

CALLING = CallPhase.CALLING.value
LOST = "lost"
"""The process was killed before the end of the call was written: what it cost is an estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One HTTP attempt. `status` is how an answer ended (`stop`, `length`, ...), why there was none (`timeout`, ...),
    `lost`, or `calling` while it is under way. `sampled` is what was drawn for it from settings that are lists, and
    `adapted` what is asked otherwise since then."""

    status: str
    usage: Usage
    http_status: int | None = None
    message: str = ""
    sampled: Mapping[str, float | str] = field(default_factory=dict)
    adapted: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether it brought an answer, usable or not."""
        return self.status in FINISH_REASONS

    def to_json(self) -> dict[str, Any]:
        """The keys of one call in `evolve show --json`."""
        ended: dict[str, Any] = {"status": self.status, "http_status": self.http_status}
        told = {"message": self.message, "sampled": dict(self.sampled), "adapted": list(self.adapted)}
        return ended | usage_json(self.usage) | told


Asked = tuple[AttemptRecord, Sequence[Call]]
"""A question to a model with the HTTP attempts that it took."""


def calls_of(
    attempt: AttemptRecord | MetaAnsweredEvent | None, events: Sequence[CalledEvent], *, under_way: bool = False
) -> list[Call]:
    """The HTTP attempts of a question (None: of one without an answer) from its `called` events, in order; `under_way`:
    the last one has no end yet.

    Another `calling` that is followed by no failure was answered if the question was, and it is the last; else it was
    lost.
    """
    found: list[Call] = []
    for index, event in enumerate(events):
        if event.phase is not CallPhase.CALLING:
            continue
        following = events[index + 1] if index + 1 < len(events) else None
        if following is not None and following.phase is CallPhase.FAILED:
            found.append(replace(_of_event(following, following.status), sampled=event.sampled or {}))
        elif following is None and attempt is not None and attempt.answer is not None:
            status = attempt.finish_reason or "stop"
            found.append(Call(status=status, usage=attempt.usage, sampled=event.sampled or {}))
        else:
            found.append(_of_event(event, CALLING if under_way and following is None else LOST))
    return found


def _of_event(event: CalledEvent, status: str) -> Call:
    return Call(
        status=status,
        http_status=event.http_status,
        usage=event.usage,
        message=event.message,
        sampled=event.sampled or {},
        adapted=tuple(map(str, event.adapted)),
    )


def spending_of(attempts: Sequence[Asked]) -> Spending:
    """What the questions of a generation took together, the calls that failed included."""
    total = Spending()
    for attempt, calls in attempts:
        total = replace(total, calls=total.calls + len(calls))
        for call in calls:
            total = total.plus(call.usage, answered=call.status == CALLING or call.answered)
        if not calls:
            total = total.plus(attempt.usage)
    return total


def usage_json(usage: Usage) -> dict[str, Any]:
    """Its keys where they stand beside others."""
    keys = usage.to_json()
    measured: dict[str, Any] = keys.pop("measured")
    return keys | measured

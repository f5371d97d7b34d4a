"""The model calls of a run: each HTTP attempt with how it ended, and what all of them took and may yet take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from evolve.archive.events import AskedEvent, CalledEvent, MetaAnsweredEvent
from evolve.archive.records import AttemptRecord
from evolve.core.completion import FINISH_REASONS, CallPhase, MetaKey, RequestKey
from evolve.core.usage import NOTHING, Spending, Usage

CALLING = CallPhase.CALLING.value
LOST = "lost"
"""The process was killed before the end of the call was recorded: its cost is an estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One HTTP attempt. `status` is how an answer ended (`stop`, `length`, ...), why there was none (`timeout`, ...),
    `lost`, or `calling` while it is under way. `sampled` holds the values drawn for it from settings that are lists,
    `adapted` the parameters that changed after it."""

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
        end: dict[str, Any] = {"status": self.status, "http_status": self.http_status}
        details = {"message": self.message, "sampled": dict(self.sampled), "adapted": list(self.adapted)}
        return end | usage_json(self.usage) | details


Asked = tuple[AttemptRecord, Sequence[Call]]
"""A question to a model, with its HTTP attempts."""


def calls_of(
    attempt: AttemptRecord | MetaAnsweredEvent | None, events: Sequence[CalledEvent], *, under_way: bool = False
) -> list[Call]:
    """The HTTP attempts of a question (None: one without an answer) from its `called` events, in order; `under_way`:
    the last one has no end yet.

    Any other `calling` without a failure behind it was answered if it is the last of an answered question, else lost.
    """
    calls: list[Call] = []
    for index, event in enumerate(events):
        if event.phase is not CallPhase.CALLING:
            continue
        following = events[index + 1] if index + 1 < len(events) else None
        if following is not None and following.phase is CallPhase.FAILED:
            calls.append(replace(_of_event(following, following.status), sampled=event.sampled or {}))
        elif following is None and attempt is not None and attempt.answer is not None:
            status = attempt.finish_reason or "stop"
            calls.append(Call(status=status, usage=attempt.usage, sampled=event.sampled or {}))
        else:
            calls.append(_of_event(event, CALLING if under_way and following is None else LOST))
    return calls


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
    """The total cost of questions, calls that failed included."""
    total = Spending()
    for attempt, calls in attempts:
        total = replace(total, calls=total.calls + len(calls))
        for call in calls:
            total = total.plus(call.usage, answered=call.status == CALLING or call.answered)
        if not calls:
            total = total.plus(attempt.usage)
    return total


def usage_json(usage: Usage) -> dict[str, Any]:
    """The keys of a usage in a JSON object that has other keys, too."""
    keys = usage.to_json()
    measured: dict[str, Any] = keys.pop("measured")
    return keys | measured


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pending:
    """A request without an end: what it may cost, and whether it is `asked` (recorded), `sent` or `failed`."""

    usage: Usage
    state: Literal["asked", "sent", "failed"]


class Accounts:
    """The calls behind each request, what all of them cost, and what those under way may cost."""

    def __init__(self) -> None:
        self.spent = Spending()
        self.calls: dict[RequestKey, list[CalledEvent]] = {}  # the `called` events of each request
        self.failing: dict[str, list[CalledEvent]] = {}  # by model, since its last answer in this session
        self.longest_s: dict[str, float] = {}  # by model: the longest time to an answer
        self._pending: dict[RequestKey, _Pending] = {}

    def asked(self, key: RequestKey, event: AskedEvent) -> None:
        """A question was recorded. One sent before and cut off was lost. Without a prompt nothing is sent."""
        if event.prompt is None:
            return
        if key in self._pending and self._pending[key].state == "sent":
            self.lost(key)
        usage = Usage(tokens_in=event.estimate_tokens, cost_usd=event.estimate_usd)
        self._pending[key] = _Pending(usage=usage, state="asked")

    def called(self, event: CalledEvent) -> None:
        """A request is being sent, or has failed."""
        key, usage = event.key, event.usage
        self.calls.setdefault(key, []).append(event)
        if event.phase is CallPhase.FAILED:
            self.spent = self.spent.plus(usage, answered=False)
            self._pending[key] = _Pending(usage=NOTHING, state="failed")
            if event.is_server_failure:
                self.failing.setdefault(event.model, []).append(event)
        else:
            self.spent = self.spent.sent()
            self._pending[key] = _Pending(usage=usage, state="sent")

    def answered(self, key: RequestKey, usage: Usage) -> None:
        """A request was answered."""
        self._pending.pop(key, None)
        self.spent = self.spent.plus(usage)
        if events := self.calls.get(key):
            model = events[-1].model
            self.failing.pop(model, None)
            self.longest_s[model] = max(usage.latency_s, self.longest_s.get(model, 0.0))

    def given_up(self, key: RequestKey) -> None:
        """A request has its end; all its costs were counted."""
        self._pending.pop(key, None)

    def lost(self, key: RequestKey) -> None:
        """A request was cut off while it was under way: it counts at its estimate. One that was sent before, and only
        recorded again since, cost nothing further."""
        pending = self._pending.pop(key, None)
        if pending is not None and (pending.state == "sent" or (pending.state == "asked" and key not in self.calls)):
            self.spent = self.spent.plus(pending.usage, answered=False)

    def resumed(self) -> None:
        """Another session began. Requests that were only recorded were never sent: nothing is reserved for them until
        they are recorded again. Every request of the meta-summarizer that was under way was cut off."""
        self.failing = {}
        self._pending = {key: pending for key, pending in self._pending.items() if pending.state != "asked"}
        for key in [key for key in self._pending if isinstance(key, MetaKey)]:
            self.lost(key)

    def is_sent(self, key: RequestKey) -> bool:
        """Whether a request was sent and has no end."""
        return key in self._pending and self._pending[key].state == "sent"

    def unanswered(self) -> dict[str, CalledEvent]:
        """The oldest of the calls that were sent and have no end, by model."""
        sent = [self.calls[key][-1] for key, pending in self._pending.items() if pending.state == "sent"]
        return {event.model: event for event in sorted(sent, key=lambda event: -event.t)}

    def next_tries(self) -> dict[str, float]:
        """When the first failed request is sent again, by model."""
        failed = [self.calls[key][-1] for key, pending in self._pending.items() if pending.state == "failed"]
        times = [(event.t + event.again_in_s, event.model) for event in failed if event.again_in_s is not None]
        return {model: at for at, model in sorted(times, reverse=True)}

    def under_way(self) -> Spending:
        """The estimate of the calls that were sent and have no end yet. If the run was interrupted, it is charged as
        lost calls when the run is resumed."""
        total = Spending()
        for pending in self._pending.values():
            if pending.state == "sent":
                total = total.sent().plus(pending.usage)
        return total

    def committed(self, *, but: RequestKey | None = None) -> Spending:
        """What the requests without an end may cost, but for the key `but`; `calls` counts those not sent yet."""
        total = Spending()
        for key, pending in self._pending.items():
            if key != but:
                total = total.plus(pending.usage)
                total = total.sent() if pending.state == "asked" else total
        return total

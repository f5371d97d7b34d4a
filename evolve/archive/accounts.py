"""What the calls of a run took and may yet take, as its events add up to it."""

from dataclasses import dataclass
from typing import Literal

from evolve.archive.events import AskedEvent, CalledEvent
from evolve.core.completion import CallPhase, MetaKey, RequestKey
from evolve.core.usage import NOTHING, Spending, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pending:
    """A request without an end: what it may take, and whether it is `asked` (written down), `sent`, or `failed` (and
    perhaps sent again)."""

    usage: Usage
    state: Literal["asked", "sent", "failed"]


class Accounts:
    """The calls behind each request, what all of them took, and what those under way may take."""

    def __init__(self) -> None:
        self.spent = Spending()
        self.calls: dict[RequestKey, list[CalledEvent]] = {}  # the `called` events of each request
        self.failing: dict[str, list[CalledEvent]] = {}  # by model, since its last answer in this session
        self.longest_s: dict[str, float] = {}  # of the answers of each model
        self._pending: dict[RequestKey, _Pending] = {}

    def asked(self, key: RequestKey, event: AskedEvent) -> None:
        """A question was written down. Sent before, and cut off, it was lost. Without a prompt nothing is sent."""
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
        """A request has its end, and all that it took was counted."""
        self._pending.pop(key, None)

    def lost(self, key: RequestKey) -> None:
        """A request was cut off while it was under way: what it took is not known, and taken to be what it might. One
        that was sent before, and only written down again since, took nothing further."""
        pending = self._pending.pop(key, None)
        if pending is not None and (pending.state == "sent" or (pending.state == "asked" and key not in self.calls)):
            self.spent = self.spent.plus(pending.usage, answered=False)

    def resumed(self) -> None:
        """Another session began. What was only written down was never sent: nothing is kept for it until it is written
        down again. Every request of the meta-summarizer that was under way was cut off."""
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
        """When the first of the requests that failed is sent again, by model."""
        failed = [self.calls[key][-1] for key, pending in self._pending.items() if pending.state == "failed"]
        times = [(event.t + event.again_in_s, event.model) for event in failed if event.again_in_s is not None]
        return {model: at for at, model in sorted(times, reverse=True)}

    def under_way(self) -> Spending:
        """What is kept for the calls that were sent and have no end yet: where the run was cut off it counts, as that
        of lost calls, once the run is resumed."""
        total = Spending()
        for pending in self._pending.values():
            if pending.state == "sent":
                total = total.sent().plus(pending.usage)
        return total

    def committed(self, *, but: RequestKey | None = None) -> Spending:
        """What the requests without an end may take, that with the key `but` aside; `calls` counts those that were
        not sent yet."""
        total = Spending()
        for key, pending in self._pending.items():
            if key != but:
                total = total.plus(pending.usage)
                total = total.sent() if pending.state == "asked" else total
        return total

"""What the servers of a run refuse, fail at or leave unanswered: noted from the events of its calls."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from evolve.core.completion import CallEvent, CallPhase, RequestKey
from evolve.progress import ServerTrouble

REPEATED_AFTER_S = 30.0
"""A server's trouble is reported at once, and again after this many seconds while it lasts."""
_SILENT_S = 5.0
_MORE_THAN_USUAL = 2.0


def silent_after_s(longest_s: float) -> float:
    """After how many seconds without an answer a server is called silent, whose longest answer took `longest_s`."""
    return max(_SILENT_S, _MORE_THAN_USUAL * longest_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class _HeardRequest:
    """What was heard last of a request, and when; `sent_at` is when it was sent, None while it is not under way."""

    event: CallEvent
    heard_at: float
    sent_at: float | None


@dataclass(slots=True, kw_only=True)
class _ServerRecord:
    """What is known of the server of one model. Since its last answer `failed` calls failed, `failure` last. Each kind
    of trouble was `reported_at` a moment."""

    failure: CallEvent | None = None
    failed: int = 0
    longest_s: float = 0.0
    reported_at: dict[str, float] = field(default_factory=dict)


class Troubles:
    """The servers of a run's models. Thread-safe."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._servers: dict[str, _ServerRecord] = {}
        self._requests: dict[RequestKey, _HeardRequest] = {}

    def note(self, key: RequestKey, event: CallEvent) -> None:
        """Hear of one event of a request's calls."""
        now = self._now()
        with self._lock:
            server, before = self._servers.setdefault(event.model, _ServerRecord()), self._requests.get(key)
            sent_at = now if event.phase is CallPhase.CALLING else None
            self._requests[key] = _HeardRequest(event=event, heard_at=now, sent_at=sent_at)
            if event.phase is CallPhase.FAILED and _is_trouble(event):
                server.failure, server.failed = event, server.failed + 1
            elif event.phase is CallPhase.ANSWERED:
                server.failure, server.failed = None, 0
                if before is not None and before.sent_at is not None:
                    server.longest_s = max(server.longest_s, now - before.sent_at)

    def ended(self, key: RequestKey) -> None:
        """Nothing more comes of a request."""
        with self._lock:
            self._requests.pop(key, None)

    def gives_up_in_s(self) -> float | None:
        """How long until the last of the requests under way is given up; None where none is, or nobody knows."""
        now = self._now()
        with self._lock:
            left = [_left(request, now) for request in self._requests.values() if request.sent_at is not None]
        limits = [seconds for seconds in left if seconds is not None]
        return max(limits) if limits and len(limits) == len(left) else None

    def current(self) -> tuple[ServerTrouble, ...]:
        """The trouble of each server that has some."""
        now = self._now()
        with self._lock:
            troubles = [self._trouble(model, now) for model in self._servers]
        return tuple(trouble for trouble in troubles if trouble is not None)

    def due(self) -> list[ServerTrouble]:
        """What is to be reported now: a server's trouble of a kind that was not reported for a while. The last failure
        of a request is left out if no request waits: the end of the request reports it."""
        now, due = self._now(), list[ServerTrouble]()
        with self._lock:
            for model, server in self._servers.items():
                trouble = self._trouble(model, now)
                if trouble is None or (trouble.silent_s is None and not trouble.waiting):
                    continue
                if now - server.reported_at.get(trouble.reason, float("-inf")) >= REPEATED_AFTER_S:
                    server.reported_at[trouble.reason] = now
                    due.append(trouble)
        return due

    def _trouble(self, model: str, now: float) -> ServerTrouble | None:
        server = self._servers[model]
        requests = [request for request in self._requests.values() if request.event.model == model]
        waiting = [request for request in requests if _is_waiting(request)]
        failure = server.failure
        if failure is not None:
            times = [request.heard_at + (request.event.again_in_s or 0.0) - now for request in waiting]
            return ServerTrouble(
                model=model,
                reason=failure.status,
                message=failure.message,
                failed=server.failed,
                tries=failure.tries,
                waiting=len(waiting),
                next_try_s=max(0.0, min(times)) if times else None,
            )
        sent = [request for request in requests if request.sent_at is not None]
        oldest = min(sent, key=lambda request: request.sent_at or 0.0, default=None)
        if oldest is None or oldest.sent_at is None or now - oldest.sent_at < silent_after_s(server.longest_s):
            return None
        return ServerTrouble(
            model=model,
            reason="silent",
            message="no answer",
            waiting=len(sent),
            silent_s=now - oldest.sent_at,
            gives_up_s=oldest.event.limit_s,
        )


def _is_trouble(failure: CallEvent) -> bool:
    """Whether a failure says something of the server: not that a request goes again at once, changed, or for the run's
    end."""
    changed = failure.again_in_s == 0 and failure.status != "rate_limited"
    return not changed and failure.status != "cancelled"


def _is_waiting(request: _HeardRequest) -> bool:
    event = request.event
    return event.phase is CallPhase.WAITING or (event.phase is CallPhase.FAILED and event.again_in_s is not None)


def _left(request: _HeardRequest, now: float) -> float | None:
    limit, sent_at = request.event.limit_s, request.sent_at
    return None if limit is None or sent_at is None else max(0.0, sent_at + limit - now)

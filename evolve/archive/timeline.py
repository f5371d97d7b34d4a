"""The sessions and notes of a run, and which generations have changed since when."""

import itertools
from bisect import bisect_right
from collections import Counter, deque
from typing import Final

from evolve.archive.events import (
    AnsweredEvent,
    AskedEvent,
    AuditedEvent,
    CalledEvent,
    CreatedEvent,
    Event,
    ExcludedEvent,
    MetaAnsweredEvent,
    NotedEvent,
    RescoredEvent,
    ResumedEvent,
    SessionEvent,
    StoppedEvent,
)
from evolve.core.completion import Adaptation, MetaKey, PatchKey
from evolve.core.program import PatchKind

_CLOCKS_DIFFER_S: Final = 0.01

_KEPT: Final = 600
"""How many evaluations of a worker its pace is counted over, at most."""


class WorkerPace:
    """How many programs each worker of a cluster has evaluated, and when it did the last ones (wall seconds)."""

    def __init__(self) -> None:
        self.done = Counter[str]()
        self._times: dict[str, deque[float]] = {}

    def add(self, worker: str, t: float) -> None:
        """A worker's evaluation is on record."""
        self.done[worker] += 1
        self._times.setdefault(worker, deque(maxlen=_KEPT)).append(t)

    def since(self, worker: str, t: float) -> int:
        """How many of the last ones came after `t`."""
        return sum(at > t for at in self._times.get(worker, ()))


class Timeline:
    """The sum of all events so far that no decision about a program depends on. In order of time."""

    def __init__(self) -> None:
        self.events = 0  # how many were added
        self.notes: list[NotedEvent] = []
        self.sessions: list[SessionEvent] = []  # how each began, went on and ended
        self.meta_answers: dict[MetaKey, MetaAnsweredEvent] = {}
        self.adaptations: list[Adaptation] = []  # of the requests to the models as configured now
        self._worked = 0.0  # when the newest event of a session was
        self._pauses: list[tuple[float, float]] = []  # when a session resumed, and the length of all pauses before it
        self._going_on = False  # whether a session is open: a killed one leaves no event
        self._question: tuple[float, float] | None = None  # if a search was just asked for: when, and `_worked` then
        self._touched: dict[int, int] = {}  # by generation: the number of its newest event, oldest first
        self._all_touched = 0  # the number of the newest event about all generations

    def add(self, event: Event) -> None:
        """Add an event that was checked."""
        self.events += 1
        t = event.t
        generation = _generation(event)
        if generation is not None:
            since = self._touched.pop(generation, 0)
            later = (
                self.touched(since) if isinstance(event, RescoredEvent) else []
            )  # the best at those times may differ
            for each in (*later, generation):
                self._touched.pop(each, None)
                self._touched[each] = self.events
        if isinstance(event, AnsweredEvent) and event.tuning is not None:
            self._searched(t, event.measured["latency_s"])
        asks_numbers = isinstance(event, AskedEvent) and event.kind is PatchKind.TUNE
        self._question = (t, self._worked) if asks_numbers else None
        match event:
            case CalledEvent():
                self.adaptations += event.adapted
            case MetaAnsweredEvent():
                self.meta_answers[event.key] = event
            case NotedEvent():
                self.notes.append(event)
                return  # it is no work
            case AuditedEvent():
                self._all_touched = self.events
                return  # no part of any session
            case ExcludedEvent():  # the best after each generation may differ
                self._all_touched = self.events
            case CreatedEvent() | ResumedEvent() | StoppedEvent():
                self._session(event)
        self._worked = t

    def _session(self, event: SessionEvent) -> None:
        """A session begins, goes on or ends."""
        self._going_on = not isinstance(event, StoppedEvent)
        self.sessions.append(event)
        if isinstance(event, ResumedEvent):
            self._pauses.append((event.t, self._paused(event.t) + max(0.0, event.t - self._worked)))
            if "models" in event.changed:  # what they refuse is learned again
                self.adaptations = []
        if isinstance(event, CreatedEvent) or (isinstance(event, ResumedEvent) and event.identity):
            self._all_touched = self.events

    def seconds(self, t: float | None = None) -> float:
        """The total length in seconds of all sessions (and of searches between them) up to a moment (None: now)."""
        if not self.sessions:
            return 0.0
        until = self._worked if t is None else t
        return max(0.0, until - self.sessions[0].t - self._paused(until))

    def _searched(self, t: float, took_s: float) -> None:
        """A search over numbers has ended. One between two sessions (`evolve tune`) is recorded at its end, both its
        events at once: the time before it began is a pause."""
        if self._question is None:
            return
        asked, worked = self._question
        began = min(asked, t - took_s)
        if not self._going_on or began < asked - _CLOCKS_DIFFER_S:
            self._pauses.append((asked, self._paused(asked) + max(0.0, began - worked)))

    def _paused(self, t: float) -> float:
        at = bisect_right(self._pauses, t, key=lambda pause: pause[0])
        return self._pauses[at - 1][1] if at else 0.0

    def touched(self, since: int) -> list[int]:
        """The generations that changed after the first `since` events, lowest first. Takes time only for those."""
        if self._all_touched > since:
            return sorted(self._touched)
        newer = itertools.takewhile(lambda entry: entry[1] > since, reversed(self._touched.items()))
        return sorted(generation for generation, _ in newer)


def _generation(event: Event) -> int | None:
    """The generation that an event is about."""
    if isinstance(event, CalledEvent):
        return event.key.generation if isinstance(event.key, PatchKey) else None
    generation: int | None = getattr(event, "generation", None)
    return generation

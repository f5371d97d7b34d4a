"""Execution slots for candidates: many at a time, or one exclusively; and cancelling all of them.

Two programs that run at the same time can always exchange information (by heat, caches, time itself), so that one could
answer with the other's work. A score is therefore confirmed while no other candidate runs in this process, not even in
another evaluator. Other processes on the machine are not affected.

A thread that waits for the exclusive slot comes before later threads, and must not run a candidate meanwhile. Every
wait here looks for cancellation in slices. The thread that holds a candidate kills it itself, so that no two threads
touch a descriptor.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from evaluator.errors import EvaluationCancelled

Place = TypeVar("Place")
SLICE_S: Final = 0.25
"""The longest time between two looks."""
_CLOSING_S: Final = 4 * SLICE_S


class Cancellation(threading.Event):
    """Set once, for good, from any thread: no verdict is wanted any more."""

    def check(self) -> None:
        """Raises EvaluationCancelled once it is set."""
        if self.is_set():
            raise EvaluationCancelled("the evaluator was closed before there was a verdict")

    def sleep(self, seconds: float) -> None:
        """Sleep. Raises EvaluationCancelled at once when it is set."""
        self.wait(seconds)
        self.check()


class ExclusiveSlot:
    """Counts the running candidates, and lets one thread run its candidates exclusively."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._waiting = 0
        self._owner: int | None = None

    def enter(self) -> bool:
        """Count this thread in until `leave`; False when another thread has or awaits the exclusive slot."""
        with self._changed:
            may_enter = self._may_enter()
            self._inside += may_enter
            return may_enter

    def leave(self) -> None:
        """Undo one `enter`."""
        with self._changed:
            self._inside -= 1
            if not self._inside:
                self._changed.notify_all()

    def wait(self) -> None:
        """Wait until `enter` is likely to succeed, at most `SLICE_S` seconds."""
        with self._changed:
            self._changed.wait_for(self._may_enter, timeout=SLICE_S)

    @contextmanager
    def alone(self, cancellation: Cancellation) -> Iterator[None]:
        """Wait for the running candidates, then be the only thread that runs any. Raises EvaluationCancelled."""
        me = threading.get_ident()
        if self._owner == me:
            yield
            return
        with self._changed:
            self._waiting += 1
            try:
                while self._owner is not None or self._inside:
                    cancellation.check()
                    self._changed.wait(timeout=SLICE_S)
                self._owner = me
            finally:
                self._waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._owner = None
                self._changed.notify_all()

    def _may_enter(self) -> bool:
        return self._owner == threading.get_ident() or (self._owner is None and not self._waiting)


OF_THIS_PROCESS = ExclusiveSlot()
"""The slot that all evaluators of this process share."""


class Places(Generic[Place]):
    """Places for candidates, one for each that may run at a time, shared by the threads of one evaluator. A wait raises
    EvaluationCancelled once `cancellation` is set."""

    def __init__(self, places: Sequence[Place], cancellation: Cancellation) -> None:
        self.cancellation = cancellation
        self._count = len(places)
        self._free: queue.LifoQueue[Place] = queue.LifoQueue()
        for place in places:
            self._free.put(place)

    def take(self) -> Place:
        """Wait for a free place, and while another thread is exclusive; count this thread among those that run."""
        while True:
            place = self._next()
            if OF_THIS_PROCESS.enter():
                return place
            self._free.put(place)  # the exclusive thread may need it
            OF_THIS_PROCESS.wait()

    def give_back(self, place: Place) -> None:
        """Undo one `take` of this thread; the place may be another one."""
        self._free.put(place)
        OF_THIS_PROCESS.leave()

    def drained(self, within_s: float) -> list[Place]:
        """Take the places that become free within some seconds, for good: everything is cancelled."""
        deadline = time.monotonic() + within_s
        drained: list[Place] = []
        with contextlib.suppress(queue.Empty):
            while len(drained) < self._count:
                drained.append(self._free.get(timeout=max(0.0, deadline - time.monotonic())))
        return drained

    def _next(self) -> Place:
        while True:
            self.cancellation.check()
            try:
                return self._free.get(timeout=SLICE_S)
            except queue.Empty:
                continue


class Turns(Places[None]):
    """Turns at running candidates that need no worker of their own."""

    def __init__(self, count: int, cancellation: Cancellation) -> None:
        super().__init__([None] * count, cancellation)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn."""
        self.take()
        try:
            yield
        finally:
            self.give_back(None)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A turn while no other candidate of this process runs."""
        with OF_THIS_PROCESS.alone(self.cancellation), self.turn():
            yield

    def close(self) -> None:
        """Cancel, and wait a moment for the turns to end. A thread that runs the task's own code cannot be stopped: it
        sees the cancellation later."""
        self.cancellation.set()
        self.drained(_CLOSING_S)

"""Who runs at the same time: candidates among each other as a rule, and one alone where it must not be helped.

Two programs that run at the same time can always tell each other something (by heat, caches, time itself), and so a
program may answer with another one's work. What is to confirm a score is therefore asked while no other candidate of
this process runs, in whichever evaluator. Other processes on the machine cannot be kept from running.

A thread that waits to be alone comes before those that come after it, and must not run a candidate meanwhile.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from evaluator.sandbox.cancellation import SLICE_S, Cancellation

Place = TypeVar("Place")
_CLOSING_S: Final = 4 * SLICE_S


class ExclusiveSlot:
    """Counts the candidates that run, and lets those of one thread be the only ones."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._waiting = 0
        self._owner: int | None = None

    def enter(self) -> bool:
        """Be among others, until `leave`; False when another thread is alone or is about to be."""
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
        """Wait until `enter` is likely to succeed, a moment at the most."""
        with self._changed:
            self._changed.wait_for(self._may_enter, timeout=SLICE_S)

    @contextmanager
    def alone(self, cancellation: Cancellation) -> Iterator[None]:
        """Be the only thread whose candidates run; waits for those that do. Raises EvaluationCancelled."""
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
"""The one of all evaluators here: a suite's and its held-out suite's share it."""


class Places(Generic[Place]):
    """Places for candidates, shared by the threads of one evaluator: as many run at a time as there are places. Once
    `cancellation` is set, whoever waits for one gets EvaluationCancelled."""

    def __init__(self, places: Sequence[Place], cancellation: Cancellation) -> None:
        self.cancellation = cancellation
        self._count = len(places)
        self._free: queue.LifoQueue[Place] = queue.LifoQueue()
        for place in places:
            self._free.put(place)

    def take(self) -> Place:
        """One of them, with this thread among those that run candidates; waits until one is free, and while another
        thread's candidate is to run alone."""
        while True:
            place = self._next()
            if OF_THIS_PROCESS.enter():
                return place
            self._free.put(place)  # whoever is to be alone may need it
            OF_THIS_PROCESS.wait()

    def give_back(self, place: Place) -> None:
        """Undo one `take` of this thread; the place may be another one."""
        self._free.put(place)
        OF_THIS_PROCESS.leave()

    def drained(self, within_s: float) -> list[Place]:
        """The places that get free within so many seconds. They stay taken: nobody gets one once all is cancelled."""
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
        """One of them; waits until one is free."""
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
        """Cancel, and wait a moment until nobody has a turn any more. A thread that is busy with the task's own code
        cannot be stopped: it will find this cancelled."""
        self.cancellation.set()
        self.drained(_CLOSING_S)

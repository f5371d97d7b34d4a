"""Who runs beside whom: candidates among each other as a rule, and one alone where it must not be helped.

Two programs that run at the same time can always tell each other something (by heat, caches, time itself), and so a
program may answer with another one's work. What is to confirm a score is therefore asked while no other candidate of
this process runs, in whichever evaluator. Other processes on the machine cannot be kept from running.

Whoever wants to be alone comes before those who come after it; a thread that is inside may enter again.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from evaluator.sandbox.cancellation import SLICE_S, Cancellation


class Solitude:
    """Counts the threads that run a candidate, and lets one of them be the only one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: dict[int, int] = {}  # by thread: how often it has entered
        self._waiting = 0
        self._owner: int | None = None

    def enter(self) -> bool:
        """Be among others, until `leave`; False when somebody is alone or is about to be."""
        with self._changed:
            me = threading.get_ident()
            if not self._may_enter(me):
                return False
            self._inside[me] = self._inside.get(me, 0) + 1
            return True

    def leave(self) -> None:
        """Undo one `enter` of this thread."""
        with self._changed:
            me = threading.get_ident()
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]
                self._changed.notify_all()

    def wait(self) -> None:
        """Wait until `enter` is likely to succeed, a moment at the most."""
        with self._changed:
            me = threading.get_ident()
            self._changed.wait_for(lambda: self._may_enter(me), timeout=SLICE_S)

    @contextmanager
    def among(self, cancellation: Cancellation) -> Iterator[None]:
        """Be among others; waits while somebody is alone. Raises EvaluationCancelled."""
        while not self.enter():
            cancellation.check()
            self.wait()
        try:
            yield
        finally:
            self.leave()

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

    def _may_enter(self, thread: int) -> bool:
        return thread in self._inside or self._owner == thread or (self._owner is None and not self._waiting)


OF_THIS_PROCESS = Solitude()
"""The one of all evaluators here: a suite's and its held-out twin's share it."""

"""Turns at running candidates that need no worker of their own: so many at a time, and one alone where it must be."""

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from evaluator.sandbox.cancellation import SLICE_S, Cancellation
from evaluator.sandbox.solitude import OF_THIS_PROCESS

_CLOSING_S: Final = 4 * SLICE_S


class Turns:
    """`count` turns, shared by threads. Once `cancellation` is set, whoever waits for one gets EvaluationCancelled."""

    def __init__(self, count: int, cancellation: Cancellation) -> None:
        self.cancellation = cancellation
        self._count = count
        self._alone = threading.Lock()
        self._free: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(count):
            self._free.put(None)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One of them; waits until one is free, and while another thread's candidate is to run alone."""
        while True:
            self._next()
            if OF_THIS_PROCESS.enter():
                break
            self._free.put(None)  # whoever is to be alone may need it
            OF_THIS_PROCESS.wait()
        try:
            yield
        finally:
            OF_THIS_PROCESS.leave()
            self._free.put(None)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A turn while nobody else has one of these."""
        # Among the others before anything is held: else this would wait for who is to be alone, and that one for this.
        with OF_THIS_PROCESS.among(self.cancellation), self._alone:
            held = 0
            try:
                for _ in range(self._count - 1):
                    self._next()
                    held += 1
                with self.turn():
                    yield
            finally:
                for _ in range(held):
                    self._free.put(None)

    def close(self) -> None:
        """Cancel, and wait a moment until nobody has a turn any more."""
        self.cancellation.set()
        deadline, held = time.monotonic() + _CLOSING_S, 0
        try:
            while held < self._count:
                self._free.get(timeout=max(0.0, deadline - time.monotonic()))
                held += 1
        except queue.Empty:
            pass  # a thread that is busy with the task's own code cannot be stopped: it will find this cancelled
        finally:
            for _ in range(held):
                self._free.put(None)

    def _next(self) -> None:
        while True:
            self.cancellation.check()
            try:
                return self._free.get(timeout=SLICE_S)
            except queue.Empty:
                continue

"""How worker threads have something done by the thread that owns the archive, and wait until it is."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

from evolve.completion import CallFailed

_T = TypeVar("_T")


class Mailbox:
    """`post` is called from worker threads, `serve` from the owner's, whenever `bell` has rung."""

    def __init__(self) -> None:
        self._letters: SimpleQueue[tuple[Callable[[], None], threading.Event]] = SimpleQueue()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.bell: Future[None] = Future()
        """Done as soon as something waits, so that the owner can wait for it beside other futures."""

    def post(self, action: Callable[[], _T]) -> _T:
        """Have `action` done by the owner; what came of it. Raises CallFailed (`cancelled`) once it is closed."""
        found, done = list[_T](), threading.Event()
        self._letters.put((lambda: found.append(action()), done))
        with self._lock:
            if not self.bell.done():
                self.bell.set_result(None)
        while not done.wait(timeout=0.2):
            if self._closed.is_set():
                raise CallFailed("cancelled", "the run is ending")
        return found[0]

    def serve(self) -> None:
        """Do what waits, in order. What an action raises is the owner's, who must not go on after it."""
        with self._lock:
            self.bell = Future()
        while True:
            try:
                action, done = self._letters.get_nowait()
            except Empty:
                return
            action()
            done.set()

    def close(self) -> None:
        """Nobody serves any more."""
        self._closed.set()

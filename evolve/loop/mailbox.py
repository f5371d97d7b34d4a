"""How worker threads have something done by the thread that owns the archive, and wait until it is."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue

from evolve.completion import CallFailed

Action = Callable[[], None]


class _Letter:
    def __init__(self, action: Action) -> None:
        self.action = action
        self.done = threading.Event()


class Mailbox:
    """`post` is called from worker threads, `serve` from the owner's, whenever `bell` has rung."""

    def __init__(self) -> None:
        self._letters: SimpleQueue[_Letter] = SimpleQueue()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.bell: Future[None] = Future()
        """Done as soon as something waits, so that the owner can wait for it beside other futures."""

    def post(self, action: Action) -> None:
        """Have `action` done by the owner; returns when it is. Raises CallFailed (`cancelled`) once it is closed."""
        letter = _Letter(action)
        self._letters.put(letter)
        with self._lock:
            if not self.bell.done():
                self.bell.set_result(None)
        while not letter.done.wait(timeout=0.2):
            if self._closed.is_set():
                raise CallFailed("cancelled", "the run is ending")

    def serve(self) -> None:
        """Do what waits, in order. What an action raises is the owner's, who must not go on after it."""
        with self._lock:
            self.bell = Future()
        while True:
            try:
                letter = self._letters.get_nowait()
            except Empty:
                return
            letter.action()
            letter.done.set()

    def close(self) -> None:
        """Nobody serves any more."""
        self._closed.set()

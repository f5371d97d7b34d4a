"""The end of a session, for the threads that ask its models: it wakes those who wait for something else."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class WakingEvent(threading.Event):
    """Set at the end of a session: no call goes on then. It also wakes those who wait for other events."""

    def __init__(self) -> None:
        super().__init__()
        self._awaited = set[threading.Event]()

    def set(self) -> None:
        """End all calls and waits."""
        super().set()
        self.wake()

    def wake(self) -> None:
        """Have everyone who waits look whether to go on waiting."""
        for event in list(self._awaited):
            event.set()

    @contextmanager
    def wakes(self, event: threading.Event) -> Iterator[None]:
        """While this lasts, `event` is set when this one is, and by `wake`."""
        self._awaited.add(event)  # before the look: a moment later `set` finds it
        if self.is_set():
            event.set()
        try:
            yield
        finally:
            self._awaited.discard(event)

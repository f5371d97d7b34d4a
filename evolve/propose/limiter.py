"""Who may send to an endpoint, and when: one limiter for all the models behind it, shared by their threads.

How fast is for `evolve.propose.pace` to say; here requests wait for their turn, in the order in which they first came,
so that one that was refused goes before those that were never sent.
"""

import heapq
import itertools
import random
import threading
import time
from collections.abc import Callable

from evolve.completion import ModelSettings
from evolve.propose.endpoint import endpoint_url
from evolve.propose.pace import Pace

_POLL_S = 0.1


class Limiter:
    """The turns at one endpoint. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pace = Pace()
        self._numbers = itertools.count()
        self._queue: list[tuple[int, threading.Event]] = []

    def number(self) -> int:
        """The place of a new request in the order of those who wait."""
        return next(self._numbers)

    def turn(self, number: int, *, chance: random.Random, held: Callable[[], None]) -> float:
        """Wait until the request of that number may be sent; the moment, for `refused`. `held` is called before any
        wait and again and again during it; what it raises ends the wait."""
        place = (number, threading.Event())
        with self._lock:
            heapq.heappush(self._queue, place)
        try:
            while True:
                with self._lock:
                    first, now = self._queue[0] is place, time.monotonic()
                    if first and now >= self._pace.next_at:
                        self._pace.send(now, waiting=len(self._queue) - 1, chance=chance)
                        return now
                    left = self._pace.next_at - now if first else _POLL_S
                held()
                place[1].wait(min(_POLL_S, left))
                place[1].clear()
        finally:
            with self._lock:
                self._queue.remove(place)
                heapq.heapify(self._queue)
                if self._queue:
                    self._queue[0][1].set()

    def answered(self, *, nothing_left_s: float | None) -> None:
        """A request got past the limit; the server may have said that nothing is left for so long."""
        with self._lock:
            self._pace.let_through()
            if nothing_left_s is not None:
                self._pace.told(time.monotonic(), nothing_left_s)

    def refused(self, sent_at: float, *, wait_s: float | None, chance: random.Random) -> None:
        """A request was refused since there were too many: all wait for `wait_s` seconds, or as long as seems right."""
        with self._lock:
            self._pace.refused(sent_at, time.monotonic(), wait_s=wait_s, chance=chance)


class Limiters:
    """The limiter of each endpoint of a run: of one URL with one key."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str | None], Limiter] = {}

    def of(self, settings: ModelSettings) -> Limiter:
        """The limiter of a model's endpoint. Raises InputError for an unusable URL."""
        return self._known.setdefault(endpoint_of(settings), Limiter())


def endpoint_of(settings: ModelSettings) -> tuple[str, str | None]:
    """What the models that share a limit have in common. Raises InputError for an unusable URL."""
    return endpoint_url(settings).rstrip("/"), settings.api_key_env

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
from dataclasses import dataclass, field

from evolve.config import ModelConfig
from evolve.propose.endpoint import endpoint_url
from evolve.propose.pace import Pace

_POLL_S = 0.1


class LeftAlone(Exception):
    """The endpoint takes nothing for longer than a request waits: so many seconds."""


@dataclass(slots=True, order=True)
class _Waiting:
    """A request that waits for its turn; `sent_at` is when it came."""

    number: int
    turn: threading.Event = field(default_factory=threading.Event, compare=False)
    sent_at: float | None = field(default=None, compare=False)


class Limiter:
    """The turns at one endpoint. Thread-safe. Whichever of those who wait looks first gives all turns that are due, so
    that one that is woken late keeps nobody."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pace = Pace()
        self._numbers = itertools.count()
        self._queue: list[_Waiting] = []

    def number(self) -> int:
        """The place of a new request in the order of those who wait."""
        return next(self._numbers)

    def turn(self, number: int, *, chance: random.Random, held: Callable[[float], None], patience_s: float) -> float:
        """Wait until the request of that number may be sent; the moment, for `refused`. `held` is called before any
        wait and again and again during it, with the seconds until the endpoint's next turn; what it raises ends the
        wait. Raises LeftAlone as soon as the endpoint wants
        nothing for longer than `patience_s` from now; how many wait before this one is no matter."""
        mine = _Waiting(number)
        with self._lock:
            heapq.heappush(self._queue, mine)
        try:
            while True:
                with self._lock:
                    left = self._give(time.monotonic(), chance)
                    first = bool(self._queue) and self._queue[0] is mine
                if mine.sent_at is not None:
                    return mine.sent_at
                held(left)
                if left > patience_s:
                    raise LeftAlone(left)
                mine.turn.wait(min(_POLL_S, left) if first else _POLL_S)
        finally:
            with self._lock:
                if mine.sent_at is None:
                    self._queue.remove(mine)
                    heapq.heapify(self._queue)

    def _give(self, now: float, chance: random.Random) -> float:
        """Give every turn that is due; seconds until the next one."""
        while self._queue and now >= self._pace.next_at:
            first = heapq.heappop(self._queue)
            self._pace.send(now, waiting=len(self._queue), chance=chance)
            first.sent_at = now
            first.turn.set()
        return max(0.0, self._pace.next_at - now)

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

    def of(self, settings: ModelConfig) -> Limiter:
        """The limiter of a model's endpoint. Raises InputError for an unusable URL."""
        endpoint = endpoint_url(settings).rstrip("/"), settings.api_key_env
        return self._known.setdefault(endpoint, Limiter())

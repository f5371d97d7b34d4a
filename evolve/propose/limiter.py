"""Who may send to an endpoint, and when: one limiter for all the models behind it, shared by their threads. Requests
wait for their turn in the order in which they first came, so that one that was refused goes before those that were
never sent.

Nothing is held back until the server refuses a request for there being too many (429). Then all wait until the moment
that it names, come back spread out, and go on at the rate at which it let requests through. At first the rate doubles
every second, until the next refusal. From then on each refusal lowers it to what was let through since the last one,
the pause included, though never below LESS of it; between refusals it grows with the square of the time. Time in which
nobody was held back says nothing of a rate.
"""

import heapq
import itertools
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from evolve.core.config import ModelConfig
from evolve.propose.endpoint import endpoint_url
from evolve.propose.waking import WakingEvent

WINDOW_S = 0.1
"""After a pause, no such stretch of time holds more than a quarter of those who waited, nor than one of fewer. When
nobody is held back for so long, counting of the rate starts again."""

LESS = 0.75
_GROWS_S = 70.0  # until the rate is twice what it was
_SLOWEST = 1 / 60  # requests a second
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0  # where the server names no moment


@dataclass(slots=True, kw_only=True)
class Pace:
    """What is known of one endpoint's limit: when the next request may be sent. Moments are given, as seconds of one
    clock."""

    next_at: float = float("-inf")  # no request before
    rate: float = float("inf")  # requests a second at `since`
    doubling: bool = False  # one refusal showed that there is a limit, none yet where
    since: float = 0.0  # growth counts from here
    began: float = float("inf")  # when the first request after the last pause, or idle time, was sent
    sent: int = 0  # since then, without those that were refused
    cut_at: float | None = None  # when the first of them was refused, which began a pause
    crowd: int = 0  # how many waited out the last pause
    returning: int = 0  # how many of them are still to be sent
    vain: int = 0  # pauses in a row after which nothing was let through

    def rate_at(self, now: float) -> float:
        """Requests a second that may be sent."""
        passed = max(0.0, now - self.since)
        return self.rate * (2.0 ** min(passed, 30.0) if self.doubling else 1 + (passed / _GROWS_S) ** 2)

    def send(self, now: float, *, waiting: int, chance: random.Random) -> None:
        """A request is sent, and `waiting` others wait. Not before `next_at`."""
        if self.cut_at is not None:
            let_through, peak = max(1, self.sent) / max(now - self.began, 0.001), self.rate_at(self.cut_at)
            self.doubling = peak == float("inf")
            self.rate = let_through if self.doubling else max(_SLOWEST, let_through, LESS * peak)
            self.began, self.since, self.sent, self.cut_at = now, now, 0, None
            self.crowd = self.returning = waiting + 1
        elif now - self.next_at > WINDOW_S:
            self.since += now - self.next_at
            self.began, self.sent = now, 0
        self.sent += 1
        gap = 1 / self.rate_at(now)
        if self.doubling:
            gap = min(1.0, gap)
        if self.returning > 0:
            self.returning -= 1
            gap = max(gap, 1.25 * WINDOW_S / max(1, self.crowd // 4) * (1 + chance.random() / 5))
        self.next_at = max(self.next_at, now) + gap

    def let_through(self) -> None:
        """A request got past the limit."""
        self.vain = 0

    def refused(self, sent_at: float, now: float, *, wait_s: float | None, chance: random.Random) -> None:
        """A request was refused since there were too many; `wait_s` is how long the server wants to be left alone."""
        fresh = sent_at >= self.began
        self.sent -= fresh
        if wait_s is None:
            wait_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(self.vain, 10))
        if fresh and self.cut_at is None:
            self.cut_at = now
            self.vain += 1
            wait_s += chance.random() * min(0.5, wait_s / 10)  # other processes may have been refused with this one
        self.leave_alone(now, wait_s)

    def leave_alone(self, now: float, wait_s: float) -> None:
        """Nothing is left, or taken, for so long."""
        self.next_at = max(self.next_at, now + wait_s)


class LeftAlone(Exception):
    """The endpoint takes nothing for longer than a request waits, in seconds."""


@dataclass(slots=True, order=True)
class _Waiting:
    """A request that waits for its turn; `sent_at` is when it came. `turn` is set for it to look again."""

    number: int
    turn: threading.Event = field(default_factory=threading.Event, compare=False)
    sent_at: float | None = field(default=None, compare=False)


class Limiter:
    """The turns at one endpoint. Thread-safe. The first waiting request to look gives all turns that are due, so
    that one that is woken late keeps nobody."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pace = Pace()
        self._numbers = itertools.count()
        self._queue: list[_Waiting] = []

    def number(self) -> int:
        """The place of a new request in the order of those who wait."""
        return next(self._numbers)

    def turn(
        self,
        number: int,
        *,
        chance: random.Random,
        held: Callable[[float], None],
        patience_s: float,
        stopping: WakingEvent,
    ) -> float:
        """Wait until the request of that number may be sent; the moment, for `refused`. `held` is called before any
        wait and whenever there is news, with the seconds until the endpoint's next turn; what it raises ends the wait.
        `stopping` wakes those who wait. Raises LeftAlone as soon as the endpoint wants nothing for longer than
        `patience_s` from now; how many wait before this one is no matter."""
        mine = _Waiting(number)
        with self._lock:
            heapq.heappush(self._queue, mine)
        try:
            with stopping.wakes(mine.turn):
                while True:
                    with self._lock:
                        left = self._give(time.monotonic(), chance)
                        first = bool(self._queue) and self._queue[0] is mine
                    if mine.sent_at is not None:
                        return mine.sent_at
                    held(left)
                    if left > patience_s:
                        raise LeftAlone(left)
                    mine.turn.wait(left if first else None)
                    mine.turn.clear()
        finally:
            with self._lock:
                if mine.sent_at is None:
                    self._queue.remove(mine)
                    heapq.heapify(self._queue)
                    self._wake(most=1)

    def _give(self, now: float, chance: random.Random) -> float:
        """Give every turn that is due; seconds until the next one."""
        while self._queue and now >= self._pace.next_at:
            first = heapq.heappop(self._queue)
            self._pace.send(now, waiting=len(self._queue), chance=chance)
            first.sent_at = now
            first.turn.set()
            self._wake(most=1)
        return max(0.0, self._pace.next_at - now)

    def _wake(self, most: int | None = None) -> None:
        """Have those who wait look again, or the first of them, who gives the next turn."""
        for waiting in self._queue[:most]:
            waiting.turn.set()

    def answered(self, *, nothing_left_s: float | None) -> None:
        """A request got past the limit; the server may have said that nothing is left for so long."""
        with self._lock:
            self._pace.let_through()
            if nothing_left_s is not None:
                self._pace.leave_alone(time.monotonic(), nothing_left_s)
                self._wake()

    def refused(self, sent_at: float, *, wait_s: float | None, chance: random.Random) -> None:
        """A request was refused since there were too many: all wait for `wait_s` seconds, or as long as seems right."""
        with self._lock:
            self._pace.refused(sent_at, time.monotonic(), wait_s=wait_s, chance=chance)
            self._wake()


class Limiters:
    """The limiter of each endpoint of a run: of one URL with one key."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str | None], Limiter] = {}

    def of(self, settings: ModelConfig) -> Limiter:
        """The limiter of a model's endpoint. Raises InputError for an unusable URL."""
        endpoint = endpoint_url(settings).rstrip("/"), settings.api_key_env
        return self._known.setdefault(endpoint, Limiter())

"""Virtual time: jobs are done at once, and end when a given number of seconds has passed that nobody waits for."""

import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

from evolve.loop.executor import Ended, Job, done

_T = TypeVar("_T")


class VirtualExecutor:
    """An executor without threads. A job is done when it ends, `takes(job)` virtual seconds after it began. Those
    that end at the same moment come together, as threads may have them come."""

    def __init__(self, takes: Callable[[Job], float]) -> None:
        self._takes, self._now, self._numbers = takes, 0.0, itertools.count()
        self._begun: list[tuple[float, int, float, Job]] = []
        self.most = 0
        """How many jobs there were at most at one time."""

    def now(self) -> float:
        return self._now

    def begin(self, job: Job) -> None:
        seconds = self._takes(job)
        heapq.heappush(self._begun, (self._now + seconds, next(self._numbers), seconds, job))
        self.most = max(self.most, len(self._begun))

    def next_ended(self, timeout_s: float) -> Sequence[Ended] | None:
        if not self._begun or self._begun[0][0] > self._now + timeout_s:
            self._now += timeout_s
            return None
        self._now = at = self._begun[0][0]
        ended = []
        while self._begun and self._begun[0][0] == at:
            _, _, seconds, job = heapq.heappop(self._begun)
            outcome = done(job, self.now)
            ended.append(Ended(job=job, took_s=seconds, returned=outcome.returned, raised=outcome.raised))
        return ended

    def post(self, action: Callable[[], _T], *, keep: bool = False) -> _T:
        return action()

    def close(self) -> Sequence[Ended]:
        return []

"""How much is under way at a time: requests as many as are allowed, and no more answers than can be judged. Pure."""

from collections import deque
from statistics import median


def most_under_way(*, parallel: int, workers: int, answer_s: float | None, evaluation_s: float | None) -> int:
    """How many generations may be under way at most, those that are asked for and those that are judged together.

    As many as there may be requests, at first, and one alone where that is one: a run is repeatable then. Where answers
    take their time, programs are judged meanwhile, and others asked for: as many more as the workers get done until an
    answer to one that is asked for now would come (by the usual seconds for an answer and for an evaluation), so that
    none waits for long, and what is asked is asked with what is known; and never more than as many again.
    """
    if parallel == 1 or answer_s is None or not evaluation_s:
        return parallel
    judged_meanwhile = workers * (1 + answer_s / evaluation_s)
    return max(parallel, int(min(parallel + max(parallel, workers), judged_meanwhile)))


class Durations:
    """The usual time of what was done of late, in seconds."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=25)

    def note(self, seconds: float) -> None:
        """One more took so long."""
        self._last.append(seconds)

    @property
    def usual_s(self) -> float | None:
        """The median of the last; None before there is one."""
        return median(self._last) if self._last else None

"""When the next request to an endpoint may be sent: what its answers teach of its limit. Pure: every moment is given.

Nothing is held back until the server refuses a request for there being too many (429). Then all wait until the moment
that it names, come back spread out, and go on at a rate that is learnt: what was let through between two refusals is
what the server allows, whatever kind of limit it keeps. From a little below, the rate grows, ever faster, until the
next refusal. Time in which nobody asked says nothing of a rate. Above the limit of a server that saves up permits
nothing is lost but refused requests; below it, time. One that saves up few refuses by chance, too, what came a moment
early: so what was let through from one refusal to the next, the pause included, stays proven for a while, and those
that are late do not catch up all at once.
"""

import math
import random
from dataclasses import dataclass

WINDOW_S = 0.1
"""After a pause, no such stretch of time holds more than a quarter of those who waited, nor than one of fewer."""

_SLOWEST = 1 / 60  # requests a second
_BELOW = 0.97  # where the rate begins after a refusal, as a share of what was let through
_BACK_S = 10.0  # until it is there again
_FOUND = 0.9  # where it begins at the end of the first search, as a share of what that found
_AGES = 0.95  # what is left at a refusal of what earlier ones proved, for a limit may be lowered
_CATCH_UP_S = 0.25
_CATCH_UP = 1 / 3  # the same in requests, as a share of what was let through at first
_DOUBLES_S = 1.0  # while nothing is known but that it was too much at once
_QUIET_S = 10.0  # after so long without a request, what is counted of the rate begins anew
_ALONE_S = 1.0  # the same while nothing is known: the first request goes alone, and says nothing of those after it
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0  # where the server names no moment


def spacing(crowd: int) -> float:
    """Seconds between two of so many who come back after a pause (see WINDOW_S)."""
    return 1.25 * WINDOW_S / max(1, crowd // 4)


@dataclass(slots=True, kw_only=True)
class Pace:
    """What is known of one endpoint's limit. Times are seconds of one clock."""

    next_at: float = float("-inf")  # no request before
    rate: float | None = None  # requests a second at `since`, None before the first refusal
    top: float = 0.0  # what they are _BACK_S later
    proven: float = 0.0  # requests a second that were let through, pauses included
    salvo: int = 0  # requests that were let through before the first refusal
    searching: bool = False  # one refusal told that there is a limit, none yet where
    since: float = 0.0  # growth counts from here; time in which nobody was held back does not
    began: float | None = None  # when the first request after the last pause, or quiet time, was sent
    newest: float = float("-inf")  # when the last request was sent
    sent: int = 0  # since then, without those that were refused
    cut_at: float | None = None  # when the first of them was refused, which began a pause
    last_cut_at: float | None = None  # the same, of the time before that
    returning: int = 0  # how many of those who waited out the pause are still to be sent
    crowd: int = 0  # how many they were
    vain: int = 0  # pauses in a row after which nothing was let through

    def rate_at(self, now: float) -> float | None:
        """Requests a second that may be sent."""
        if self.rate is None:
            return None
        passed = max(0.0, now - self.since)
        if self.searching:
            return self.rate * math.exp2(min(passed / _DOUBLES_S, 30))
        return self.rate + max(self.top - self.rate, (1 / _BELOW - 1) * self.rate) * (passed / _BACK_S) ** 2

    def send(self, now: float, *, waiting: int, chance: random.Random) -> None:
        """A request is sent, and so many others wait to be. Not before `next_at`."""
        quiet = now - max(self.newest, self.next_at)
        self.newest = now
        if self.began is None:
            self.began = now
        elif self.cut_at is not None:
            self._learn(self.cut_at, self.began)
            self.began, self.since, self.sent = now, now, 0
            self.last_cut_at, self.cut_at = self.cut_at, None
            self.crowd = self.returning = waiting + 1
        elif quiet > (_ALONE_S if self.rate is None else _QUIET_S):
            self.began, self.sent, self.last_cut_at = now, 0, None
            self.since += quiet
        elif self.rate is not None and not waiting:
            self.since += max(0.0, now - self.next_at - WINDOW_S)
        self.sent += 1
        rate = self.rate_at(now)
        if rate is None:
            return
        gap = 1 / rate
        if self.searching:  # until one request is due at a rate that grows meanwhile
            gap = _DOUBLES_S * math.log2(1 + math.log(2) * gap / _DOUBLES_S)
        if self.returning > 0:
            self.returning -= 1
            self.next_at = now + max(gap, spacing(self.crowd) * (1 + chance.random() / 5))
        else:  # a thread that was a moment late does not slow down those after it
            self.next_at = max(self.next_at, now - min(_CATCH_UP_S, _CATCH_UP * self.salvo * gap)) + gap

    def let_through(self) -> None:
        """A request got past the limit."""
        self.vain = 0

    def refused(self, sent_at: float, now: float, *, wait_s: float | None, chance: random.Random) -> None:
        """A request was refused since there were too many; `wait_s` is how long the server wants to be left alone."""
        fresh = self.began is not None and sent_at >= self.began
        if fresh:
            self.sent -= 1
        if wait_s is None:
            wait_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(self.vain, 10))
        if fresh and self.cut_at is None:
            self.cut_at = now
            self.vain += 1
            wait_s += chance.random() * min(0.5, wait_s / 10)  # other processes may have been refused with this one
        self.next_at = max(self.next_at, now + wait_s)

    def told(self, now: float, wait_s: float) -> None:
        """A request was answered with the word that nothing is left for so long."""
        self.next_at = max(self.next_at, now + wait_s)

    def _learn(self, cut_at: float, began: float) -> None:
        """The rate from here on, after the pause that began at `cut_at`."""
        sent = max(1, self.sent)
        peak = self.rate_at(cut_at)
        if peak is None:
            self.rate, self.searching, self.salvo = sent / max(self.next_at - began, 0.001), True, sent
            return
        let_through = sent / max(cut_at - began, 0.001)
        top = min(peak, let_through)
        learnt = top
        if self.last_cut_at is not None:
            with_pause = sent / max(cut_at - self.last_cut_at, 0.001)
            # Over short times what had been saved up during the pause makes much of what was let through.
            learnt = min(learnt, 1.1 * with_pause)
            self.proven = max(with_pause, _AGES * self.proven)
        learnt = _BELOW * max(learnt, self.proven)
        if self.searching:
            # At a rate that doubles, what exceeds the limit grows with the square of how far it is passed; it came to
            # what the server saves up, which is the salvo (where that was one).
            top = max(top, peak - math.sqrt(2 * math.log(2) / _DOUBLES_S * peak * self.salvo))
            learnt = max(learnt, _FOUND * top)
        self.rate, self.top, self.searching = max(_SLOWEST, top / 2, learnt), top, False

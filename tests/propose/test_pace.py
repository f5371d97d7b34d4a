"""How fast an endpoint is asked: the plan after a pause, and the rate that is learnt, with servers in virtual time."""

import heapq
import itertools
import math
import random
from bisect import bisect_right
from collections import Counter
from functools import partial

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from evolve.propose.limiter import WINDOW_S, Pace


def sent_all(pace: Pace, waiting: int, chance: random.Random, *, now: float = 0.0) -> list[float]:
    """The moments at which `waiting` requests are sent, each as early as it may be."""
    moments: list[float] = []
    for left in reversed(range(waiting)):
        moments.append(max(now, pace.next_at, *moments[-1:]))
        pace.send(moments[-1], waiting=left, chance=chance)
    return moments


@examples(deadline=None)
@given(
    waiting=st.integers(1, 300),
    flying=st.integers(1, 300),
    before_s=st.floats(0.001, 100),
    wait_s=st.floats(0, 600),
    seed=st.integers(),
)
def test_those_who_wait_out_a_pause_come_back_spread_out(
    waiting: int, flying: int, before_s: float, wait_s: float, seed: int
) -> None:
    pace, chance = Pace(), random.Random(seed)
    for _ in range(flying):
        pace.send(0.0, waiting=0, chance=chance)
    pace.refused(0.0, before_s, wait_s=wait_s, chance=chance)
    moments = sent_all(pace, waiting, chance)
    assert moments[0] >= before_s + wait_s, "nobody is sent before the server wants it"
    together = [bisect_right(moments, moment + WINDOW_S) - at for at, moment in enumerate(moments)]
    assert max(together) <= max(1, waiting // 4)


@examples(deadline=None)
@given(waits=st.lists(st.floats(0, 100) | st.none(), min_size=1, max_size=50), seed=st.integers())
def test_a_pause_is_as_long_as_the_longest_that_was_asked_for(waits: list[float | None], seed: int) -> None:
    pace, chance = Pace(), random.Random(seed)
    for _ in waits:
        pace.send(0.0, waiting=0, chance=chance)
    for number, wait_s in enumerate(waits):
        pace.refused(0.0, 1.0 + number / 1000, wait_s=wait_s, chance=chance)
    longest = max(1.0 + number / 1000 + (wait_s or 0.0) for number, wait_s in enumerate(waits))
    assert longest <= pace.next_at <= longest + 1.5


def test_nothing_is_held_back_before_the_first_refusal() -> None:
    pace = Pace()
    for number in range(1000):
        assert pace.next_at <= 0.0
        pace.send(0.0, waiting=1000 - number, chance=random.Random(0))


class Bucket:
    """Saves up `burst` requests, `rate` a second (from `lowered_at` on a quarter of that)."""

    def __init__(self, rate: float, burst: float, *, lowered_at: float = math.inf) -> None:
        self._rate, self._burst, self._lowered_at = rate, burst, lowered_at
        self._tokens, self._last = burst, 0.0

    def wait(self, now: float) -> float:
        """0 if a request is let through, else how long it should wait."""
        rate = self._rate * (0.25 if now >= self._lowered_at else 1.0)
        self._tokens, self._last = min(self._burst, self._tokens + (now - self._last) * rate), now
        if self._tokens < 1:
            return (1 - self._tokens) / rate
        self._tokens -= 1
        return 0.0


class Window:
    """Lets through at most a number of requests in each stretch of seconds."""

    def __init__(self, permits: int, width_s: float) -> None:
        self._permits, self._width_s = permits, width_s
        self._passed = Counter[int]()

    def wait(self, now: float) -> float:
        """0 if a request is let through, else how long it should wait."""
        number = int(now // self._width_s)
        if self._passed[number] >= self._permits:
            return (number + 1) * self._width_s - now
        self._passed[number] += 1
        return 0.0


def let_through(
    server: Bucket | Window,
    *,
    retry: float | None,
    seed: int,
    during: tuple[float, float],
    clients: int = 64,
    on_the_way: float = 0.0,
) -> tuple[float, int]:
    """How many requests a second such a server lets through from one virtual second to another, and how many it refuses
    to the end. It takes two seconds for each; one that is refused comes back until it gets through. `retry`: the least
    that the server wants a refused one to wait (None: it does not say); `on_the_way`: seconds, on an average, until a
    request is there."""
    rng, pace, now = random.Random(seed), Pace(), 0.0
    waiting, passed, refused = clients, 0, 0
    coming: list[tuple[float, int, float | None, float]] = []  # at the server (None), or back, after a wait or without
    numbers = itertools.count()
    while now < during[1]:
        if waiting and (not coming or max(now, pace.next_at) <= coming[0][0]):
            now = max(now, pace.next_at) + rng.random() * 0.002  # threads are never quite in time
            waiting -= 1
            pace.send(now, waiting=waiting, chance=rng)
            there = now + (rng.expovariate(1 / on_the_way) if on_the_way else 0.0)
            heapq.heappush(coming, (there, next(numbers), None, now))
            continue
        moment, _, wait, sent_at = heapq.heappop(coming)
        now = max(now, moment)
        if wait is None:
            wait = server.wait(now)
            passed += not wait and now > during[0]
            refused += wait > 0
            heapq.heappush(coming, (now + (0.01 if wait else 2.0), next(numbers), wait, sent_at))
            continue
        waiting += 1
        if wait:
            pace.refused(sent_at, now, wait_s=None if retry is None else max(retry, wait), chance=rng)
        else:
            pace.let_through()
    return passed / (during[1] - during[0]), refused


@pytest.mark.parametrize("rate", [2.0, 10.0, 30.0])
@pytest.mark.parametrize("burst", [0.25, 0.5, 1.0, 5.0])  # seconds' worth
@pytest.mark.parametrize("retry", [None, 0.0, 1.0])
@pytest.mark.parametrize("on_the_way", [0.0, 0.01])
def test_a_token_bucket_is_used_to_nine_tenths(
    rate: float, burst: float, retry: float | None, on_the_way: float
) -> None:
    bucket = Bucket(rate, max(2.0, burst * rate))
    found, refused = let_through(bucket, retry=retry, seed=0, on_the_way=on_the_way, during=(60, 300))
    assert found >= 0.9 * rate
    assert refused < 150, "the server is not hammered: one in a hundred or so at the usual rates"


@pytest.mark.parametrize(("permits", "width_s"), [(20, 10.0), (60, 60.0), (200, 10.0)])
@pytest.mark.parametrize("clients", [4, 64])
@pytest.mark.parametrize("retry", [None, 1.0])
def test_a_server_that_counts_by_the_minute_is_used_as_well(
    permits: int, width_s: float, clients: int, retry: float | None
) -> None:
    window = Window(permits, width_s)
    found, _ = let_through(window, retry=retry, seed=0, clients=clients, on_the_way=0.005, during=(0, 600))
    # Where it does not say how long to wait, ever longer pauses end somewhere in the next stretch.
    assert found >= (0.7 if retry is None else 0.95) * min(permits / width_s, clients / 2.0)


@pytest.mark.parametrize("burst", [5.0, 20.0, 100.0])
@pytest.mark.parametrize("retry", [None, 1.0])
def test_a_limit_that_is_lowered_is_kept_soon(burst: float, retry: float | None) -> None:
    for seed in range(3):
        run = partial(let_through, retry=retry, seed=seed, on_the_way=0.005, during=(100, 300))
        found, refused = run(Bucket(20.0, burst, lowered_at=100.0))
        assert found >= 0.9 * 5.0
        assert refused - run(Bucket(20.0, burst))[1] < 30


@pytest.mark.parametrize("quiet_s", [20.0, 1200.0, 100_000.0])
@pytest.mark.parametrize("crowds", [1, 2])
@pytest.mark.parametrize("clients", [1, 8])
def test_a_quiet_time_before_a_refusal_stalls_nobody(quiet_s: float, crowds: int, clients: int) -> None:
    """After one request, and each quiet time, a crowd is refused once, and let through when it comes back."""
    pace, chance, now = Pace(), random.Random(1), quiet_s
    pace.send(0.0, waiting=0, chance=chance)
    pace.let_through()
    for _ in range(crowds):
        first = sent_all(pace, clients, chance, now=now)
        for moment in first:
            pace.refused(moment, first[-1] + 0.1, wait_s=1.0, chance=chance)
        moments = sent_all(pace, clients, chance)
        pace.let_through()
        assert moments[0] <= first[-1] + 2.2, "as the server wants it"
        assert moments[-1] <= moments[0] + 15, "and the others soon after"
        now = moments[-1] + quiet_s


def test_after_a_pause_of_hours_the_rate_is_found_again_within_a_minute() -> None:
    pace, chance = Pace(), random.Random(1)
    for _ in range(8):
        pace.send(0.0, waiting=0, chance=chance)
    for _ in range(8):
        pace.refused(0.0, 0.1, wait_s=40_000.0, chance=chance)
    moments = sent_all(pace, 100, chance)
    assert moments[0] >= 40_000
    assert moments[-1] - moments[0] < 60


def test_a_limit_that_is_lifted_is_found_out() -> None:
    pace, chance, now, moments = Pace(), random.Random(1), 0.0, list[float]()
    for _ in range(40):
        pace.send(now, waiting=10, chance=chance)
    for _ in range(36):
        pace.refused(now, 0.1, wait_s=1.0, chance=chance)
    while now < 60 and len(moments) < 2000:
        now = max(now, pace.next_at)
        pace.send(now, waiting=10, chance=chance)
        moments.append(now)
    assert len(moments) == 2000, "at the rate of the beginning it would be 220"


def test_a_server_that_refuses_all_is_asked_ever_less() -> None:
    pace, chance, now, moments = Pace(), random.Random(1), 0.0, list[float]()
    while now < 3600:
        now = max(now, pace.next_at)
        pace.send(now, waiting=10, chance=chance)
        pace.refused(now, now + 0.01, wait_s=None, chance=chance)
        moments.append(now)
    assert len(moments) < 100
    assert moments[-1] - moments[-2] >= 30

"""Requests in flight. Usage: python -m tests.benchmarks.in_flight [client | run | limit | pause | crowd] ...

`client`: 64 requests at a time, two seconds each, by the client alone. `run`: the same by a whole run, whose programs
are scored and whose insights reports are written meanwhile; with one in ten better than all before, and with every one,
which the evaluator then confirms (it is scored twice more). `limit`: 64 at a time against a server that lets through
20 a second (a token bucket). `pause`: how spread out refused requests come back after a wait of a second. `crowd`: a
whole run with 256 requests at a time, twenty seconds each, on two workers at home and on four of a cluster, with the
memory of all its processes. Without an argument: all of it. The servers run in this process, so the figures are lower
bounds.
"""

import itertools
import os
import sys
import tempfile
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evolve.archive.ranking import new_bests
from evolve.core.completion import Message, PatchKey
from evolve.core.config import ModelConfig
from evolve.propose.openai_llm import OpenAILLM
from evolve.propose.waking import WakingEvent
from tests.benchmarks.cluster import memory_mb
from tests.evaluator.process_table import descendants
from tests.loop.climbing import configure, finish, is_meta, meta_answer, model, opened, patch
from tests.openai_server import Behaviour, OpenAIServer, TokenBucket, answer

IN_FLIGHT, SECONDS = 64, 2.0
CROWD, CROWD_S = 256, 20.0
RATE, BURST, LIMITED_S = 20.0, 20, 90.0


def client() -> None:
    rounds = 5
    with OpenAIServer(default=answer("a patch", after_s=SECONDS)) as server:
        took = asked(server.url, rounds * IN_FLIGHT)
    print(f"client: {rounds * IN_FLIGHT} requests in {took:.2f} s: {100 * rounds * SECONDS / took:.1f} % of the ideal")


def asked(url: str, requests: int) -> float:
    """Seconds that the requests take, 64 at a time."""
    return _asked(url, iter(range(requests)))


def asked_for(url: str, seconds: float) -> None:
    """Ask for so long, 64 requests at a time."""
    deadline = time.monotonic() + seconds
    _asked(url, itertools.takewhile(lambda _: time.monotonic() < deadline, itertools.count()))


def _asked(url: str, numbers: Iterator[int]) -> float:
    settings = ModelConfig(name="m", model="m", base_url=url, api_key_env=None)
    llm = OpenAILLM(settings, stopping=WakingEvent())
    ask = [Message(role="user", content="improve this " * 500)]
    llm.complete(ask, key=PatchKey(0, 0), observe=lambda event: None)
    lock = threading.Lock()

    def work(_: int) -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            llm.complete(ask, key=PatchKey(number + 1, 0), observe=lambda event: None)

    began = time.monotonic()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        list(pool.map(work, range(IN_FLIGHT)))
    return time.monotonic() - began


def run() -> None:
    for one_in in (10, 1):
        _run(one_in)


def crowd() -> None:
    for workers in (2, "dask:local:4"):
        print(f"workers {workers}: ", end="", flush=True)
        with most_memory() as megabytes:
            _run(10, in_flight=CROWD, seconds=CROWD_S, rounds=5, workers=workers)
        print(f"  at most {max(megabytes):.0f} MB")


@contextmanager
def most_memory() -> Iterator[list[float]]:
    """The memory of all processes below this one, every second or so."""
    megabytes, over = [0.0], threading.Event()

    def look() -> None:
        while not over.wait(1.0):
            megabytes.append(memory_mb(descendants(os.getpid())))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield megabytes
    finally:
        over.set()
        watcher.join()


def _run(
    one_in: int, *, in_flight: int = IN_FLIGHT, seconds: float = SECONDS, rounds: int = 20, workers: int | str = 2
) -> None:
    """What the server sees of a run, to the last patch that is asked for."""
    arrivals, numbers = list[tuple[float, bool]](), itertools.count(1)
    lock = threading.Lock()

    def behave(request: Any) -> Behaviour:
        prompt, meta = request["messages"][0]["content"], is_meta(request)
        with lock:
            arrivals.append((time.monotonic(), meta))
        number = next(numbers)
        step = 0.2 if number % one_in == 0 else -0.2  # towards the optimum or away from it
        return answer(meta_answer(prompt) if meta else patch(step + number / 10_000), after_s=seconds)

    with tempfile.TemporaryDirectory() as folder, OpenAIServer(default=behave) as server:
        limits = {"generations": rounds * in_flight, "parallel": in_flight, "workers": workers, "meta_every": 50}
        config = configure(
            Path(folder), models=[model(server.url, api_key_env=None, timeout_s=20.0 + seconds)], **limits
        )
        finish(Path(folder), "run", config, "--name", "r", seconds=600)
        with opened(Path(folder)) as archive:
            programs, documents = archive.programs, len(archive.meta.reports)
            better = len(new_bests(programs)) - 1
    last = max(moment for moment, meta in arrivals if not meta)
    # The first request goes alone: what the endpoint refuses is learnt once. Every request takes the server as
    # long: the average number in flight at once, until the last patch was asked for.
    shares = []
    for began in (arrivals[0][0], arrivals[1][0]):
        busy = sum(min(moment + seconds, last) - moment for moment, _ in arrivals if began <= moment <= last)
        shares.append(f"{100 * busy / (in_flight * (last - began)):.1f} %")
    print(
        f"run: {len(arrivals)} requests, {sum(meta for _, meta in arrivals)} of them for {documents} insights reports, "
        f"and {len(programs)} programs scored, {better} of them confirmed as new bests: {shares[1]} of {in_flight} in "
        f"flight over {last - arrivals[1][0]:.1f} s, {shares[0]} with the first answer, which is waited for alone"
    )


def limit() -> None:
    for burst, header in ((BURST, "Retry-After"), (BURST // 4, "Retry-After"), (BURST, None)):
        bucket = TokenBucket(rate=RATE, burst=burst, let_through=answer("a patch", after_s=SECONDS), header=header)
        with OpenAIServer(default=bucket) as server:
            asked_for(server.url, LIMITED_S)
        first = bucket.arrivals[0][0]
        for name, begin in (("from the first request", 0.0), ("after 30 s", 30.0)):
            passed = sum(ok for moment, ok in bucket.arrivals if begin <= moment - first <= LIMITED_S)
            share = passed / (RATE * (LIMITED_S - begin))
            print(f"limit, burst {burst}, {header}: {100 * share:.1f} % of {RATE:g} a second {name}")
        refused = sum(not ok for _, ok in bucket.arrivals)
        print(f"  {refused} of {len(bucket.arrivals)} requests were refused, no call was lost")


def pause() -> None:
    """64 are refused at once and must wait for a second."""
    arrivals: list[float] = []

    def behave(request: Any) -> Behaviour:
        arrivals.append(time.monotonic())
        if len(arrivals) <= 1 or len(arrivals) > IN_FLIGHT + 1:
            return answer("a patch")
        return Behaviour(status=429, headers={"Retry-After": "1"}, after_s=1.0)  # by then all of them are there

    with OpenAIServer(default=behave) as server:
        asked(server.url, IN_FLIGHT)
    again = sorted(arrivals[IN_FLIGHT + 1 :])
    most = max(bisect_right(again, moment + 0.1) - at for at, moment in enumerate(again))
    pause_s = again[0] - arrivals[IN_FLIGHT] - 1.0
    print(
        f"pause: {len(again)} came back {pause_s:.2f} s after the last was refused, within "
        f"{again[-1] - again[0]:.2f} s; at most {most} of them in 100 ms (a quarter are {IN_FLIGHT // 4})"
    )


KINDS: dict[str, Callable[[], None]] = {"client": client, "run": run, "limit": limit, "pause": pause, "crowd": crowd}

if __name__ == "__main__":
    for name in sys.argv[1:] or KINDS:
        KINDS[name]()

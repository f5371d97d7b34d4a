"""Work in threads that Ctrl-C ends at once, at any moment.

An exception raised by a signal could leave a lock of `concurrent.futures` taken for good, and an endless wait could
miss a signal that came just before it. So Ctrl-C only sets a mark here, which every wait checks in slices.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from evaluator.signals import handle_once

Result = TypeVar("Result")

_SLICE_S = 0.1


class Threads(ThreadPoolExecutor):
    """A pool of threads, and the waits for its futures. Waiting raises KeyboardInterrupt after Ctrl-C."""

    def __init__(self, count: int, interrupted: threading.Event) -> None:
        super().__init__(count)
        self._interrupted = interrupted

    def settled(self, futures: Collection[Future[Result]], *, within_s: float = math.inf) -> Iterator[Future[Result]]:
        """The futures, each as soon as it is done, for at most `within_s` seconds."""
        pending, until = set(futures), time.monotonic() + within_s
        while pending and time.monotonic() < until:
            done, pending = wait(pending, timeout=_SLICE_S, return_when=FIRST_COMPLETED)
            self.raise_interrupt()
            yield from done

    def raise_interrupt(self) -> None:
        """Raise KeyboardInterrupt after Ctrl-C."""
        if self._interrupted.is_set():
            raise KeyboardInterrupt

    def result(self, future: Future[Result]) -> Result:
        """The result of a future; raises what it raised."""
        for _ in self.settled([future]):
            pass
        return future.result()


@contextmanager
def threads(count: int, *, cancel: Callable[[], object]) -> Iterator[Threads]:
    """A pool of threads. If the block raises, waiting work is dropped, and `cancel` must end the work under way."""
    interrupted = threading.Event()
    with _marked(interrupted), Threads(count, interrupted) as pool:
        try:
            yield pool
        except BaseException:  # boundary: nothing under way may hold up the end
            cancel()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _marked(interrupted: threading.Event) -> Iterator[None]:
    """Ctrl-C sets the mark. A second one raises as usual, or ends the process where the first could not be handled. In
    another thread, or with another handler of Ctrl-C, nothing changes."""

    def mark(number: int, frame: FrameType | None) -> None:
        handle_once(signal.SIGINT, mark)
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    handle_once(signal.SIGINT, mark)
    try:
        yield
    finally:
        handle_once(signal.SIGINT, signal.default_int_handler)
    if interrupted.is_set():  # it came after the last wait
        raise KeyboardInterrupt

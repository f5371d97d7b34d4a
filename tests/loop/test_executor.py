"""An executor of threads answers every thread that posted, whatever happens to the owner."""

import os
import signal
import threading
import time

import pytest

from evolve.core.completion import CallFailed
from evolve.loop.executor import Job, JobKind, ThreadExecutor


def test_where_the_owner_fails_in_one_action_everybody_else_who_posted_is_released() -> None:
    executor = ThreadExecutor(asking=1, evaluating=1)
    released: list[str] = []

    def failing() -> None:
        raise OSError("the disk is full")

    def post() -> None:
        try:
            executor.post(failing)
        except CallFailed as failed:
            released.append(failed.reason)

    threads = [threading.Thread(target=post, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    while executor._arrived.qsize() < len(threads):
        pass
    with pytest.raises(OSError, match="full"):
        executor.next_ended(1.0)
    executor.close()
    for thread in threads:
        thread.join(10.0)
    assert released == ["cancelled"] * len(threads)
    with pytest.raises(CallFailed):
        executor.post(failing)


def test_a_signal_whose_handler_outlasts_the_wait_does_not_prolong_it() -> None:
    """Else a Ctrl-C on a busy machine is not looked at until something ends."""
    executor = ThreadExecutor(asking=1, evaluating=1)
    ends = threading.Event()
    executor.begin(Job(kind=JobKind.ASK, work=lambda: ends.wait(2.0)))
    before = signal.signal(signal.SIGUSR1, lambda *_: time.sleep(0.3))
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        timer.start()
        assert executor.next_ended(0.2) is None
    finally:
        ends.set()
        timer.join()
        signal.signal(signal.SIGUSR1, before)
        executor.close()

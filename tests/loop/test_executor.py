"""An executor of threads answers every thread that posted, whatever happens to the owner."""

import threading

import pytest

from evolve.core.completion import CallFailed
from evolve.loop.executor import ThreadExecutor


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

"""Python's own ways to use several processes work in a script at `strong`; at `standard` what needs /dev/shm says so at
once. The wall limit is the deadline: who hangs ends as `timeout`."""

import signal

import pytest
from trees import at_one_level, by_one_user, run, run_as, standard, strong

from evaluator.evaluation import Outcome

WITHIN_S = 30.0
HOW = ("fork", "spawn", "forkserver")
START = """
import multiprocessing, os, signal, time
from concurrent.futures import ProcessPoolExecutor

def square(number):
    return number * number

if __name__ == "__main__":
    context = multiprocessing.get_context({how!r})
"""
POOLS = {
    "pool": "with context.Pool(2) as pool: print(pool.map(square, range(20)))",
    "executor": "with ProcessPoolExecutor(2, context) as pool: print(list(pool.map(square, range(20))))",
    "manager": """with context.Manager() as manager, context.Pool(2) as pool:
        shared = manager.list([0])
        pool.map(shared.append, [square(number) for number in range(1, 20)])
        print(sorted(shared))""",
}
SQUARES = f"{[number * number for number in range(20)]}\n"
in_each_way = pytest.mark.parametrize("how", HOW)


def script(how: str, text: str) -> str:
    return START.format(how=how) + f"    {text}\n"


@pytest.mark.parametrize("level", [strong])
@in_each_way
@pytest.mark.parametrize("kind", POOLS)
def test_pools_work_at_strong(level: str, kind: str, how: str) -> None:
    ending = run(level, script(how, POOLS[kind]), wall_s=WITHIN_S)
    assert (ending.outcome, ending.output) == (Outcome.OK, SQUARES)


@by_one_user
@pytest.mark.parametrize("level", [strong])
def test_pools_work_for_each_user(level: str, user: int) -> None:
    report = run_as(user, level, script("spawn", POOLS["pool"]), wall_s=WITHIN_S)
    assert (report["outcome"], report["output"]) == ("ok", SQUARES)


@pytest.mark.parametrize("level", [standard])
@in_each_way
@pytest.mark.parametrize("kind", POOLS)
def test_pools_fail_at_once_at_standard(level: str, kind: str, how: str) -> None:
    ending = run(level, script(how, POOLS[kind]), wall_s=WITHIN_S)
    assert (ending.outcome, ending.status) == (Outcome.EXITED, 1), ending
    assert "PermissionError" in ending.output


@at_one_level
@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_a_process_is_terminated(level: str, how: str) -> None:
    """By SIGTERM, as a pool ends its workers; processes without locks work at both levels."""
    text = """process = context.Process(target=time.sleep, args=(1000,))
    process.start()
    process.terminate()
    process.join()
    print(process.exitcode)"""
    ending = run(level, script(how, text), wall_s=WITHIN_S)
    assert (ending.outcome, ending.output) == (Outcome.OK, f"{-signal.SIGTERM}\n")


@at_one_level
def test_no_signal_is_ignored_or_held_back_from_the_start(level: str) -> None:
    """Whatever the harness does with its own."""
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM])
    try:
        for name in ("TERM", "HUP", "INT", "USR1", "USR2"):
            text = f"import os\nos.execv('/bin/sh', ['sh', '-c', 'kill -{name} $$; echo survived'])"
            ending = run(level, text, wall_s=WITHIN_S)  # a shell: it keeps what it was started with
            assert (ending.status, ending.output) == (-signal.Signals[f"SIG{name}"], "")
    finally:
        signal.signal(signal.SIGUSR1, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)

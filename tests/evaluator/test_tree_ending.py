"""However a run ends, nothing of it is left: no process, no folder; and the thread that ends it need not wait."""

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from trees import LIMITS, at_one_level, by_one_user, harness, job_of, marked, sandbox_of

from evaluator.errors import EvaluationCancelled
from evaluator.sandbox.tree import TreeJob
from evaluator.sandbox.turns import Cancellation
from evaluator.task import Limits

# It detaches in every way, spins, and says when it stands: by a process whose command line says so.
SCRIPT = """
import os, signal, subprocess, sys
marker = sys.argv[1]
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
for n in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.execv(sys.executable, [sys.executable, "-c", "while True: pass", marker + "-ready"])
    os.wait()
open("left", "w").write("behind")
while True: pass
"""


def until(condition: Callable[[], object], within_s: float = 60.0) -> bool:
    end = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def scratch_folders(marker: str) -> list[Path]:
    """Scratch folders on the disk that the marked run writes into. Those of other tests come and go meanwhile."""
    found = []
    for path in Path("/tmp").glob("evolve-scratch-*/s.py"):
        with contextlib.suppress(FileNotFoundError):
            if marker in path.read_text():
                found.append(path.parent)
    return found


@by_one_user
@at_one_level
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_when_the_harness_is_killed_nothing_survives(level: str, user: int, how: signal.Signals) -> None:
    marker = f"evolve-tree-{level}-{user}-{how.name}"
    text = f"# {marker}\n{SCRIPT}"
    command, options = harness(
        user,
        "harness.py",
        job_of(level, ["python", "{scratch}/s.py", marker], {"s.py": text}, cpu_total_s=1000, wall_s=1000),
    )
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    try:
        assert until(lambda: len(marked(f"{marker}-ready")) >= 3 or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        assert level == "strong" or scratch_folders(marker)
    finally:
        process.send_signal(how)
        process.communicate()
    assert until(lambda: not marked(marker))
    assert until(lambda: not scratch_folders(marker))


@at_one_level
def test_a_run_that_is_cancelled_ends_at_once(level: str) -> None:
    marker = f"evolve-tree-{level}-cancelled"
    cancellation = Cancellation()
    job = TreeJob(argv=(sys.executable, "{scratch}/s.py", marker), files={"s.py": SCRIPT.encode()}, result="result")
    raised: list[BaseException] = []

    def run() -> None:
        try:
            sandbox_of(level).run(job, Limits(**LIMITS | {"cpu_total_s": 1000, "wall_s": 1000}), cancellation)
        except EvaluationCancelled as cause:
            raised.append(cause)

    thread = threading.Thread(target=run)
    thread.start()
    assert until(lambda: len(marked(f"{marker}-ready")) >= 3)
    cancellation.set()
    thread.join(30)
    assert not thread.is_alive()
    assert len(raised) == 1
    assert marked(marker) == []
    with pytest.raises(EvaluationCancelled):
        sandbox_of(level).run(job, Limits(**LIMITS), cancellation)


@at_one_level
def test_many_runs_leave_no_descriptor_and_no_folder(level: str) -> None:
    sandbox = sandbox_of(level)
    marker = f"evolve-tree-{level}-many"
    job = TreeJob(argv=("/bin/sh", "-c", "echo $$ > result"), files={"s.py": marker.encode()}, result="result")
    sandbox.run(job, Limits(**LIMITS), Cancellation())

    def held() -> tuple[int, list[Path]]:
        return len([*Path("/proc/self/fd").iterdir()]), scratch_folders(marker)

    before = held()
    for _ in range(5):
        sandbox.run(job, Limits(**LIMITS), Cancellation())
    assert held() == before


@at_one_level
def test_several_threads_run_at_once(level: str) -> None:
    sandbox = sandbox_of(level)
    found: dict[int, bytes | None] = {}

    def run(number: int) -> None:
        job = TreeJob(argv=("/bin/sh", "-c", f"sleep 0.2; echo {number} > result"), result="result")
        found[number] = sandbox.run(job, Limits(**LIMITS), Cancellation()).result

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"{number}\n".encode() for number in range(6)}

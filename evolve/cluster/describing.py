"""What a worker says of itself, and whether the head accepts it."""

import hashlib
import importlib.metadata
import os
import platform
import time
from pathlib import Path
from typing import Final

import evaluator
from evaluator.remote import SLOWEST, Versions, WorkerReport
from evaluator.sandbox.layers import LEVELS
from evaluator.task import Suite, Task
from evaluator.version import package_versions, version_of

_STEPS: Final = 200_000
_TRIES: Final = 5


def describe(task: Task, suite: Suite, *, level: str, worker: str) -> WorkerReport:
    """This machine and this installation, for one suite of a task. Takes a moment of CPU time."""
    return WorkerReport(
        worker=worker,
        host=platform.node() or "unknown",
        versions=Versions(
            evolve=f"{importlib.metadata.version('evolve')}+{code_digest()}",
            evaluator=version_of(task, suite),
            python=".".join(platform.python_version_tuple()[:2]),
            packages=tuple(package_versions(task)),
        ),
        level=level,
        cores=len(os.sched_getaffinity(0)),
        calibration_cpu_s=calibrate(),
    )


def code_digest() -> str:
    """A digest of the evaluator's source: it names an installation more exactly than a release."""
    root = Path(evaluator.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in ("tasks", "_data"):  # a task travels
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def calibrate() -> float:
    """The CPU seconds of a fixed piece of work: the least of several tries."""
    return min(_work() for _ in range(_TRIES))


def _work() -> float:
    began = time.thread_time()
    state, table = 1, list(range(256))
    for _ in range(_STEPS):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        table[state & 255] ^= state
    return time.thread_time() - began


def refusal(worker: WorkerReport, head: WorkerReport, level: str) -> str:
    """Why the head does not accept a worker: the first difference; empty for one that it accepts. `level` is the
    lowest sandbox level."""
    ours, theirs = head.versions, worker.versions
    pairs = (
        ("evolve", ours.evolve, theirs.evolve),
        ("Python", ours.python, theirs.python),
        ("its packages", ", ".join(ours.packages), ", ".join(theirs.packages)),
        ("the evaluator of this task", ours.evaluator, theirs.evaluator),
    )
    for what, here, there in pairs:
        if here != there:
            return f"{what} differs: {there or 'none'} there, {here or 'none'} here"
    if worker.level not in LEVELS or LEVELS.index(worker.level) < LEVELS.index(level):
        return f"its sandbox level is {worker.level}, and {level} is the lowest that this run accepts"
    if not 0 < worker.calibration_cpu_s <= SLOWEST * head.calibration_cpu_s:
        return (
            f"it needs {1000 * worker.calibration_cpu_s:.0f} ms of CPU time for what takes "
            f"{1000 * head.calibration_cpu_s:.0f} ms here, more than {SLOWEST:g} times as much"
        )
    return ""

"""Checks of this machine: each one does the thing itself instead of reading a version."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evaluator.check import Check, Finding
from evaluator.errors import EvaluatorError
from evaluator.evaluator import SandboxedEvaluator
from evaluator.places import DEFAULT_TASK
from evaluator.sandbox.layers import NONE
from evaluator.sandbox.probe import probe_candidates, probe_scripts
from evaluator.sandbox.resources import free_memory_mb, memory_shortage
from evaluator.task_files import load_task
from evolve.core.files import FREE_DISK_MB, nearest
from evolve.review.scores import sentence
from evolve.review.table import Cell, Column, Fit, Table, Tone

PYTHON_WANTED = (3, 11)


def examine(runs: Path = Path("runs")) -> list[Check]:
    """Every check, in the order of repair."""
    return [check_python(), check_git(), check_disk(runs), check_runs(runs), *check_evaluation()]


def healthy(checks: Sequence[Check]) -> bool:
    """Whether no needed check fails."""
    return all(check.state is Finding.OK or not check.needed for check in checks)


def check_python() -> Check:
    """Whether the interpreter is recent enough."""
    interpreter = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info >= PYTHON_WANTED:
        return Check("python", Finding.OK, interpreter)
    return Check("python", Finding.BROKEN, interpreter, f"install Python {'.'.join(map(str, PYTHON_WANTED))} or newer")


def check_git() -> Check:
    """Whether git is installed: it keeps the programs of a run."""
    path = shutil.which("git")
    if path is None:
        fix = "install git: it keeps the programs of a run"
        return Check("git", Finding.ABSENT, "there is no `git` on the PATH", fix)
    return Check("git", Finding.OK, path)


def check_disk(runs: Path) -> Check:
    """Whether the folder of runs has room for one."""
    place = nearest(runs)
    try:
        free_mb = shutil.disk_usage(place).free // 2**20
    except OSError as cause:
        return Check("disk", Finding.BROKEN, f"{place}: {cause.strerror}", "run elsewhere")
    detail = f"{free_mb:,} MB free in {place}"
    if free_mb >= FREE_DISK_MB:
        return Check("disk", Finding.OK, detail)
    return Check("disk", Finding.BROKEN, detail, f"make room for {FREE_DISK_MB} MB, or run elsewhere")


def check_runs(runs: Path) -> Check:
    """Whether a file can be written and synced in the folder of runs; nothing is left behind."""
    place = nearest(runs)
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"evolve doctor")
            file.flush()
            os.fsync(file.fileno())
    except OSError as cause:
        fix = f"make {place} writable, or run from a folder that is"
        return Check("runs", Finding.BROKEN, f"{place} cannot be written ({cause.strerror})", fix)
    where = place if place == runs.absolute() else f"{runs.absolute()} (not made yet)"
    return Check("runs", Finding.OK, f"writable: {where}")


def check_evaluation() -> list[Check]:
    """Whether a real candidate runs and is judged: the built-in task's initial program. Then the sandbox around it."""
    try:
        task = load_task(DEFAULT_TASK)
        with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
            evaluation = evaluator.evaluate(task.initial_files())
    except EvaluatorError as cause:
        return [Check("evaluation", Finding.BROKEN, str(cause), "do what the message says"), *check_layers(NONE)]
    if evaluation.correct:
        score = sentence(evaluation)
        detail = f"the initial program of {task.name}/{evaluation.suite} scores {score}"
        check = Check("evaluation", Finding.OK, detail)
    else:
        detail = f"the initial program, which is correct, ended as {evaluation.outcome.value}: {evaluation.detail}"
        fix = "reinstall evolve; if that fails, report this line"
        check = Check("evaluation", Finding.BROKEN, detail, fix)
    return [check, check_memory(task.suite().limits.memory_mb), *check_layers(evaluation.sandbox)]


def check_memory(memory_mb: int) -> Check:
    """Whether memory is enough for a worker on each core, each at the limit of the built-in task."""
    workers = len(os.sched_getaffinity(0))
    short, free = memory_shortage(workers, memory_mb), free_memory_mb()
    if short:
        return Check("memory", Finding.ABSENT, short, "free memory", needed=False)
    detail = "the amount of free memory is unknown" if free is None else f"{free:,} MB are free"
    return Check("memory", Finding.OK, f"{detail}; {workers} workers may take {memory_mb} MB each")


def check_layers(level: str) -> list[Check]:
    """The sandbox level, and the result of an attack on each layer, for candidates and for scripts."""
    sandbox = Check("sandbox", Finding.OK, f"level {level}")
    if level == NONE:
        fix = "see the layers below; score only programs that you trust"
        sandbox = Check("sandbox", Finding.ABSENT, "level none: a candidate is not confined", fix)
    try:
        return [sandbox, *probe_candidates(), *probe_scripts()]
    except EvaluatorError:  # no worker runs at all: the check "evaluation" says why
        return [sandbox]


def table(checks: Sequence[Check]) -> Table:
    """One line for each check."""
    columns = (Column("check"), Column("state"), Column("detail", fit=Fit.TEXT))
    return Table(columns=columns, rows=tuple(_cells(check) for check in checks))


def _cells(check: Check) -> tuple[Cell, ...]:
    tone = {Finding.OK: Tone.GOOD, Finding.ABSENT: Tone.BAD if check.needed else Tone.QUIET, Finding.BROKEN: Tone.BAD}
    return Cell(check.name, Tone.STRONG), Cell(check.state.value, tone[check.state]), Cell(check.detail)

"""What works on this machine: each check does the thing itself instead of reading a version."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from evaluator.errors import EvaluatorError
from evolve.review.standing import of_evaluation, sentence
from evolve.review.table import Cell, Column, Fit, Table, Tone

PYTHON_WANTED = (3, 11)
DISK_WANTED_MB = 64


class State(StrEnum):
    """What a check found."""

    OK = "ok"
    ABSENT = "absent"  # not there; not an error of what is there
    BROKEN = "broken"  # there, and does not do what it should


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was tried. `fix` says what to do unless it is ok; `needed` whether evolve works without it."""

    name: str
    state: State
    detail: str
    fix: str = ""
    needed: bool = True

    def to_json(self) -> dict[str, Any]:
        """The keys of one check in `evolve doctor --json`."""
        return {
            "name": self.name,
            "state": self.state.value,
            "detail": self.detail,
            "fix": self.fix,
            "needed": self.needed,
        }


def examine(runs: Path = Path("runs")) -> list[Check]:
    """Every check, in the order in which one would mend things."""
    return [check_python(), check_git(), check_disk(runs), check_runs(runs), *check_evaluation()]


def healthy(checks: Sequence[Check]) -> bool:
    """Nothing that is needed fails."""
    return all(check.state is State.OK or not check.needed for check in checks)


def check_python() -> Check:
    """The interpreter is recent enough."""
    found = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info >= PYTHON_WANTED:
        return Check(name="python", state=State.OK, detail=found)
    wanted = ".".join(map(str, PYTHON_WANTED))
    return Check(name="python", state=State.BROKEN, detail=found, fix=f"install Python {wanted} or newer")


def check_git() -> Check:
    """git writes a commit in a fresh repository and reads it back, as an archive needs it."""
    install = "install git (Debian and Ubuntu: apt install git; Fedora: dnf install git; macOS: brew install git)"
    if shutil.which("git") is None:
        return Check(name="git", state=State.ABSENT, detail="there is no `git` on the PATH", fix=install)
    try:
        version = _git("--version").removeprefix("git version ")
        with tempfile.TemporaryDirectory() as folder:
            _git("init", "--quiet", "--bare", folder)
            tree = _git("-C", folder, "mktree")
            author = ["-c", "user.name=evolve", "-c", "user.email=evolve@localhost"]
            commit = _git("-C", folder, *author, "commit-tree", tree, "-m", "doctor")
            _git("-C", folder, "cat-file", "commit", commit)
    except subprocess.CalledProcessError as cause:
        said = cause.stderr.strip() or f"exit code {cause.returncode}"
        return Check(name="git", state=State.BROKEN, detail=said, fix="see what git says; else reinstall it")
    except (OSError, subprocess.TimeoutExpired) as cause:
        return Check(name="git", state=State.BROKEN, detail=str(cause), fix=install)
    return Check(name="git", state=State.OK, detail=version)


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=20
    )
    return done.stdout.strip()


def check_disk(runs: Path) -> Check:
    """There is room for a run where runs are written."""
    place = _existing(runs)
    try:
        free_mb = shutil.disk_usage(place).free // 2**20
    except OSError as cause:
        return Check(name="disk", state=State.BROKEN, detail=f"{place}: {cause.strerror}", fix="run elsewhere")
    detail = f"{free_mb:,} MB free in {place}"
    if free_mb >= DISK_WANTED_MB:
        return Check(name="disk", state=State.OK, detail=detail)
    return Check(
        name="disk", state=State.BROKEN, detail=detail, fix=f"make room for {DISK_WANTED_MB} MB, or run elsewhere"
    )


def check_runs(runs: Path) -> Check:
    """A file can be written and synced where runs are written; nothing is left behind."""
    place = _existing(runs)
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"evolve doctor")
            file.flush()
            os.fsync(file.fileno())
    except OSError as cause:
        return Check(
            name="runs",
            state=State.BROKEN,
            detail=f"{place} cannot be written ({cause.strerror})",
            fix=f"make {place} writable, or run from a folder that is",
        )
    where = place if place == runs.absolute() else f"{runs.absolute()} (not made yet)"
    return Check(name="runs", state=State.OK, detail=f"writable: {where}")


def _existing(path: Path) -> Path:
    """`path`, or its nearest parent that exists."""
    return next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())


def check_evaluation() -> list[Check]:
    """A real candidate runs and is judged: the built-in task's initial program. Then, what confines it meanwhile."""
    from evaluator.evaluator import SandboxedEvaluator
    from evaluator.task_files import load_task

    try:
        task = load_task("placement")
        with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
            evaluation = evaluator.evaluate(task.initial.read_text(encoding="utf-8"))
    except EvaluatorError as cause:
        broken = Check(name="evaluation", state=State.BROKEN, detail=str(cause), fix="do what the message says")
        return [broken, *check_layers("none")]
    checks = check_layers(evaluation.sandbox)
    if not evaluation.correct:
        detail = f"the initial program, which is correct, ended as {evaluation.outcome.value}: {evaluation.detail}"
        fix = "reinstall evolve; if that does not help, report this line"
        return [Check(name="evaluation", state=State.BROKEN, detail=detail, fix=fix), *checks]
    score = sentence(of_evaluation(evaluation))
    detail = f"the initial program of {task.name}/{evaluation.suite} scores {score}"
    return [Check(name="evaluation", state=State.OK, detail=detail), *checks]


def check_layers(level: str) -> list[Check]:
    """The sandbox level, and what each layer was seen to stop when it was attacked."""
    from evaluator.sandbox.layers import BUBBLEWRAP, LANDLOCK, NONE
    from evaluator.sandbox.probe import probe

    sandbox = Check(name="sandbox", state=State.OK, detail=f"level {level}")
    if level == NONE:
        sandbox = Check(
            name="sandbox",
            state=State.ABSENT,
            detail="level none: a candidate is not confined",
            fix="see the layers below; score only programs whose origin you trust",
        )
    try:
        states = probe()
    except EvaluatorError:  # no worker runs at all: the check of the evaluation says why
        return [sandbox]
    return [
        sandbox,
        *(
            Check(
                name=state.layer,
                state=State(state.state),
                detail=state.reason,
                fix=state.fix,
                needed=state.layer not in (LANDLOCK, BUBBLEWRAP),
            )
            for state in states
        ),
    ]


def table(checks: Sequence[Check]) -> Table:
    """One line for each check."""
    columns = (Column("check"), Column("state"), Column("detail", fit=Fit.FOLD))
    return Table(columns=columns, rows=tuple(_cells(check) for check in checks))


def _cells(check: Check) -> tuple[Cell, ...]:
    tone = {State.OK: Tone.GOOD, State.ABSENT: Tone.BAD if check.needed else Tone.QUIET, State.BROKEN: Tone.BAD}
    return Cell(check.name, Tone.STRONG), Cell(check.state.value, tone[check.state]), Cell(check.detail)

"""What works on this machine: each check does the thing itself instead of reading a version."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from evaluator.errors import EvaluatorError
from evolve.review.scores import of_evaluation, sentence
from evolve.review.table import Cell, Column, Fit, Table, Tone

PYTHON_WANTED = (3, 11)
DISK_WANTED_MB = 64


class Finding(StrEnum):
    """What a check found."""

    OK = "ok"
    ABSENT = "absent"  # not there; not an error of what is there
    BROKEN = "broken"  # there, and does not do what it should


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was tried. `fix` says what to do unless it is ok; `needed` whether evolve works without it, and
    `settings` what to write into the configuration, if anything."""

    name: str
    state: Finding
    detail: str
    fix: str = ""
    needed: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The keys of one check in `evolve doctor --json`."""
        return {
            "name": self.name,
            "state": self.state.value,
            "detail": self.detail,
            "fix": self.fix,
            "needed": self.needed,
            **({"settings": dict(self.settings)} if self.settings else {}),
        }


def examine(runs: Path = Path("runs")) -> list[Check]:
    """Every check, in the order in which one would mend things."""
    return [check_python(), check_git(), check_disk(runs), check_runs(runs), *check_evaluation()]


def healthy(checks: Sequence[Check]) -> bool:
    """Nothing that is needed fails."""
    return all(check.state is Finding.OK or not check.needed for check in checks)


def check_python() -> Check:
    """The interpreter is recent enough."""
    found = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info >= PYTHON_WANTED:
        return Check(name="python", state=Finding.OK, detail=found)
    wanted = ".".join(map(str, PYTHON_WANTED))
    return Check(name="python", state=Finding.BROKEN, detail=found, fix=f"install Python {wanted} or newer")


def check_git() -> Check:
    """Whether git is there. Nothing here runs it (archives are read and written without it): it is for people who
    look into an archive with it."""
    path = shutil.which("git")
    if path is None:
        return Check(
            name="git",
            state=Finding.ABSENT,
            detail="there is no `git` on the PATH",
            fix="evolve does without it; install git to look into an archive's programs.git yourself",
            needed=False,
        )
    return Check(name="git", state=Finding.OK, detail=f"{path} (evolve does without it)", needed=False)


def check_disk(runs: Path) -> Check:
    """There is room for a run where runs are written."""
    place = _existing(runs)
    try:
        free_mb = shutil.disk_usage(place).free // 2**20
    except OSError as cause:
        return Check(name="disk", state=Finding.BROKEN, detail=f"{place}: {cause.strerror}", fix="run elsewhere")
    detail = f"{free_mb:,} MB free in {place}"
    if free_mb >= DISK_WANTED_MB:
        return Check(name="disk", state=Finding.OK, detail=detail)
    return Check(
        name="disk", state=Finding.BROKEN, detail=detail, fix=f"make room for {DISK_WANTED_MB} MB, or run elsewhere"
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
            state=Finding.BROKEN,
            detail=f"{place} cannot be written ({cause.strerror})",
            fix=f"make {place} writable, or run from a folder that is",
        )
    where = place if place == runs.absolute() else f"{runs.absolute()} (not made yet)"
    return Check(name="runs", state=Finding.OK, detail=f"writable: {where}")


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
        broken = Check(name="evaluation", state=Finding.BROKEN, detail=str(cause), fix="do what the message says")
        return [broken, *check_layers("none")]
    checks = [check_memory(task.suite().limits.memory_mb), *check_layers(evaluation.sandbox)]
    if not evaluation.correct:
        detail = f"the initial program, which is correct, ended as {evaluation.outcome.value}: {evaluation.detail}"
        fix = "reinstall evolve; if that does not help, report this line"
        return [Check(name="evaluation", state=Finding.BROKEN, detail=detail, fix=fix), *checks]
    score = sentence(of_evaluation(evaluation))
    detail = f"the initial program of {task.name}/{evaluation.suite} scores {score}"
    return [Check(name="evaluation", state=Finding.OK, detail=detail), *checks]


def check_memory(memory_mb: int) -> Check:
    """Whether there is room for a worker on each core, each at the limit of the built-in task."""
    from evaluator.sandbox.resources import free_memory_mb, memory_shortage

    workers = len(os.sched_getaffinity(0))
    short, free = memory_shortage(workers, memory_mb), free_memory_mb()
    if short:
        return Check(name="memory", state=Finding.ABSENT, detail=short, fix="free memory", needed=False)
    detail = "it is not known how much is free" if free is None else f"{free:,} MB are free"
    return Check(name="memory", state=Finding.OK, detail=f"{detail}; {workers} workers may take {memory_mb} MB each")


def check_layers(level: str) -> list[Check]:
    """The sandbox level, and what each layer was seen to stop when it was attacked; then the same of scripts."""
    from evaluator.sandbox.layers import BUBBLEWRAP, LANDLOCK, NONE
    from evaluator.sandbox.probe import FAIRNESS, probe
    from evaluator.sandbox.tree_probe import NAME, probe_tree

    sandbox = Check(name="sandbox", state=Finding.OK, detail=f"level {level}")
    if level == NONE:
        sandbox = Check(
            name="sandbox",
            state=Finding.ABSENT,
            detail="level none: a candidate is not confined",
            fix="see the layers below; score only programs whose origin you trust",
        )
    try:
        states = [*probe(), *probe_tree()]
    except EvaluatorError:  # no worker runs at all: the check of the evaluation says why
        return [sandbox]
    return [
        sandbox,
        *(
            Check(
                name=state.layer,
                state=Finding(state.state),
                detail=state.reason,
                fix=state.fix,
                needed=state.layer not in (LANDLOCK, BUBBLEWRAP, FAIRNESS) and not state.layer.startswith(NAME),
            )
            for state in states
        ),
    ]


def table(checks: Sequence[Check]) -> Table:
    """One line for each check."""
    columns = (Column("check"), Column("state"), Column("detail", fit=Fit.FOLD))
    return Table(columns=columns, rows=tuple(_cells(check) for check in checks))


def _cells(check: Check) -> tuple[Cell, ...]:
    tone = {Finding.OK: Tone.GOOD, Finding.ABSENT: Tone.BAD if check.needed else Tone.QUIET, Finding.BROKEN: Tone.BAD}
    return Cell(check.name, Tone.STRONG), Cell(check.state.value, tone[check.state]), Cell(check.detail)

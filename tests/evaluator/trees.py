"""Running scripts as process trees: in this process, or in a harness of its own that may be of another user."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import evaluator
from evaluator.sandbox import bubblewrap, landlock, tree
from evaluator.sandbox.landlock import SCOPED_SINCE
from evaluator.sandbox.tree import TreeEnding, TreeJob, TreeSandbox
from evaluator.sandbox.turns import Cancellation
from evaluator.task import Limits

ROOT = Path(evaluator.__file__).parent.parent
DATA = Path(__file__).parent.parent / "data" / "trees"
OTHER = 12345
LIMITS: dict[str, Any] = {
    "cpu_per_instance_s": 20.0,
    "cpu_total_s": 20.0,
    "wall_s": 60.0,
    "memory_mb": 512,
    "scratch_mb": 64,
}

strong = pytest.param("strong", marks=pytest.mark.skipif(bubblewrap.find() is None, reason="no bubblewrap"))
standard = pytest.param(
    "standard",
    marks=pytest.mark.skipif(landlock.version() < SCOPED_SINCE, reason="no Landlock with scopes"),
)
USERS = [os.getuid(), *([OTHER] if os.getuid() == 0 else [])]
# Attacks are tried at both levels and by both users.
at_both_levels = pytest.mark.parametrize("level", [strong, standard])
by_both_users = pytest.mark.parametrize("user", USERS)
# What a limit means is tested at one of them; `make nightly` has the others.
_standard_nightly = pytest.param(
    "standard", marks=[*standard.marks, *([pytest.mark.nightly] if bubblewrap.find() else [])]
)
at_one_level = pytest.mark.parametrize("level", [strong, _standard_nightly])
by_one_user = pytest.mark.parametrize(
    "user", [USERS[0], *(pytest.param(one, marks=pytest.mark.nightly) for one in USERS[1:])]
)


def sandbox_of(level: str) -> TreeSandbox:
    return TreeSandbox(next(found for found in tree._options([]) if found.level == level))


def run(level: str, script: str, *arguments: str, result: str = "result", **limits: Any) -> TreeEnding:
    """A Python script, in this process's harness."""
    job = TreeJob(
        argv=(sys.executable, "{scratch}/script.py", *arguments), files={"script.py": script.encode()}, result=result
    )
    return sandbox_of(level).run(job, Limits(**LIMITS | limits), Cancellation())


@functools.cache
def interpreter_of(user: int) -> str:
    """A Python that the user may run."""
    if user == os.getuid():
        return sys.executable
    for found in (bubblewrap.interpreter(), "/usr/bin/python3"):
        check = "import sys; sys.exit(sys.version_info < (3, 11))"
        try:
            if (
                subprocess.run([found, "-c", check], check=False, user=user, group=user, extra_groups=[]).returncode
                == 0
            ):
                return found
        except OSError:
            continue
    pytest.skip("there is no Python 3.11 that another user may run")


def harness(user: int, program: str, *arguments: str) -> tuple[list[str], dict[str, Any]]:
    """The command line of a harness of that user, and how to start it."""
    packages = next(path for path in sys.path if path.endswith("-packages"))
    environment = {"PYTHONPATH": f"{ROOT}:{packages}", "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    options: dict[str, Any] = {"env": environment, "cwd": "/"}
    if user != os.getuid():
        options |= {"user": user, "group": user, "extra_groups": []}
    return [interpreter_of(user), str(DATA / program), *arguments], options


def elsewhere(user: int, program: str, *arguments: str) -> dict[str, Any]:
    """What a harness of that user prints."""
    command, options = harness(user, program, *arguments)
    done = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    if "unable" in report.get("refused", "") or "Permission" in report.get("refused", ""):
        pytest.skip(report["refused"])
    return report


def job_of(level: str, argv: Sequence[str], files: dict[str, str], **limits: Any) -> str:
    """The argument of harness.py."""
    return json.dumps({"level": level, "argv": list(argv), "files": files, "limits": LIMITS | limits})


def run_as(user: int, level: str, script: str, **limits: Any) -> dict[str, Any]:
    """A Python script, in a harness of that user."""
    return elsewhere(user, "harness.py", job_of(level, ["python", "{scratch}/s.py"], {"s.py": script}, **limits))


def marked(marker: str) -> list[int]:
    """The processes that have a marker in their command line, this one aside."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found

"""Running a whole process tree in the sandbox: a script of a task, with whatever it starts. Seen from the harness.

One process per run, `tree_init`, stands around the tree (inside bubblewrap at `strong`): it writes the files, starts
the command confined, measures the tree, ends it, and hands back what the command left. Its end of a socket is all that
holds it: when the harness goes, the tree goes.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from evaluator.errors import SandboxError
from evaluator.evaluation import Outcome
from evaluator.sandbox import bubblewrap, tree_confine
from evaluator.sandbox.cancellation import Cancellation
from evaluator.sandbox.landlock import SCOPED_SINCE
from evaluator.sandbox.layers import BUBBLEWRAP, LANDLOCK, LIMITS, NONE, PRIVILEGES, SECCOMP, STANDARD, STRONG
from evaluator.sandbox.levels import NO_BUBBLEWRAP, check_level, strongest
from evaluator.sandbox.options import STRONGEST, SandboxOptions
from evaluator.sandbox.tree_process import TreeProcess
from evaluator.sandbox.worker import ENVIRONMENT

SCRATCH: Final = "{scratch}"
"""Stands for the scratch folder, in a command line and in values of the environment."""
_PATH: Final = ("/usr/local/bin", "/usr/bin", "/bin")
_FILES: Final = ("/etc/ld.so.cache", "/etc/alternatives")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLimits:
    """What all processes of a tree together may use. `cpu_s` and `wall_s` are seconds, `output_kb` is what is kept of
    what they print (the end of it)."""

    cpu_s: float
    wall_s: float
    memory_mb: int
    scratch_mb: int
    output_kb: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeJob:
    """One command. `files` (paths relative to the scratch folder) are written first; the command starts in the scratch
    folder, with `environment` beside the little that every command gets, and sees `readable` beside the system and the
    interpreter; of `listed` folders it may see which names are in them (at `standard`; at `strong` those that it may
    read are there and no others). What comes back are at most `result_bytes`: the first line that was written to the
    descriptor whose number is in EVOLVE_RESULT_FD, or without one the bytes of the file `result` in the scratch folder,
    read when every process is dead."""

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    result: str
    result_bytes: int = 1 << 20
    readable: tuple[Path, ...] = ()
    listed: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnding:
    """How a tree ended. `outcome` is one of ok, exited, crash, timeout, cpu_limit, oom, output_limit; `status` what the
    command ended with (minus the signal's number where one killed it); `output` the end of what all of them printed;
    `result` the bytes of the result, None where there is none (a link is none)."""

    outcome: Outcome
    detail: str
    status: int
    cpu_s: float
    wall_s: float
    peak_memory_mb: float
    output: str
    result: bytes | None


_PATIENT: Final = TreeLimits(cpu_s=10.0, wall_s=30.0, memory_mb=256, scratch_mb=1, output_kb=4)


class TreeSandbox:
    """A confinement of process trees that was seen to hold. Used by several threads at once; keeps nothing open."""

    def __init__(self, *, level: str, layers: tuple[str, ...], program: str | None = None) -> None:
        self.level = level
        self.layers = layers
        self._program = program
        self._outside: dict[str, str] | None = None

    def run(self, job: TreeJob, limits: TreeLimits, cancellation: Cancellation) -> TreeEnding:
        """Run the command and end whatever it started. Raises SandboxError when the tree could not be confined or its
        first process died (a fault of the machine), EvaluationCancelled."""
        cancellation.check()
        paths = readable(job.readable)
        with TreeProcess(self._program) as process:
            process.start(self._settings(job, limits, process.scratch, paths), job.files, paths, cancellation)
            most = limits.output_kb << 10, job.result_bytes
            return _ending(job, limits, *process.wait(limits.wall_s, most, cancellation))

    def verify(self) -> Self:
        """Itself, once one command has run in it. Raises SandboxError when it does not work, or confines nothing."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lure:
            if self._program is not None:
                name = f"evolve-{os.urandom(8).hex()}"
                lure.bind("\0" + name)
                file = str(Path(__file__).resolve().parent.parent / "task.py")
                self._outside = {"file": file, "socket_name": name}
            try:
                ending = self.run(TreeJob(argv=("/bin/sh", "-c", "echo works"), result=""), _PATIENT, Cancellation())
            finally:
                self._outside = None
        if ending.outcome is not Outcome.OK or ending.output != "works\n":
            raise SandboxError(f"a command in the sandbox ended as {ending.outcome}: {ending.detail} {ending.output}")
        return self

    def _settings(self, job: TreeJob, limits: TreeLimits, scratch: str, paths: list[str]) -> dict[str, Any]:
        """What `tree_init` is told."""
        environment = {
            "PATH": ":".join((os.path.dirname(sys.executable), *_PATH)),  # noqa: PTH120
            "HOME": scratch,
            "TMPDIR": scratch,
            **ENVIRONMENT,
            **job.environment,
        }
        enclosed = self._program is not None
        return {
            "argv": [argument.replace(SCRATCH, scratch) for argument in job.argv],
            "environment": {name: value.replace(SCRATCH, scratch) for name, value in environment.items()},
            "files": [(name, len(content)) for name, content in job.files.items()],
            "result": job.result,
            "result_bytes": job.result_bytes,
            "scratch": scratch,
            "shared_memory": bubblewrap.SHARED_MEMORY,
            "enclosed": enclosed,
            "remove": not enclosed,
            "layers": [layer for layer in self.layers if layer != BUBBLEWRAP],
            "limits": asdict(limits),
            "allowed": [
                *((path, "read") for path in (*bubblewrap.SYSTEM, *paths) if os.path.lexists(path)),
                *((str(path), "list") for path in job.listed if path.exists()),
                *((path, "send") for path in bubblewrap.DEVICES),
                ("/tmp" if enclosed else scratch, "own"),
            ],
            "outside": self._outside,
        }


def readable(paths: Iterable[Path]) -> list[str]:
    """What a tree may read, beside the system's own: the interpreter, its packages and these; the parents first, each
    under the name that it is known by, and where that leads."""
    packages = [Path(place) for place in sys.path if place.endswith("-packages")]
    wanted = [*map(Path, (sys.prefix, sys.base_prefix, *_FILES)), *packages, *(path.absolute() for path in paths)]
    found = {str(place) for path in wanted if path.exists() for place in (path, path.resolve())}
    return sorted(place for place in found if not place.startswith("/usr/"))


def _ending(job: TreeJob, limits: TreeLimits, header: Mapping[str, Any], output: bytes, result: bytes) -> TreeEnding:
    outcome, detail = _outcome(header["stopped"], header["status"], header["too_large"], job, limits)
    return TreeEnding(
        outcome=outcome,
        detail=detail,
        status=header["status"],
        cpu_s=header["cpu_s"],
        wall_s=header["wall_s"],
        peak_memory_mb=header["peak_bytes"] / (1 << 20),
        output=output.decode(errors="replace"),
        result=None if header["result"] is None else result,
    )


def _outcome(stopped: str, status: int, too_large: bool, job: TreeJob, limits: TreeLimits) -> tuple[Outcome, str]:
    """One outcome, and a line that says why it is not ok."""
    if stopped:
        return {
            "timeout": (Outcome.TIMEOUT, f"over the limit of {limits.wall_s:g} s of wall time"),
            "cpu_limit": (Outcome.CPU_LIMIT, f"over the limit of {limits.cpu_s:g} s CPU of all its processes"),
            "oom": (Outcome.OOM, f"over the limit of {limits.memory_mb} MB of memory of all its processes"),
            "scratch": (
                Outcome.CRASH,
                f"over the limit of {limits.scratch_mb} MB of its scratch folder, or too many files in it",
            ),
        }[stopped]
    if status > 0:
        return Outcome.EXITED, f"it ended with exit status {status}"
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return Outcome.CRASH, f"it died of {name}"
    if too_large:
        return Outcome.OUTPUT_LIMIT, f"{job.result} is larger than {job.result_bytes:,} bytes"
    return Outcome.OK, ""


def establish_tree(wanted: SandboxOptions = STRONGEST) -> TreeSandbox:
    """The strongest sandbox for trees that holds here, seen to deny. Raises SandboxError that says what is missing."""
    check_level(wanted.require_level)
    reasons: list[str] = []
    return strongest(
        _options(reasons),
        TreeSandbox.verify,
        what="scripts",
        reasons=reasons,
        require_level=wanted.require_level,
        unsafe=wanted.unsafe,
    )


def _options(reasons: list[str]) -> list[TreeSandbox]:
    """Strongest first; why there is none goes to `reasons`."""
    found: list[TreeSandbox] = []
    version = tree_confine.known_landlock()
    own = (LIMITS, PRIVILEGES, *((LANDLOCK,) if version else ()), SECCOMP)
    program = bubblewrap.find()
    if program is None:
        reasons.append(NO_BUBBLEWRAP)
    else:
        found.append(TreeSandbox(level=STRONG, layers=(*own, BUBBLEWRAP), program=program))
    if version >= SCOPED_SINCE:
        found.append(TreeSandbox(level=STANDARD, layers=own))
    else:
        reasons.append("without bubblewrap a script needs Landlock with scopes, which Linux has from 6.12 on")
    return [*found, TreeSandbox(level=NONE, layers=(LIMITS,))]

"""The harness's side of a sandboxed process tree: a task's script with every process that it starts.

One process per run, `tree_init`, is around the tree (inside bubblewrap at `strong`). It writes the files, starts the
command confined, measures the tree, ends it, and returns the command's result. When the harness closes its end of the
socket, the tree ends.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluator.errors import SandboxError
from evaluator.evaluation import Outcome
from evaluator.sandbox import bubblewrap, enclosure, landlock, tree_init, tree_scratch
from evaluator.sandbox.layers import LANDLOCK, LIMITS, OF_CANDIDATE
from evaluator.sandbox.levels import NO_BUBBLEWRAP, strongest
from evaluator.sandbox.options import STRONGEST, Confinement, SandboxOptions
from evaluator.sandbox.process import ENVIRONMENT, START_S, SandboxProcess
from evaluator.sandbox.turns import Cancellation
from evaluator.signals import name_of
from evaluator.task import Limits

SCRATCH: Final = "{scratch}"
"""The scratch folder, in a command line and in values of the environment."""
_PATH: Final = ("/usr/local/bin", "/usr/bin", "/bin")
_FILES: Final = ("/etc/ld.so.cache", "/etc/alternatives")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeJob:
    """One command. `files` (paths relative to the scratch folder) are written first. The command starts in the scratch
    folder, with `environment` added to a small default one, and may read the system, the interpreter and `readable`.
    `archives` (tar files) are unpacked into it before, confined too, in order, a later one over an earlier one; neither
    time nor memory counts.
    It may list the folders `listed` (at `standard`; at `strong` they hold only what it may read). The result has at
    most `result_bytes`: the first line that was written to the descriptor in EVOLVE_RESULT_FD, else the bytes of the
    file `result` in the scratch folder, read when every process is dead."""

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    archives: tuple[Path, ...] = ()
    result: str
    result_bytes: int = 1 << 20
    readable: tuple[Path, ...] = ()
    listed: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnding:
    """How a tree ended. `outcome` is one of ok, exited, crash, timeout, cpu_limit, oom, output_limit; `status` is the
    command's exit status (minus the signal's number where one killed it); `output` the end of what all processes
    printed; `result` the bytes of the result, None where there is none (a link does not count)."""

    outcome: Outcome
    detail: str
    status: int
    cpu_s: float
    wall_s: float
    peak_memory_mb: float
    output: str
    result: bytes | None


_END_S: Final = 30.0
"""Seconds that `tree_init` may take to end everything, itself included."""
_OUTPUT_BYTES: Final = 1 << 16
"""Bytes of a tree's output that are kept, from its end."""
_PATIENT: Final = Limits(cpu_per_instance_s=10, cpu_total_s=10, wall_s=30, memory_mb=256, scratch_mb=1)


class TreeSandbox:
    """A confinement of process trees; used by several threads at once, keeps nothing open."""

    def __init__(self, confinement: Confinement) -> None:
        self.level = confinement.level
        self.layers = confinement.layers
        self._program = confinement.bubblewrap

    def run(
        self, job: TreeJob, limits: Limits, cancellation: Cancellation, *, outside: dict[str, str] | None = None
    ) -> TreeEnding:
        """Run the command and end every process of it. `outside` must be out of reach (`enclosure.check`). Raises
        SandboxError when the tree could not be confined or `tree_init` died (a fault of the machine), and
        EvaluationCancelled."""
        cancellation.check()
        paths = readable((*job.readable, *job.archives))
        script = Path(tree_init.__file__).resolve()
        package = script.parent
        own = (package, package.parent / "__init__.py", package.parent / "errors.py", bubblewrap.interpreter())
        around: list[str] = []
        if self._program is not None:
            seen = sorted({*paths, *map(str, own)})
            around = bubblewrap.tree_command(self._program, seen, scratch_mb=limits.scratch_mb)
        with self._scratch() as scratch:
            process = SandboxProcess(str(script), around, ENVIRONMENT, cancellation)
            try:
                process.send_frame(self._settings(job, limits, scratch, paths) | {"outside": outside}, START_S)
                process.send(b"".join(job.files.values()), START_S)
                answer = process.receive_frame(START_S)
                if "failed" in answer:
                    raise SandboxError(f"a sandbox could not be started: {answer['failed']}")
                header = process.receive_frame(limits.wall_total_s + _END_S)
                if "failed" in header:
                    raise SandboxError(f"a sandbox did not work: {header['failed']}")
                sizes = int(header["output"]), int(header["result"] or 0)
                if not (0 <= sizes[0] <= _OUTPUT_BYTES and 0 <= sizes[1] <= job.result_bytes):
                    raise SandboxError("a sandbox did not work: what came back is larger than it may be")
                output, result = (process.receive(size, _END_S) for size in sizes)
            finally:
                process.close(_END_S)
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

    def verify(self) -> None:
        """Run one command. Raises SandboxError when that does not work, or is not confined."""
        job = TreeJob(argv=("/bin/sh", "-c", "echo works"), result="")
        with enclosure.lure() as outside:
            enclosed = None if self._program is None else outside
            ending = self.run(job, _PATIENT, Cancellation(), outside=enclosed)
        if ending.outcome is not Outcome.OK or ending.output != "works\n":
            raise SandboxError(f"a command in the sandbox ended as {ending.outcome}: {ending.detail} {ending.output}")

    @contextlib.contextmanager
    def _scratch(self) -> Iterator[str]:
        """The scratch folder: `tree_init` makes it inside bubblewrap; otherwise it exists here, until the end."""
        if self._program is not None:
            yield bubblewrap.SCRATCH
            return
        folder = str(Path(tempfile.mkdtemp(prefix="evolve-scratch-")).resolve())
        try:
            yield folder
        finally:
            with contextlib.suppress(FileNotFoundError):  # `tree_init` has removed it
                tree_scratch.remove(folder)

    def _settings(self, job: TreeJob, limits: Limits, scratch: str, paths: list[str]) -> dict[str, Any]:
        """The first frame to `tree_init`."""
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
            "archives": [str(archive.resolve()) for archive in job.archives],
            "result": job.result,
            "result_bytes": job.result_bytes,
            "scratch": scratch,
            "shared_memory": bubblewrap.SHARED_MEMORY,
            "enclosed": enclosed,
            "remove": not enclosed,
            "layers": self.layers,
            "output_bytes": _OUTPUT_BYTES,
            "cpu_s": limits.cpu_total_s,
            "wall_s": limits.wall_total_s,
            "memory_mb": limits.memory_mb,
            "scratch_mb": limits.scratch_mb,
            "allowed": [
                *((path, "read") for path in (*bubblewrap.SYSTEM, *paths) if os.path.lexists(path)),
                *((str(path), "list") for path in job.listed if path.exists()),
                *((path, "send") for path in bubblewrap.DEVICES),
                ("/tmp" if enclosed else scratch, "own"),
            ],
        }


def readable(paths: Iterable[Path]) -> list[str]:
    """The paths that a tree may read in addition to the system's: the interpreter, its packages and `paths`; parents
    first, each as given and resolved."""
    packages = [Path(place) for place in sys.path if place.endswith("-packages")]
    wanted = [*map(Path, (sys.prefix, sys.base_prefix, *_FILES)), *packages, *(path.absolute() for path in paths)]
    places = {str(place) for path in wanted if path.exists() for place in (path, path.resolve())}
    return sorted(place for place in places if not place.startswith("/usr/"))


def _outcome(stopped: str, status: int, too_large: bool, job: TreeJob, limits: Limits) -> tuple[Outcome, str]:
    """The outcome, with a line that says why it is not ok."""
    if stopped:
        return {
            "timeout": (Outcome.TIMEOUT, f"over the limit of {limits.wall_total_s:g} s of wall time"),
            "cpu_limit": (Outcome.CPU_LIMIT, f"over the limit of {limits.cpu_total_s:g} s CPU of all its processes"),
            "oom": (Outcome.OOM, f"over the limit of {limits.memory_mb} MB of memory of all its processes"),
            "scratch": (
                Outcome.CRASH,
                f"over the limit of {limits.scratch_mb} MB of its scratch folder, or too many files in it",
            ),
        }[stopped]
    if status > 0:
        return Outcome.EXITED, f"it ended with exit status {status}"
    if status < 0:
        return Outcome.CRASH, f"it died of {name_of(-status)}"
    if too_large:
        return Outcome.OUTPUT_LIMIT, f"{job.result} is larger than {job.result_bytes:,} bytes"
    return Outcome.OK, ""


def establish_tree(wanted: SandboxOptions = STRONGEST) -> TreeSandbox:
    """The strongest sandbox for trees that works here, tested. Raises SandboxError that says what is missing."""

    def verified(confinement: Confinement) -> TreeSandbox:
        sandbox = TreeSandbox(confinement)
        sandbox.verify()
        return sandbox

    return strongest(wanted, _options, verified, "scripts")


def _options(reasons: list[str]) -> list[Confinement]:
    """The options, strongest first; why one is missing goes to `reasons`."""
    version = landlock.version()
    own = tuple(layer for layer in OF_CANDIDATE if layer != LANDLOCK or version)
    options: list[Confinement] = []
    program = bubblewrap.find()
    if program is None:
        reasons.append(NO_BUBBLEWRAP)
    else:
        options.append(Confinement(layers=own, bubblewrap=program))
    if version >= landlock.SCOPED_SINCE:
        options.append(Confinement(layers=own))
    else:
        reasons.append("without bubblewrap a script needs Landlock with scopes, which Linux has from 6.12 on")
    return [*options, Confinement(layers=(LIMITS,))]

"""Running a whole process tree in the sandbox: a script of a task, with whatever it starts. Seen from the harness.

One process per run, `tree_init`, stands around the tree (inside bubblewrap at `strong`): it writes the files, starts the
command confined, measures the tree, ends it, and hands back what the command left. Its end of a socket is all that
holds it: when the harness goes, the tree goes.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evaluator.evaluation import Outcome
from evaluator.sandbox.cancellation import Cancellation

SCRATCH: Final = "{scratch}"
"""Stands for the scratch folder, in a command line and in values of the environment."""


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
    interpreter. `result` names the file in the scratch folder whose bytes come back, at most `result_bytes`."""

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    result: str
    result_bytes: int = 1 << 20
    readable: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnding:
    """How a tree ended. `outcome` is one of ok, exited, crash, timeout, cpu_limit, oom, output_limit; `status` what the
    command ended with (minus the signal's number where one killed it); `output` the end of what all of them printed;
    `result` the bytes of the result file, None where there is none (a link is none)."""

    outcome: Outcome
    detail: str
    status: int
    cpu_s: float
    wall_s: float
    peak_memory_mb: float
    output: str
    result: bytes | None


class TreeSandbox:
    """A confinement of process trees that was seen to hold. Used by several threads at once; keeps nothing open."""

    def __init__(self, *, level: str, layers: tuple[str, ...]) -> None:
        self.level = level
        self.layers = layers

    def run(self, job: TreeJob, limits: TreeLimits, cancellation: Cancellation) -> TreeEnding:
        """Run the command and end whatever it started. Raises SandboxError when the tree could not be confined or its
        first process died (a fault of the machine), EvaluationCancelled."""
        raise NotImplementedError


def establish_tree(*, require_level: str | None, unsafe: bool) -> TreeSandbox:
    """The strongest sandbox for trees that holds here, seen to deny. Raises SandboxError that says what is missing."""
    raise NotImplementedError(os.name)

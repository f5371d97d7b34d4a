"""The harness's side of a worker: one zygote process and its socket."""

import contextlib
import select
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.errors import SandboxError, TaskError
from evaluator.sandbox import bubblewrap, enclosure, landlock, packages, zygote
from evaluator.sandbox.layers import LANDLOCK
from evaluator.sandbox.options import Confinement
from evaluator.sandbox.process import ENVIRONMENT, START_S, SandboxProcess
from evaluator.sandbox.turns import Cancellation

# Modules that the importable ones import lazily, when a candidate can open no file any more.
_PRELOAD: Final = ("_strptime", "encodings.ascii", "encodings.latin_1", "unicodedata", "linecache", "collections.abc")
_ANSWER_S: Final = 20.0
"""Seconds after which a zygote counts as dead (a fork takes a millisecond)."""
_FIRST_TO_GO: Final = ("/bin/sh", "-c", '{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null; exec "$@"', "sh")
"""Starts a command such that the kernel, when memory runs out, ends it and its candidates before the user's other
processes. A candidate could not arrange that itself (bubblewrap hides /proc). Nothing is lost: it is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """The settings that a worker prepares for its candidates."""

    entry_point: str
    adapter_source: str
    packages: tuple[str, ...]
    memory_mb: int
    cpu_total_s: float
    answer_bytes: int = 64 * 1024
    adapter_file: str = "adapter.py"  # as messages name it
    item_by_item: bool = False  # whether instances are asked so, and the adapter defines begin()
    hash_seed: int = 0  # fixed: sets of strings must iterate in the same order in every process

    def document(
        self, confinement: Confinement, layers: Sequence[str], outside: dict[str, str] | None
    ) -> dict[str, Any]:
        """The first frame to a zygote. Raises SandboxError when a package is not installed."""
        return {
            "entry_point": self.entry_point,
            "adapter": self.adapter_source,
            "adapter_function": "begin" if self.item_by_item else "prepare",
            "importable": sorted(confinement.importable),
            "available": sorted([*confinement.importable, *packages.names(self.packages)]),
            "preload": _PRELOAD,
            "packages": packages.modules(self.packages),
            "path": packages.path(self.packages),
            "layers": layers,
            "answer_bytes": self.answer_bytes,
            "memory_mb": self.memory_mb,
            "cpu_total_s": self.cpu_total_s,
            "outside": outside,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a candidate's process ended: its wait status, total CPU seconds and peak memory."""

    status: int
    cpu_s: float
    peak_memory_mb: float


class Worker(SandboxProcess):
    """One zygote, ready for candidates. Each puts on `layers`: those asked for, without Landlock where the kernel has
    none. A worker is useless once a wait has raised."""

    def __init__(
        self, settings: WorkerSettings, confinement: Confinement, cancellation: Cancellation | None = None
    ) -> None:
        """Start it, and wait until it is ready. Raises SandboxError, TaskError if the adapter does not load, and
        EvaluationCancelled."""
        self.candidates = 0
        self.retired = False  # set after anything suspicious: no further candidate may follow
        self.layers = tuple(layer for layer in confinement.layers if layer != LANDLOCK or landlock.version())
        around: list[str] = []
        if confinement.bubblewrap is not None:
            folders = packages.folders(settings.packages)
            around = bubblewrap.command(confinement.bubblewrap, bubblewrap.interpreter(), folders)
        super().__init__(
            str(Path(zygote.__file__).resolve()),
            [*_FIRST_TO_GO, *around],
            {**ENVIRONMENT, "PYTHONHASHSEED": str(settings.hash_seed)},  # which `-I` would ignore
            Cancellation() if cancellation is None else cancellation,
        )
        try:
            with enclosure.lure() as outside:
                enclosed = None if confinement.bubblewrap is None else outside
                self.send_frame(settings.document(confinement, self.layers, enclosed), START_S)
                answer = self.receive_frame(START_S)
        except BaseException:  # boundary: interrupted or cancelled, no process may be left behind
            self.close()
            raise
        if "failed" in answer:
            self.close()
            if answer["adapter"]:
                raise TaskError(f"{settings.adapter_file}{answer['failed']}")
            raise SandboxError(f"a worker could not be started: {answer['failed']}")

    def spawn(self, request: int, reply: int) -> int:
        """Fork a candidate that holds the two descriptors; its pidfd. Raises SandboxError, EvaluationCancelled."""
        self.candidates += 1
        try:
            socket.send_fds(self.control, [zygote.SPAWN], [request, reply])
            self.wait(_ANSWER_S)
            answer, descriptors, _, _ = socket.recv_fds(self.control, 1, 1)
        except OSError as cause:
            raise SandboxError(f"the worker does not answer ({type(cause).__name__})") from None
        if answer != zygote.SPAWNED or len(descriptors) != 1:
            raise SandboxError("the worker has ended")
        return descriptors[0]

    def reap(self) -> Ending:
        """Collect the candidate, which has ended or has been killed. Raises SandboxError, EvaluationCancelled."""
        self.send(zygote.REAP, _ANSWER_S)
        status, cpu_s, peak_kib = zygote.ENDING.unpack(self.receive(zygote.ENDING.size, _ANSWER_S))
        return Ending(status=status, cpu_s=cpu_s, peak_memory_mb=peak_kib / 1024)


def kill(pidfd: int) -> None:
    """Kill the process behind `pidfd`, unless it has ended."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def has_ended(pidfd: int, within_s: float) -> bool:
    """Whether the process behind `pidfd` ends by itself within some seconds."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(within_s * 1000))


def process_id(pidfd: int) -> int:
    """The process id behind `pidfd` in this process's namespace; -1 when it has ended."""
    with open(f"/proc/self/fdinfo/{pidfd}", "rb") as info:  # noqa: PTH123 (once per candidate)
        for line in info:
            if line.startswith(b"Pid:"):
                return int(line[4:])
    return -1

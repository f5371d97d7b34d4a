"""A worker, seen from the harness: one zygote process and the socket that steers it."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.errors import SandboxError, TaskError
from evaluator.sandbox import bubblewrap, packages, zygote
from evaluator.sandbox.cancellation import SLICE_S, Cancellation
from evaluator.sandbox.layers import mask_of
from evaluator.sandbox.options import Confinement

# What the importable modules would import lazily, at a moment when a candidate can open no file any more.
_PRELOAD: Final = ("_strptime", "encodings.ascii", "encodings.latin_1", "unicodedata", "linecache", "collections.abc")
_ANSWER_S: Final = 20.0
"""How long a zygote may take to answer before it counts as dead (a fork takes a millisecond)."""
_START_S: Final = 60.0
_GRACE_S: Final = 1.0
"""How long a zygote that has closed its socket may take to end."""

ENVIRONMENT: Final = {
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",  # threads cannot be forked, and would hide CPU time
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""The whole environment of a worker, but for PYTHONHASHSEED (which `-I` would ignore)."""


_FIRST_TO_GO: Final = ("/bin/sh", "-c", '{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null; exec "$@"', "sh")
"""Starts what follows so that the kernel, when memory runs out, ends it and its candidates before anything else of the
user: a candidate cannot ask for that itself (behind bubblewrap is no /proc). Nothing is lost: it is tried again."""


class WorkerDiedError(Exception):
    """Raised when a zygote is gone or silent: the harness's fault, never the candidate's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What a worker prepares for its candidates."""

    entry_point: str
    adapter_source: str
    packages: tuple[str, ...]
    memory_mb: int
    cpu_total_s: float
    answer_bytes: int = 64 * 1024
    adapter_file: str = "adapter.py"  # as messages name it
    item_by_item: bool = False  # whether its programs are asked so, and its adapter defines begin()
    hash_seed: int = 0  # sets of strings must iterate alike in every process

    def encoded(self, confinement: Confinement, outside: dict[str, str] | None) -> bytes:
        """The frame that a zygote reads first. Raises SandboxError when a package is not installed."""
        document = {
            "entry_point": self.entry_point,
            "adapter": self.adapter_source,
            "adapter_function": "begin" if self.item_by_item else "prepare",
            "importable": sorted(confinement.importable),
            "available": sorted([*confinement.importable, *packages.names(self.packages)]),
            "preload": _PRELOAD,
            "packages": packages.modules(self.packages),
            "path": packages.path(self.packages),
            "answer_bytes": self.answer_bytes,
            "memory_mb": self.memory_mb,
            "cpu_total_s": self.cpu_total_s,
            "outside": outside,
        }
        text = json.dumps(document).encode()
        return len(text).to_bytes(4, "big") + text


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a candidate's process ended: the wait status, its CPU seconds in all, its peak memory."""

    status: int
    cpu_s: float
    peak_memory_mb: float


class Worker:
    """One zygote. Used by one thread at a time; `ready()` waits until it has loaded, and raises if it has not.

    `layers` are asked of each candidate; with `expected` set, a candidate that puts on others is refused. Every wait
    ends with EvaluationCancelled once `cancellation` is set; the worker is of no use then. `kill` alone may be called
    by another thread.
    """

    def __init__(
        self, settings: WorkerSettings, confinement: Confinement, cancellation: Cancellation | None = None
    ) -> None:
        self.cancellation = Cancellation() if cancellation is None else cancellation
        self._adapter_file = settings.adapter_file
        self._ending = threading.Lock()
        self.candidates = 0
        self.retired = False  # set by whoever saw something that it should not go on after
        self.layers: tuple[str, ...] = confinement.layers
        self.expected: tuple[str, ...] | None = None
        self._started = False
        self._lure: socket.socket | None = None
        outside = None
        if confinement.bubblewrap is not None:
            self._lure = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            name = f"evolve-{os.urandom(8).hex()}"
            self._lure.bind("\0" + name)
            outside = {"file": str(Path(__file__).resolve().parent.parent / "task.py"), "socket_name": name}
        configuration = settings.encoded(confinement, outside)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self._control, theirs = socket.socketpair()
        command = self._command(settings, confinement, theirs.fileno())
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env={**ENVIRONMENT, "PYTHONHASHSEED": str(settings.hash_seed)},
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C at the terminal is for the harness alone
            )
        except OSError as cause:
            self._control.close()
            self._errors.close()
            raise SandboxError(f"a worker cannot be started: {command[0]}: {cause.strerror}") from None
        finally:
            theirs.close()
        self._poll = select.poll()
        self._poll.register(self._control, select.POLLIN)
        self._control.settimeout(_START_S)
        with contextlib.suppress(OSError):  # it has ended already: `ready` tells why
            self._control.sendall(configuration)
        self._control.settimeout(None)  # from now on waiting is `_wait`'s

    @staticmethod
    def _command(settings: WorkerSettings, confinement: Confinement, control: int) -> list[str]:
        interpreter = bubblewrap.interpreter()
        around: list[str] = []
        if confinement.bubblewrap is not None:
            folders = packages.folders(settings.packages)
            around = bubblewrap.command(confinement.bubblewrap, interpreter, folders)
        script = Path(zygote.__file__).resolve()
        return [*_FIRST_TO_GO, *around, interpreter, "-s", "-S", "-P", "-B", str(script), str(control)]

    def ready(self) -> None:
        """Wait until the zygote has loaded; it is closed when it has not. Raises SandboxError with its reason,
        TaskError if it is the adapter, EvaluationCancelled."""
        if self._started:
            return
        try:
            document = self._first_frame()
        except (OSError, ValueError) as cause:
            document = {"failed": self._last_words() or f"no answer ({type(cause).__name__})", "adapter": False}
        except BaseException:  # boundary: interrupted or cancelled, no process may be left behind
            self.close()
            raise
        finally:
            if self._lure is not None:
                self._lure.close()
                self._lure = None
        if document.get("started"):
            self._started = True
            return
        self.close()
        if document["adapter"]:
            raise TaskError(f"{self._adapter_file}{document['failed']}")
        raise SandboxError(f"a worker could not be started: {document['failed']}")

    def _first_frame(self) -> dict[str, Any]:
        self._wait(_START_S)
        header = self._control.recv(4, socket.MSG_WAITALL)
        text = self._control.recv(int.from_bytes(header, "big"), socket.MSG_WAITALL)
        document: dict[str, Any] = json.loads(text)
        return document

    def spawn(self, request: int, reply: int) -> int:
        """Fork a candidate that holds the two descriptors; its pidfd. Raises WorkerDiedError, EvaluationCancelled."""
        self.candidates += 1
        try:
            socket.send_fds(self._control, [zygote.SPAWN + mask_of(self.layers)], [request, reply])
            self._wait(_ANSWER_S)
            answer, descriptors, _, _ = socket.recv_fds(self._control, 1, 1)
        except OSError as cause:
            raise WorkerDiedError(f"the worker does not answer ({type(cause).__name__})") from None
        if answer != zygote.SPAWNED or len(descriptors) != 1:
            raise WorkerDiedError("the worker has ended")
        return descriptors[0]

    def reap(self) -> Ending:
        """Collect the candidate, which has ended or has been killed. Raises WorkerDiedError, EvaluationCancelled."""
        received = b""
        try:
            self._control.sendall(zygote.REAP)
            while len(received) < zygote.ENDING.size:
                self._wait(_ANSWER_S)
                chunk = self._control.recv(zygote.ENDING.size - len(received))
                if not chunk:
                    raise WorkerDiedError("the worker has ended")
                received += chunk
        except OSError as cause:
            raise WorkerDiedError(f"the worker does not answer ({type(cause).__name__})") from None
        status, cpu_s, peak_kib = zygote.ENDING.unpack(received)
        return Ending(status=status, cpu_s=cpu_s, peak_memory_mb=peak_kib / 1024)

    def _wait(self, seconds: float) -> None:
        """Wait until there is something to receive, or the end of it. Raises TimeoutError, EvaluationCancelled."""
        if self._poll.poll(SLICE_S * 1000):  # an answer that comes at once is taken even from a cancelled evaluation
            return
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.cancellation.check()
            if self._poll.poll(SLICE_S * 1000):
                return
        raise TimeoutError

    def kill(self) -> None:
        """End the zygote, its candidate with it, and whatever waits for either."""
        with self._ending:
            if self._process.returncode is None:
                # The whole group: behind bubblewrap the zygote is not the process that was started.
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def close(self) -> None:
        """End the zygote, and with it whatever candidate it has."""
        self.kill()
        self._control.close()
        if self._lure is not None:
            self._lure.close()
        self._errors.close()

    def _last_words(self) -> str:
        """How it ended, and what it said; empty when it has not ended."""
        with contextlib.suppress(subprocess.TimeoutExpired), self._ending:
            self._process.wait(timeout=_GRACE_S)
            self._errors.seek(0)
            text = self._errors.read()[-500:].decode(errors="replace").strip()
            return f"it ended with status {self._process.returncode}: {text}"
        return ""


def kill(pidfd: int) -> None:
    """Kill the process behind `pidfd`, for certain; a process that has ended is left as it is."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def has_ended(pidfd: int, within_s: float) -> bool:
    """Whether the process behind `pidfd` ends by itself within so many seconds."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(within_s * 1000))


def process_id(pidfd: int) -> int:
    """The process id behind `pidfd` as this process sees it, whatever namespace it came from; -1 when it has ended."""
    with open(f"/proc/self/fdinfo/{pidfd}", "rb") as info:  # noqa: PTH123 (once per candidate)
        for line in info:
            if line.startswith(b"Pid:"):
                return int(line[4:])
    return -1

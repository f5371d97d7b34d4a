"""The harness's side of a process of this package that runs untrusted code (`zygote`, `tree_init`): starts it, talks to
it, ends it."""

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
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evaluator.errors import SandboxError
from evaluator.sandbox import bubblewrap
from evaluator.sandbox.turns import SLICE_S, Cancellation

START_S: Final = 60.0
"""Seconds that such a process may take to load and to confine what it starts."""
_FRAME_BYTES: Final = 1 << 16
ENVIRONMENT: Final = {
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",  # threads cannot be forked, and would hide CPU time
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""The environment of every process in a sandbox."""


class SandboxProcess:
    """A process on one socket; it ends everything when the harness closes its end. Used by one thread at a time, `kill`
    excepted. A wait raises EvaluationCancelled once `cancellation` is set, and SandboxError after its time."""

    def __init__(
        self, script: str, around: Sequence[str], environment: Mapping[str, str], cancellation: Cancellation
    ) -> None:
        """Start a script of this package with this interpreter, inside the command `around`. Raises SandboxError."""
        self.cancellation = cancellation
        self._ending = threading.Lock()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self.control, theirs = socket.socketpair()
        command = [*around, bubblewrap.interpreter(), "-s", "-S", "-P", "-B", script, str(theirs.fileno())]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=environment,
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C at the terminal is for the harness alone
            )
        except OSError as cause:
            self.control.close()
            self._errors.close()
            raise SandboxError(f"a sandbox cannot be started: {command[0]}: {cause.strerror}") from None
        finally:
            theirs.close()
        self.control.setblocking(False)

    def wait(self, seconds: float, event: int = select.POLLIN) -> None:
        """Wait until the socket can be read, has ended, or (POLLOUT) can be written."""
        poll = select.poll()
        poll.register(self.control, event)
        deadline = time.monotonic() + seconds
        while not poll.poll(SLICE_S * 1000):
            self.cancellation.check()
            if time.monotonic() > deadline:
                raise SandboxError("a sandbox does not answer")

    def send(self, data: bytes, seconds: float) -> None:
        """Send all of `data`."""
        unsent = memoryview(data)
        while unsent:
            self.wait(seconds, select.POLLOUT)
            try:
                unsent = unsent[self.control.send(unsent) :]
            except BlockingIOError:
                continue
            except OSError:
                raise SandboxError(f"a sandbox could not be started: {self._describe_end()}") from None

    def send_frame(self, document: Mapping[str, Any], seconds: float) -> None:
        """Send a document."""
        text = json.dumps(document).encode()
        self.send(len(text).to_bytes(4, "big") + text, seconds)

    def receive(self, size: int, seconds: float) -> bytes:
        """Receive exactly `size` bytes."""
        received = bytearray()
        while len(received) < size:
            self.wait(seconds)
            try:
                chunk = self.control.recv(size - len(received))
            except OSError:
                chunk = b""
            if not chunk:
                raise SandboxError(f"a sandbox has ended by itself: {self._describe_end()}")
            received += chunk
        return bytes(received)

    def receive_frame(self, seconds: float) -> dict[str, Any]:
        """Receive a document."""
        size = int.from_bytes(self.receive(4, seconds), "big")
        if size > _FRAME_BYTES:
            raise SandboxError("a sandbox did not work: what came back is no answer")
        document: dict[str, Any] = json.loads(self.receive(size, seconds))
        return document

    def kill(self) -> None:
        """End it now, with everything that it runs."""
        self._wait_or_kill(0)

    def close(self, within_s: float = 0) -> None:
        """Close the harness's end, wait for the process to end by itself, then kill it."""
        self.control.close()
        try:
            self._wait_or_kill(within_s)
        except KeyboardInterrupt:  # again, so that nothing survives Ctrl-C
            self._wait_or_kill(within_s)
            raise
        finally:
            self._errors.close()

    def _wait_or_kill(self, within_s: float) -> None:
        with self._ending:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(within_s)
            if self._process.returncode is None:
                # The whole group: behind bubblewrap the script is not the process that was started.
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def _describe_end(self) -> str:
        """Its exit status, and the end of its error output."""
        with self._ending:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            self._errors.seek(0)
            text = self._errors.read()[-500:].decode(errors="replace").strip()
            return f"status {self._process.returncode}: {text}"

"""A `tree_init` seen from the harness: the process, the socket that holds it, and its scratch folder."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evaluator.errors import SandboxError
from evaluator.sandbox import bubblewrap, tree_init, tree_scratch
from evaluator.sandbox.cancellation import SLICE_S, Cancellation
from evaluator.sandbox.worker import ENVIRONMENT

_START_S: Final = 60.0
_END_S: Final = 30.0
"""How long `tree_init` may take to end everything and to go."""
_HEADER_BYTES: Final = 1 << 16


class TreeProcess:
    """Of one run. Its scratch folder is there from the beginning, and gone at the end of the `with` block, like every
    process of the tree. `program` is bubblewrap's, None for none."""

    def __init__(self, program: str | None) -> None:
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._control, self._theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `__exit__`)
        self.scratch = bubblewrap.SCRATCH
        if program is None:
            self.scratch = str(Path(tempfile.mkdtemp(prefix="evolve-scratch-")).resolve())

    def __enter__(self) -> "TreeProcess":
        return self

    def __exit__(self, *_: object) -> None:
        """End it all: `tree_init` does so when the harness's end is closed."""
        self._theirs.close()
        self._control.close()
        if self._process is not None:
            try:
                self._go(self._process)
            except KeyboardInterrupt:  # once more, so that nothing survives that
                self._go(self._process)
                raise
        self._errors.close()
        if self._program is None:
            with contextlib.suppress(FileNotFoundError):  # `tree_init` has removed it
                tree_scratch.remove(self.scratch)

    @staticmethod
    def _go(process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # bubblewrap's own process, and `tree_init` behind it
            process.wait()

    def start(
        self, settings: Mapping[str, Any], files: Mapping[str, bytes], readable: list[str], cancellation: Cancellation
    ) -> None:
        """Start it, and wait until the command has been started, confined. Raises SandboxError, EvaluationCancelled."""
        interpreter = bubblewrap.interpreter()
        script = Path(tree_init.__file__).resolve()
        around: list[str] = []
        if self._program is not None:
            package = script.parent
            beside = (package.parent / "__init__.py", package.parent / "errors.py")
            own = (str(package), *map(str, beside), interpreter)
            room = settings["limits"]["scratch_mb"]
            around = bubblewrap.tree_command(self._program, sorted({*readable, *own}), scratch_mb=room)
        command = [*around, interpreter, "-s", "-S", "-P", "-B", str(script), str(self._theirs.fileno())]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=ENVIRONMENT,
                cwd="/",
                pass_fds=[self._theirs.fileno()],
                start_new_session=True,  # Ctrl-C at the terminal is for the harness alone
            )
        except OSError as cause:
            raise SandboxError(f"a sandbox cannot be started: {command[0]}: {cause.strerror}") from None
        self._theirs.close()
        text = json.dumps(settings).encode()
        self._control.setblocking(False)
        deadline = time.monotonic() + _START_S
        for part in (len(text).to_bytes(4, "big") + text, *files.values()):
            self._send(part, deadline, cancellation)
        header = self._frame(deadline, cancellation)
        if not header.get("started"):
            raise SandboxError(f"a sandbox could not be started: {header.get('failed', 'no reason is known')}")

    def wait(self, limits_s: float, most: tuple[int, int], cancellation: Cancellation) -> tuple[Any, bytes, bytes]:
        """The header of the ending, the output and the result, which may have at most so many bytes. Raises
        SandboxError, EvaluationCancelled."""
        deadline = time.monotonic() + limits_s + _END_S
        header = self._frame(deadline, cancellation)
        if "failed" in header:
            raise SandboxError(f"a sandbox did not work: {header['failed']}")
        sizes = (int(header["output"]), int(header["result"] or 0))
        if any(not 0 <= size <= bound for size, bound in zip(sizes, most, strict=True)):
            raise SandboxError("a sandbox did not work: what came back is larger than it may be")
        output, result = (self._receive(size, deadline, cancellation) for size in sizes)
        return header, output, result

    def _send(self, part: bytes, deadline: float, cancellation: Cancellation) -> None:
        unsent = memoryview(part)
        while unsent:
            self._until(select.POLLOUT, deadline, cancellation)
            try:
                unsent = unsent[self._control.send(unsent) :]
            except BlockingIOError:
                continue
            except OSError:
                raise SandboxError(f"a sandbox could not be started: {self._last_words()}") from None

    def _frame(self, deadline: float, cancellation: Cancellation) -> dict[str, Any]:
        size = int.from_bytes(self._receive(4, deadline, cancellation), "big")
        if size > _HEADER_BYTES:
            raise SandboxError("a sandbox did not work: what came back is no answer")
        document: dict[str, Any] = json.loads(self._receive(size, deadline, cancellation))
        return document

    def _receive(self, size: int, deadline: float, cancellation: Cancellation) -> bytes:
        received = bytearray()
        while len(received) < size:
            self._until(select.POLLIN, deadline, cancellation)
            try:
                chunk = self._control.recv(size - len(received))
            except BlockingIOError:
                continue
            except OSError:
                chunk = b""
            if not chunk:
                raise SandboxError(f"a sandbox has ended by itself: {self._last_words()}")
            received += chunk
        return bytes(received)

    def _until(self, event: int, deadline: float, cancellation: Cancellation) -> None:
        poll = select.poll()
        poll.register(self._control, event)
        while not poll.poll(SLICE_S * 1000):
            cancellation.check()
            if time.monotonic() > deadline:
                raise SandboxError("a sandbox does not answer")

    def _last_words(self) -> str:
        """How it ended, and what it said."""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._errors.seek(0)
        text = self._errors.read()[-500:].decode(errors="replace").strip()
        return f"status {self._process.returncode}: {text}"

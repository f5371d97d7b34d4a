"""Git processes on the objects of a run: one that reads them, and the packing.

The folder may be somebody else's. So git never sees its configuration, refs or hooks: it works in an empty repository
of our own, `empty.git`, and gets the folder of the objects alone. It gets almost nothing of this process's environment:
neither the user's settings for git nor a model's key. An object that would need more than ALLOCATED bytes ends that
process.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.archive.disk import os_errors_as_machine_errors
from evolve.core.errors import ArchiveError, MachineError

MAX_OBJECT: Final = 16 * 1024 * 1024
"""Bytes of an object. An answer has at most a million characters, a program 64 KB."""
ALLOCATED: Final = 4 * MAX_OBJECT
_PACKING: Final = 16 * ALLOCATED
"""Bytes that the packing may allocate at once: its table of objects takes about 100 bytes each."""
_HOME: Final = Path(__file__).with_name("empty.git")
"""An empty repository. A file in `refs` keeps that folder in version control; its leading dot makes it no ref."""
_SETTINGS: Final = {
    "core.commitGraph": "false",
    "core.fsync": "all",
    "core.multiPackIndex": "false",
    "gc.auto": "0",
    "pack.threads": "1",
    "repack.writeBitmaps": "false",
    "repack.updateServerInfo": "false",
}
_GIVEN: Final = {
    "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
    **{f"GIT_CONFIG_KEY_{number}": key for number, key in enumerate(_SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_SETTINGS.values())},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_DIR": str(_HOME),
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_KEPT: Final = ("PATH", "LD_LIBRARY_PATH")
"""The variables that git needs to be found and started."""
_STALE: Final = ("tmp_", ".tmp-")
"""Prefixes of unfinished files in the folder of packs."""


class Unsound(ValueError):
    """Raised for an object that is damaged, or larger than any of ours."""


class Git:
    """Git for one folder of objects. Used from one thread or many; started when it is first needed."""

    def __init__(self, objects: Path) -> None:
        self._objects = objects
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._packing: Any = None  # a `git repack` under way

    def read(self, name: str) -> tuple[bytes, bytes] | None:
        """Kind and content of an object; None when there is none. Raises Unsound, MachineError."""
        with self._lock:
            for _ in range(2):  # a process may end for another reason than this object
                with contextlib.suppress(BrokenPipeError, EOFError):
                    return self._read(name.encode("ascii"))
        raise Unsound("git cannot read it")

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of `names` for which there is no object. Raises ArchiveError, MachineError."""
        with self._started("--batch-check=%(objectname)") as process:
            answers, _ = process.communicate("\n".join(names).encode("ascii", "replace") + b"\n")
        if process.returncode < 0:
            raise MachineError(f"{self._objects}: git was ended by signal {-process.returncode}; try again")
        if process.returncode:
            raise ArchiveError(f"{self._objects}: git cannot read it; restore the folder from a copy")
        return [line.removesuffix(b" missing").decode() for line in answers.splitlines() if line.endswith(b" missing")]

    def begin_packing(self) -> None:
        """Begin to pack the loose objects, and to merge packs so that each is twice as large as the next, in a process
        of its own. Nothing is removed before its replacement is on the disk. Raises MachineError."""
        require_git()
        # GitPython passes on all of our environment, whatever it is given.
        exact = ["/usr/bin/env", "-i", *map("=".join, self._environment(_PACKING).items())]
        try:
            from git import Git as Command

            command = [*exact, "git", "repack", "-d", "-q", "--geometric=2"]
            self._packing = Command(_HOME).execute(command, as_process=True, start_new_session=True)
        except (ImportError, OSError) as cause:
            why = str(cause).partition("\n")[0]
            raise MachineError(f"{self._objects}: cannot be packed ({why})") from None

    def is_packing(self, *, wait: bool = False) -> bool:
        """Whether objects are being packed; never after a `wait`. Raises MachineError where it ended and had failed."""
        process = self._packing
        if process is None or (not wait and process.poll() is None):
            return process is not None
        try:
            _, stderr = process.communicate()
        except BaseException:  # boundary: whatever happened, no child process stays
            self._stop_packing()
            raise
        self._packing = None
        with self._lock:
            self._end()  # the reading process has removed packs open
        if process.returncode:
            why = one_line(stderr.decode("utf-8", "replace").strip(), 300)
            raise MachineError(f"{self._objects}: git repack failed ({why})")
        return False

    def sweep(self) -> None:
        """Remove what a killed `pack` left; needs the run's lock. A git that survived and still packs there will fail
        before it removes anything. Raises OSError."""
        for path in (self._objects / "pack").iterdir():
            if path.name.startswith(_STALE):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """End the processes. Harmless when done twice."""
        self._stop_packing()
        with self._lock:
            self._end()

    def _stop_packing(self) -> None:
        process, self._packing = self._packing, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.communicate()

    def _read(self, name: bytes) -> tuple[bytes, bytes] | None:
        """Raises BrokenPipeError, EOFError where the process has ended."""
        if self._process is None:
            self._process = self._started("--batch")
        try:
            return _answer(self._process, name)
        except BaseException:  # boundary: its next output would be taken for the answer to another question
            self._end()
            raise

    def _started(self, argument: str) -> "subprocess.Popen[bytes]":
        require_git()
        with os_errors_as_machine_errors(self._objects, "read by git"):
            return subprocess.Popen(
                ["git", "cat-file", argument],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=_HOME,
                env=self._environment(ALLOCATED),
                start_new_session=True,  # Ctrl-C is for us
            )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):  # unsent bytes
                stream.close()
        process.wait()

    def _environment(self, limit: int) -> dict[str, str]:
        """The whole environment of a git process, which allocates at most `limit` bytes at once."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return kept | _GIVEN | {"GIT_ALLOC_LIMIT": str(limit), "GIT_OBJECT_DIRECTORY": str(self._objects.absolute())}


def require_git() -> None:
    """Raises MachineError where git is not installed."""
    if shutil.which("git") is None:
        raise MachineError("git is not installed, and a run's programs are kept in it; install git, then try again")


def _answer(process: "subprocess.Popen[bytes]", name: bytes) -> tuple[bytes, bytes] | None:
    source, answers = process.stdin, process.stdout
    assert source is not None
    assert answers is not None
    source.write(name + b"\n")
    source.flush()
    head = answers.readline(200).split()
    if head == [name, b"missing"]:
        return None
    if len(head) != 3 or head[0] != name:
        raise EOFError
    kind, size = head[1], int(head[2])
    if size > MAX_OBJECT:
        raise Unsound(f"it is larger than {MAX_OBJECT} bytes, the most for an object of a run")
    content = answers.read(size + 1)
    if len(content) != size + 1:
        raise EOFError
    return kind, content[:-1]

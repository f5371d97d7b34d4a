"""Git at work on the objects of a run: one process that reads them, and the packing.

The folder may be somebody else's. So git never sees its configuration, refs or hooks: it works in an empty repository
of our own, `empty.git`, and is given the folder of the objects alone. Of this process's environment it gets next to
nothing: neither what the user has set for git, nor the key of a model. An object that would need more than ALLOCATED
bytes ends the process and not the machine.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from evaluator.untrusted import one_line
from evolve.archive.disk import using
from evolve.core.errors import ArchiveError, MachineError

MAX_OBJECT: Final = 16 * 1024 * 1024
"""Bytes of an object. An answer has at most a million characters, a program 64 KB."""
ALLOCATED: Final = 4 * MAX_OBJECT
_PACKING: Final = 16 * ALLOCATED
"""What the packing may allocate at once: its table of objects has about 100 bytes for each."""
_HOME: Final = Path(__file__).with_name("empty.git")
"""A repository without anything. Its `refs` holds a file, so that it is kept: to git, a dot makes it no ref."""
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
"""What of our environment finds git, and lets it start."""
_STALE: Final = ("tmp_", ".tmp-")
"""What git calls a file in the folder of packs that is not whole."""


class Unsound(ValueError):
    """Raised for an object that is damaged, or larger than any of ours."""


class Git:
    """Git for one folder of objects. Used from one thread or many; started when it is first needed."""

    def __init__(self, objects: Path) -> None:
        self._objects = objects
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def read(self, name: str) -> tuple[bytes, bytes] | None:
        """Kind and content of an object; None when there is none. Raises Unsound, MachineError."""
        with self._lock:
            for _ in range(2):  # a process may end for what is no fault of the object
                with contextlib.suppress(BrokenPipeError, EOFError):
                    return self._read(name.encode("ascii"))
        raise Unsound("it is nothing that git can read")

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of `names` for which there is no object. Raises ArchiveError, MachineError."""
        with self._started("--batch-check=%(objectname)") as process:
            answers, _ = process.communicate("\n".join(names).encode("ascii", "replace") + b"\n")
        if process.returncode < 0:
            raise MachineError(f"{self._objects}: git was ended by signal {-process.returncode}; try again")
        if process.returncode:
            raise ArchiveError(f"{self._objects}: git cannot read it; restore the folder from a copy")
        return [line.removesuffix(b" missing").decode() for line in answers.splitlines() if line.endswith(b" missing")]

    def pack(self) -> None:
        """Put the loose objects into a pack, and merge packs so that each is twice as large as the next one. Nothing
        is removed before the disk has what takes its place. Raises MachineError."""
        require_git()
        # GitPython hands on all of our environment, whatever it is given.
        exact = ["/usr/bin/env", "-i", *map("=".join, self._environment(_PACKING).items())]
        try:
            from git import Git as Command

            command = [*exact, "git", "repack", "-d", "-q", "--geometric=2"]
            process = Command(_HOME).execute(command, as_process=True, start_new_session=True)
        except (ImportError, OSError) as cause:
            why = str(cause).partition("\n")[0]
            raise MachineError(f"{self._objects}: cannot be packed ({why})") from None
        try:
            _, said = process.communicate()
        except BaseException:  # boundary: whatever happened, no child of ours goes on alone
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.communicate()
            raise
        self.close()  # it has packs open that are gone
        if process.returncode:
            why = one_line(said.decode("utf-8", "replace").strip(), 300)
            raise MachineError(f"{self._objects}: git repack failed ({why})")

    def sweep(self) -> None:
        """Remove what a killed `pack` left. Only who holds the run's lock may do that. If git still packs there, since
        only we were killed, it fails before it removes anything. Raises OSError."""
        for path in (self._objects / "pack").iterdir():
            if path.name.startswith(_STALE):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """End the process. Harmless when done twice."""
        with self._lock:
            self._end()

    def _read(self, name: bytes) -> tuple[bytes, bytes] | None:
        """Raises BrokenPipeError, EOFError where the process has ended."""
        if self._process is None:
            self._process = self._started("--batch")
        try:
            return _answer(self._process, name)
        except BaseException:  # boundary: what it says next would be taken for the answer to another question
            self._end()
            raise

    def _started(self, argument: str) -> "subprocess.Popen[bytes]":
        require_git()
        with using(self._objects, "read by git"):
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
            with contextlib.suppress(OSError):  # what was not sent to it
                stream.close()
        process.wait()

    def _environment(self, limit: int) -> dict[str, str]:
        """All that git gets; no allocation of it is larger than `limit`."""
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
        raise Unsound(f"it is larger than {MAX_OBJECT} bytes, and no object of a run is")
    content = answers.read(size + 1)
    if len(content) != size + 1:
        raise EOFError
    return kind, content[:-1]

"""Git at work on the objects of a run: one process that reads them, and the packing.

The folder may be somebody else's. So git never sees its configuration, refs or hooks: it works in an empty repository
of our own, and is given the folder of the objects alone. What the user has set for git does not count. An object that
would need more than ALLOCATED bytes ends the process and not the machine.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from evolve.errors import ArchiveError, MachineError

MAX_OBJECT: Final = 16 * 1024 * 1024
"""Bytes of an object. An answer has at most a million characters, a program 64 KB."""
ALLOCATED: Final = 4 * MAX_OBJECT
_SETTINGS: Final = {
    "core.commitGraph": "false",
    "core.fsync": "all",
    "core.multiPackIndex": "false",
    "gc.auto": "0",
    "pack.threads": "1",
    "repack.writeBitmaps": "false",
    "repack.updateServerInfo": "false",
}
_PAIR: Final = ("KEY", "VALUE")
_BLANKED: Final = {
    "GIT_ALLOC_LIMIT": str(ALLOCATED),
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
    "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_PARAMETERS": "",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
"""What git gets beside its settings. GitPython hands on the environment of this process: so none is left as it was."""
_STALE: Final = ("tmp_", ".tmp-")
"""What git calls a file in the folder of packs that is not whole."""


class Unsound(ValueError):
    """Raised for an object that is damaged, or larger than any of ours."""


class Git:
    """Git for one folder of objects. Used from one thread or many; started when it is first needed."""

    def __init__(self, objects: Path) -> None:
        self._objects = objects
        self._home: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def read(self, name: str) -> tuple[bytes, bytes] | None:
        """Kind and content of an object; None when there is none. Raises Unsound, ArchiveError, MachineError."""
        with self._lock:
            try:
                return self._read(name.encode("ascii"))
            except (OSError, ValueError) as cause:
                self._end()
                raise Unsound(str(cause) or "git could not read it") from None

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of `names` for which there is no object. Raises ArchiveError, MachineError."""
        asked = "\n".join(names).encode("ascii", "replace") + b"\n"
        done = self._run(["cat-file", "--batch-check=%(objectname)"], asked)
        return [line.removesuffix(b" missing").decode() for line in done.splitlines() if line.endswith(b" missing")]

    def pack(self) -> None:
        """Put the loose objects into a pack, and merge packs so that each is twice as large as the next one. Nothing
        is removed before the disk has what takes its place. Raises MachineError."""
        from git import Git as Command
        from git.exc import GitError

        try:
            command = Command(str(self._objects))
            command.execute(["git", "repack", "-d", "-q", "--geometric=2"], env=self._environment())
        except (GitError, OSError) as cause:
            raise MachineError(f"{self._objects}: git repack failed ({cause})") from None

    def sweep(self) -> None:
        """Remove what a killed `pack` left. Only who holds the run's lock may do that. Raises OSError."""
        for path in (self._objects / "pack").iterdir():
            if path.name.startswith(_STALE):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """End the process. Harmless when done twice."""
        with self._lock:
            self._end()
            if self._home is not None:
                shutil.rmtree(self._home, ignore_errors=True)
                self._home = None

    def _read(self, name: bytes) -> tuple[bytes, bytes] | None:
        if self._process is None:
            self._process = self._started()
        source, answers = self._process.stdin, self._process.stdout
        assert source is not None
        assert answers is not None
        source.write(name + b"\n")
        source.flush()
        head = answers.readline(200).split()
        if head[1:] == [b"missing"]:
            return None
        if len(head) != 3:
            raise ValueError("it is damaged")
        kind, size = head[1], int(head[2])
        if size > MAX_OBJECT:
            raise ValueError(f"it is larger than {MAX_OBJECT} bytes, and no object of a run is")
        content = answers.read(size + 1)
        if len(content) != size + 1:
            raise ValueError("it is damaged")
        return kind, content[:-1]

    def _started(self) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(
                ["git", "cat-file", "--batch"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment(),
                start_new_session=True,  # Ctrl-C is for us
            )
        except FileNotFoundError:
            raise _no_git() from None

    def _run(self, arguments: list[str], given: bytes) -> bytes:
        try:
            done = subprocess.run(
                ["git", *arguments], input=given, capture_output=True, check=False, env=self._environment()
            )
        except FileNotFoundError:
            raise _no_git() from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            raise ArchiveError(f"{self._objects}: git cannot read it ({said}); restore the folder from a copy")
        return done.stdout

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

    def _environment(self) -> dict[str, str]:
        """What git gets of this process's environment, with a repository that has nothing in it but the objects."""
        if self._home is None:
            self._home = Path(tempfile.mkdtemp(prefix="evolve-git-"))
            (self._home / "refs").mkdir()
            (self._home / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        pairs = enumerate(_SETTINGS.items())
        settings = {f"GIT_CONFIG_{what}_{n}": text for n, pair in pairs for what, text in zip(_PAIR, pair, strict=True)}
        own = {"GIT_DIR": str(self._home), "GIT_OBJECT_DIRECTORY": str(self._objects.absolute())}
        return {**kept, **_BLANKED, **settings, **own}


def _no_git() -> MachineError:
    return MachineError("git is not installed, and a run's programs are kept in it; install git, then try again")

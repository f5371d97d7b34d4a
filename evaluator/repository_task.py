"""What a task out of a repository consists of, as plain values."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from evaluator.frozen_files import why_frozen
from evaluator.objective import Direction
from evaluator.places import content_of
from evaluator.program_files import Files, ProgramFolder

TREE: Final = "repository"
"""The folder with the tracked files, in the task's folder and in a sandbox."""
PREPARED: Final = "prepared.tar"
"""The tree after setup, in the task's folder."""
NOISE: Final = "noise.json"
"""The runs of unchanged code, in the task's folder."""
JSON: Final = "json:"
"""In front of a key of `metric`: the number is in a line that holds a JSON object."""
_NEVER_PACKED: Final = frozenset({".git", "__pycache__"})


class Measure(StrEnum):
    """What a benchmark is measured by."""

    CPU = "cpu"
    WALL = "wall"
    MEMORY = "memory"
    METRIC = "metric"  # a number that the benchmark prints, which the program could change

    @property
    def unit(self) -> str:
        """The unit of one measurement."""
        return {Measure.CPU: "s", Measure.WALL: "s", Measure.MEMORY: "MB"}.get(self, "")

    @property
    def words(self) -> str:
        """What is measured, in words."""
        return {
            Measure.CPU: "CPU seconds",
            Measure.WALL: "wall seconds",
            Measure.MEMORY: "peak memory in MB",
            Measure.METRIC: "printed number",
        }[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedFolder(ProgramFolder):
    """The tracked files of a repository, among which may be links. `commands` are those of its task: a program may add
    no file that decides a score."""

    commands: tuple[str, ...]

    def editable(self, path: str) -> bool:
        """Whether a file with this path belongs to a program."""
        if not ProgramFolder.editable(self, path):
            return False
        return (self.folder / path).is_file() or why_frozen(path, self.commands) is None

    def allowed(self) -> str:
        """Which files a program may have, in words."""
        new = "; a new one must be no test, configuration, lock file, build script or part of a command"
        return ProgramFolder.allowed(self) + (new if self.may_add else "")

    def _paths(self) -> Iterator[str]:
        """The files and links in the folder and below, without hidden ones and Python's caches."""
        return (path for path in tracked(self.folder) if not any(part.startswith(".") for part in path.split("/")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository at one commit. Commands are lines for a shell, run in its top folder. `folder` is the task's.

    Only files that match a pattern of `edit` may change; `new_files`: a program may add such files, and delete them.
    `metric` says how to read a printed number (`json:KEY` or a regular expression with one group), and `direction`
    which numbers are better. `test_count` is a regular expression for the number of tests; `tests` is that number for
    the unchanged code, None where it is not known. A measurement is the median of `repeats` runs. `path` is the PATH of
    the commands. `noise_runs` are measurements of the unchanged code, made on `noise_host`."""

    folder: Path
    commit: str
    edit: tuple[str, ...]
    test: str
    bench: str
    measure: Measure = Measure.CPU
    metric: str = ""
    direction: Direction = Direction.MINIMISE
    setup: str = ""
    build: str = ""
    test_count: str = ""
    tests: int | None = None
    new_files: bool = False
    repeats: int = 1
    path: tuple[str, ...] = ()
    noise_runs: tuple[float, ...] = ()
    noise_host: str = ""

    @property
    def tree(self) -> Path:
        """The folder with the tracked files."""
        return self.folder / TREE

    @property
    def prepared(self) -> Path | None:
        """The tree after setup; None where there was none."""
        path = self.folder / PREPARED
        return path if path.is_file() else None

    @property
    def self_judged(self) -> bool:
        """Whether the program shares the process that makes its score."""
        return self.measure is Measure.METRIC

    @property
    def larger_is_better(self) -> bool:
        """Whether larger measurements are better."""
        return self.direction is Direction.MAXIMISE

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that are given."""
        return tuple(line for line in (self.test, self.bench, self.setup, self.build) if line)

    @property
    def program_folder(self) -> ProgramFolder:
        """The rules for the files of a program."""
        return TrackedFolder(folder=self.tree, edit=self.edit, may_add=self.new_files, commands=self.commands)

    def editable(self, path: str) -> bool:
        """Whether a program may have the file."""
        return self.program_folder.editable(path)

    def program(self) -> Files:
        """The files that may change, unchanged. Raises TaskError."""
        return self.program_folder.read()

    def digest(self) -> str:
        """A hash of all that decides a score: the commands, the tree and what setup made of it. Raises TaskError."""
        digest = hashlib.sha256()
        decides = self.measure, self.metric, self.direction, self.setup, self.build, self.test_count, self.tests
        for text in (*self.edit, self.test, self.bench, *map(str, decides)):
            _add(digest, text.encode("utf-8", "surrogateescape"))
        for path in tracked(self.tree):
            place = self.tree / path
            _add(digest, os.fsencode(path))
            _add(digest, os.fsencode(place.readlink()) if place.is_symlink() else content_of(place))
        if self.prepared is not None:
            _add(digest, content_of(self.prepared))
        return digest.hexdigest()


def _add(digest: "hashlib._Hash", part: bytes) -> None:
    digest.update(len(part).to_bytes(8, "big"))
    digest.update(part)


def tracked(folder: Path) -> Iterator[str]:
    """The files and links in a folder and below, sorted, without `.git` and Python's caches."""
    for place, folders, names in os.walk(folder):
        linked = [name for name in folders if Path(place, name).is_symlink()]
        folders[:] = sorted(name for name in folders if name not in _NEVER_PACKED and name not in linked)
        for name in sorted([*names, *linked]):
            yield Path(place, name).relative_to(folder).as_posix()

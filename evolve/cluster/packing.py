"""A task's folder as one text, for workers that do not have it.

Hidden files, runs and caches are left out, but for the tracked files of a repository. What `task.yaml` names outside of
the folder does not travel, the files that ship with the packages excepted: a worker has those.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from evaluator.errors import TaskError
from evaluator.input_files import read_as
from evaluator.places import content_of
from evaluator.repository_task import tracked
from evaluator.task import Task
from evaluator.task_files import MOST_BYTES, MOST_FILES, files_of_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedFile:
    """One file: its path in the folder, its bytes in base64; of a link of a repository, what it leads to."""

    path: str
    content: str
    executable: bool
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTask:
    """A task's folder, by its own name."""

    name: str
    files: tuple[PackedFile, ...]


def pack(task: Task) -> str:
    """The folder of a task as text. Raises TaskError for a link that no repository has, and for a folder that is too
    large."""
    files, total = list[PackedFile](), 0
    for path in _files_of(task):
        name = path.relative_to(task.folder).as_posix()
        if path.is_symlink():
            files.append(PackedFile(path=name, content="", executable=False, link=str(path.readlink())))
            continue
        content = content_of(path)
        total += len(content)
        if len(files) == MOST_FILES or total > MOST_BYTES:
            raise TaskError(
                f"{task.folder}: holds more than {MOST_FILES} files or {MOST_BYTES >> 20} MB, and each worker of a "
                "cluster gets all of it; give the task a folder of its own"
            )
        files.append(
            PackedFile(
                path=name,
                content=base64.b64encode(content).decode("ascii"),
                executable=bool(path.stat().st_mode & 0o100),
            )
        )
    return json.dumps(asdict(PackedTask(name=task.folder.name, files=tuple(files))))


def _files_of(task: Task) -> Iterator[Path]:
    """The files that travel. Raises TaskError."""
    repository = task.repository
    if repository is None:
        yield from files_of_folder(task.folder)
        return
    yield from (path for path in sorted(task.folder.iterdir()) if path.is_file() and not path.name.startswith("."))
    yield from (repository.tree / path for path in tracked(repository.tree))


def digest_of(packed: str) -> str:
    """The digest of a packed task."""
    return hashlib.sha256(packed.encode()).hexdigest()


def unpack(packed: str, into: Path) -> Path:
    """Write a packed task below the folder `into`; the task's own folder. Raises ValueError for a path that leads
    out of it."""
    task = read_as(PackedTask, json.loads(packed))
    folder = into / _inside(task.name)
    folder.mkdir(parents=True, exist_ok=True)
    for file in task.files:
        path = folder / _inside(file.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if file.link:
            path.symlink_to(file.link)
            continue
        path.write_bytes(base64.b64decode(file.content, validate=True))
        path.chmod(0o755 if file.executable else 0o644)
    return folder


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError(f"the path {name!r} leads out of the task's folder")
    return path

"""Reading what a task's folder says of its evaluator script: what it may read there, and the digest of that.

A program sees what the script sees. So where a judge decides, the script gets no more of the folder than itself and
what `script_files` names: neither the judge nor instances, bounds and twins. Without a judge it gets all but what is
hidden, and but the runs of somebody who stands in the folder.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from evaluator.errors import TaskError
from evaluator.places import content_of
from evaluator.task import Judge, Script
from evaluator.task_yaml import JUDGE, TaskEntry

MOST_FILES: Final = 2000
MOST_BYTES: Final = 64 * 1024 * 1024
"""What a script may be given to read, so that all of it can be read for the evaluator's version."""
_NOT_READ: Final = frozenset({"__pycache__", "runs"})
"""Folders that no script gets: what Python leaves, and where runs are written by somebody who stands in the folder."""


def read_script(entry: TaskEntry, path: Path, judge: Judge, initial: Path, *, besides: Sequence[Path]) -> Script:
    """The script of a task that has one, at `path`; its digest is of everything that it may read and that may decide
    what it says: all but `task.yaml`, the initial program and `besides` (files or folders). Raises TaskError."""
    folder = entry.path.parent
    name = entry.script or ""
    if not path.is_relative_to(folder):
        raise entry.wrong("script", f"is {name!r}; it must lie in the task's folder, which is all that it may read")
    if path.suffix != ".py" and not os.access(path, os.X_OK):
        raise entry.wrong("script", f"is {name!r}, which is neither Python (.py) nor executable (chmod +x)")
    if (folder / "adapter.py").is_file():
        raise TaskError(f"{folder / 'adapter.py'}: has no place beside a script, which calls programs as it likes")
    if judge.converse is not None:
        raise TaskError(f"{folder / JUDGE}: asks item by item (converse), and a script answers instances as a whole")
    program_name = entry.program_name or f"program{initial.suffix}"
    files = _named(entry, path) if entry.judged or entry.script_files else _seen(folder)
    parts = [
        str(path.relative_to(folder)),
        program_name,
        *entry.environment,
        digest_of(files, folder, besides=[entry.path, initial, *besides]),
    ]
    return Script(
        path=path,
        program_name=program_name,
        environment=tuple(entry.environment),
        files=tuple(files),
        digest=hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest(),
        judged=entry.judged,
    )


def _named(entry: TaskEntry, path: Path) -> list[Path]:
    """The script and what `script_files` names. Raises TaskError."""
    folder, found = entry.path.parent, [path]
    for name in entry.script_files:
        named = (folder / name).resolve()
        if not named.is_relative_to(folder) or named == folder or not named.exists():
            raise entry.wrong("script_files", f"holds {name!r}; there is no such file or folder in {folder}")
        found.append(named)
    return sorted(set(found))


def _seen(folder: Path) -> list[Path]:
    """What lies in a folder, in a fixed order, but for hidden ones, `__pycache__` and `runs`. Raises TaskError."""
    try:
        found = sorted(folder.iterdir())
    except OSError as cause:
        raise TaskError(f"{folder}: cannot be read ({cause.strerror})") from None
    return [path for path in found if not path.name.startswith(".") and path.name not in _NOT_READ]


def digest_of(files: Sequence[Path], folder: Path, *, besides: Sequence[Path]) -> str:
    """The digest of every file among or below `files`, by its name in the folder, but for `besides` (files or folders).
    Raises TaskError for a link, and where there is too much."""
    digest, count, total = hashlib.sha256(), 0, 0
    for path in _files(files, frozenset(besides)):
        content = content_of(path)
        count, total = count + 1, total + len(content)
        if count > MOST_FILES or total > MOST_BYTES:
            raise TaskError(
                f"{folder}: holds more than {MOST_FILES} files or {MOST_BYTES >> 20} MB, and all of a folder with an "
                "evaluator script is read for the evaluator's version; give the task a folder of its own"
            )
        name = os.fsencode(path.relative_to(folder))
        digest.update(b"%d:%s%d:" % (len(name), name, len(content)))
        digest.update(content)
    return digest.hexdigest()


def _files(found: Sequence[Path], besides: frozenset[Path]) -> Iterator[Path]:
    """The files among or below these, in their order. Raises TaskError."""
    for path in found:
        if path in besides:
            continue
        if path.is_symlink():
            raise TaskError(f"{path}: is a link; the folder of an evaluator script must hold the files themselves")
        if path.is_dir():
            yield from _files(_seen(path), besides)
        elif path.is_file():
            yield path

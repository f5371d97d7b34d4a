"""Reading what a task's folder says of its evaluator script, with the digest of all that may decide a verdict there."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from evaluator.errors import TaskError
from evaluator.task import Judge, Script
from evaluator.task_yaml import JUDGE, TaskEntry

MOST_FILES: Final = 2000
MOST_BYTES: Final = 64 * 1024 * 1024
"""What a task's folder may hold beside a script, so that all of it can be read for the evaluator's version."""
_NOT_READ: Final = frozenset({"__pycache__", "runs"})
"""Folders that decide no verdict: what Python leaves, and where runs are written by somebody who stands in the folder.
"""


def read_script(entry: TaskEntry, path: Path, judge: Judge, initial: Path, *, besides: Sequence[Path]) -> Script:
    """The script of a task that has one, at `path`; its digest is of everything in the folder that may decide what it
    says: all but `task.yaml`, the initial program and `besides` (files or folders). Raises TaskError."""
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
    parts = [
        str(path.relative_to(folder)),
        program_name,
        *entry.environment,
        folder_digest(folder, besides=[entry.path, initial, *besides]),
    ]
    return Script(
        path=path,
        program_name=program_name,
        environment=entry.environment,
        digest=hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest(),
        judged=entry.judged,
    )


def folder_digest(folder: Path, *, besides: Sequence[Path]) -> str:
    """The digest of every file in the folder that a script may read and decide by: all but `besides` (files or
    folders), hidden ones, `__pycache__` and `runs`. Raises TaskError for a link, and where there is too much."""
    digest, count, total = hashlib.sha256(), 0, 0
    for path in _files(folder, frozenset(besides)):
        try:
            content = path.read_bytes()
        except OSError as cause:
            raise TaskError(f"{path}: cannot be read ({cause.strerror})") from None
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


def _files(folder: Path, besides: frozenset[Path]) -> Iterator[Path]:
    """The files below a folder, in a fixed order. Raises TaskError."""
    try:
        found = sorted(folder.iterdir())
    except OSError as cause:
        raise TaskError(f"{folder}: cannot be read ({cause.strerror})") from None
    for path in found:
        if path.name.startswith(".") or path.name in _NOT_READ or path in besides:
            continue
        if path.is_symlink():
            raise TaskError(f"{path}: is a link; the folder of an evaluator script must hold the files themselves")
        if path.is_dir():
            yield from _files(path, besides)
        elif path.is_file():
            yield path

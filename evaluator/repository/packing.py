"""Archives of a repository's files, as a sandbox unpacks them (`TreeJob.archives`)."""

import io
import tarfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from evaluator.errors import TaskError
from evaluator.program_files import Files
from evaluator.repository_task import TREE, Repository, tracked

_UNCHANGED_AT: Final = 1_000_000_000
"""The time of change of every unchanged file, so that a build tool makes again only what depends on changed ones."""


def pack_frozen(repository: Repository, archive: Path) -> None:
    """Pack all tracked files that no program may change. Raises TaskError."""
    paths = (path for path in tracked(repository.tree) if not repository.editable(path))
    try:
        with tarfile.open(archive, "w") as packed:
            for path in paths:
                packed.add(repository.tree / path, f"{TREE}/{path}", recursive=False, filter=_unchanged)
    except OSError as cause:
        raise TaskError(f"{repository.tree}: cannot be packed ({cause.strerror})") from None


def pack_program(repository: Repository, program: Files, unchanged: Files, archive: Path) -> None:
    """Pack the files of a program. One that is as in `unchanged` keeps its time of change."""
    now = int(time.time())
    with tarfile.open(archive, "w") as packed:
        for path, text in program.items():
            content = text.encode("utf-8", "surrogatepass")
            member = tarfile.TarInfo(f"{TREE}/{path}")
            member.size = len(content)
            member.mtime = _UNCHANGED_AT if unchanged.get(path) == text else now
            place = repository.tree / path
            member.mode = place.stat().st_mode & 0o777 if place.is_file() else 0o644
            packed.addfile(member, io.BytesIO(content))


def refused_path(repository: Repository, program: Iterable[str]) -> str | None:
    """The first path of a program that may not change; None where all may."""
    return next((path for path in program if not repository.editable(path)), None)


def _unchanged(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime = _UNCHANGED_AT
    return member

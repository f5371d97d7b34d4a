"""The folder of a run: its files, how it is made, and how it is recognised."""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evolve.archive.disk import (
    MAX_CONFIG,
    open_regular_file,
    os_errors_as_machine_errors,
    read_regular_file,
    require_regular_files,
    sync_folder,
    write_file,
)
from evolve.archive.events import CreatedEvent
from evolve.archive.journal import FORMAT, Journal, is_held
from evolve.archive.lines import MAX_LINE, begins_import
from evolve.archive.objects import create_repository
from evolve.core.errors import ArchiveError
from evolve.core.invocation import command

CONFIG = "run.yaml"
NEW_CONFIG = "run.yaml.new"
EARLIER_CONFIGS = "configs"
GIT = "programs.git"
JOURNAL = "journal.jsonl"
PROGRAM = "program.py"  # in a commit, where a run's identity does not say otherwise
PROGRAM_FOLDER = "program"  # in a commit: the files of a program that has several
ANSWERS = "answers.json"  # in a commit: what a best program answered, a JSON list
META = "meta"
_FILES = (CONFIG, NEW_CONFIG, JOURNAL, *(f"{GIT}/{name}" for name in ("HEAD", "config", "packed-refs")))
_FOLDERS = (f"{GIT}/objects", f"{GIT}/refs", META, EARLIER_CONFIGS)
"""The files and folders of a run. Whatever else a user keeps in its folder is never opened."""
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{8}")
_STALE_S = 60


def create_folder(folder: Path, *, config_text: str, identity: Mapping[str, Any], run_id: str | None) -> Journal:
    """Make the folder of a new run. Returns its journal, open for writing and locked.

    The folder is made under a temporary name next to its place and then renamed, so that it appears whole or not at
    all; on failure it is removed. Raises ArchiveError if it exists, MachineError if it cannot be written.
    """
    absolute = folder.absolute()
    place = absolute.parent / f".{absolute.name}.{secrets.token_hex(4)}"
    journal: Journal | None = None
    with os_errors_as_machine_errors(folder, "written"):
        if os.path.lexists(absolute):
            raise _exists(folder)
        if os.path.lexists(absolute.parent) and not absolute.parent.is_dir():
            raise ArchiveError(f"{folder.parent} is not a folder, so no run can be kept in it; move it out of the way")
        made = [parent for parent in absolute.parents if not parent.exists()]
        try:
            absolute.parent.mkdir(parents=True, exist_ok=True)
            place.mkdir()
            write_file(place / JOURNAL, b"")
            journal = Journal(place / JOURNAL, write=True)  # locked at once: nobody sweeps it away
            write_file(place / CONFIG, config_text.encode("utf-8"))
            create_repository(place / GIT)
            digest = config_digest(config_text)
            journal.append(CreatedEvent(format=FORMAT, identity=identity, config=digest, run_id=run_id))
            sync_folder(place)
            place.rename(absolute)
            place = absolute
            journal.path = folder / JOURNAL
            sync_folder(absolute.parent)
        except BaseException as failure:  # boundary: whatever happened, nothing is left behind
            if journal is not None:
                journal.close()
            shutil.rmtree(place, ignore_errors=True)
            for parent in made:
                if parent.is_dir() and not any(parent.iterdir()):
                    parent.rmdir()
            if isinstance(failure, OSError) and failure.errno in (errno.EEXIST, errno.ENOTEMPTY):
                raise _exists(folder) from None
            raise
    return journal


def sweep_unfinished(place: Path) -> None:
    """Remove the folders in `place` that were left when the making of a run was killed. Raises MachineError.

    A folder of such a name is stale if it holds the beginning of a run or an import that did not end, no process has
    locked it, and nothing was written to it for a minute.
    """
    with os_errors_as_machine_errors(place, "read"):
        names = [name for name in os.listdir(place) if _UNFINISHED.fullmatch(name)]  # noqa: PTH208
    for path in (place / name for name in names):
        with contextlib.suppress(OSError):  # another process removes it, or we may not
            if not path.is_symlink() and _is_unfinished(path) and time.time() - _last_written(path) > _STALE_S:
                shutil.rmtree(path, ignore_errors=True)


def _is_unfinished(path: Path) -> bool:
    if not {entry.name for entry in path.iterdir()} <= {CONFIG, GIT, JOURNAL, META} or is_held(path / JOURNAL):
        return False
    try:
        with os.fdopen(open_regular_file(path / JOURNAL), "rb") as file:
            first, rest = file.readline(MAX_LINE), file.read(MAX_LINE)
    except FileNotFoundError:
        return True
    except ArchiveError:  # not a regular file: not ours
        return False
    return b"\n" not in rest or begins_import(first)


def _last_written(path: Path) -> float:
    """When a name in the folder of a run or its journal changed last, in seconds since the epoch."""
    return max(file.stat().st_mtime for file in (path, path / JOURNAL) if file.exists())


def config_digest(config_text: str) -> str:
    """The digest of `run.yaml` that the journal keeps, so that a changed file is noticed."""
    return hashlib.sha256(config_text.encode("utf-8")).hexdigest()


def write_config(folder: Path, config_text: str, *, before: str) -> None:
    """Write a changed configuration next to the one in force, and keep that one, whose text is `before`. Raises
    MachineError."""
    kept = earlier_config(folder, config_digest(before))
    with os_errors_as_machine_errors(kept, "written"):
        kept.parent.mkdir(exist_ok=True)
    for path, text in ((kept, before), (folder / NEW_CONFIG, config_text)):
        with os_errors_as_machine_errors(path, "written"):
            path.unlink(missing_ok=True)
            write_file(path, text.encode("utf-8"))
    with os_errors_as_machine_errors(kept, "written"):
        sync_folder(kept.parent)


def earlier_config(folder: Path, digest: str) -> Path:
    """Where the configuration of an earlier session is kept."""
    return folder / EARLIER_CONFIGS / f"{digest}.yaml"


def take_config(folder: Path) -> None:
    """Put the changed configuration in force. Raises MachineError."""
    with os_errors_as_machine_errors(folder / CONFIG, "written"):
        (folder / NEW_CONFIG).replace(folder / CONFIG)
        sync_folder(folder)


def finish_config(folder: Path, digest: str) -> None:
    """Finish a change of the configuration that was interrupted between event and file, or remove what is left of one
    that was interrupted before its event."""
    path = folder / NEW_CONFIG
    if path.exists():
        with os_errors_as_machine_errors(path, "read"):
            data = read_regular_file(path, MAX_CONFIG)
        if hashlib.sha256(data).hexdigest() == digest:
            take_config(folder)
        else:
            with os_errors_as_machine_errors(path, "removed"):
                path.unlink()


def read_config(folder: Path, digest: str) -> str:
    """The configuration in force, also where a change of it was interrupted between event and file. Raises ArchiveError
    when no file has that digest: somebody else changed it."""
    for path in (folder / CONFIG, folder / NEW_CONFIG):
        if (path.name == CONFIG or path.exists()) and (text := _text_of(path, digest)) is not None:
            return text
    raise ArchiveError(
        f"{folder / CONFIG}: the file was changed by hand; restore it from a copy, or begin a new run "
        f"(change the configuration with --set: {command('resume', folder, '--set', 'KEY=VALUE')})"
    )


def read_earlier_config(folder: Path, digest: str) -> str:
    """The configuration of an earlier session. Raises ArchiveError when its file is missing or was changed."""
    path = earlier_config(folder, digest)
    text = _text_of(path, digest) if path.exists() else None
    if text is None:
        raise ArchiveError(
            f"{path}: this configuration of an earlier session is missing or was changed, so the run cannot be rerun; "
            "restore the file from a copy"
        )
    return text


def _text_of(path: Path, digest: str) -> str | None:
    """The text of a file, None where it has another digest."""
    with os_errors_as_machine_errors(path, "read"):
        data = read_regular_file(path, MAX_CONFIG)
    if hashlib.sha256(data).hexdigest() != digest:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise ArchiveError(f"{path}: it is not UTF-8 text (byte {cause.start})") from None


def require_folder(folder: Path) -> None:
    """Raise ArchiveError, saying what is missing, unless a folder looks like a run's."""
    with os_errors_as_machine_errors(folder, "read"):
        if not folder.is_dir():
            raise ArchiveError(
                f"{folder}: there is no run folder of that name; see what there is with: {command('list')}"
            )
        lacking = [name for name in (CONFIG, f"{GIT}/HEAD", f"{GIT}/objects", JOURNAL) if not (folder / name).exists()]
    if lacking:
        raise ArchiveError(f"{folder} is not a run's folder: it lacks {', '.join(lacking)}")
    require_regular_files(folder, files=_FILES, folders=_FOLDERS)
    borrowed = folder / GIT / "objects" / "info" / "alternates"
    if borrowed.exists():
        raise ArchiveError(
            f"{borrowed}: the repository borrows objects from another one, and nothing outside of a run's folder is "
            "read; where both are at hand, make it whole with: git repack -a -d, then remove that file"
        )


def _exists(folder: Path) -> ArchiveError:
    return ArchiveError(f"{folder} exists already; choose another name, or go on with: {command('resume', folder)}")


def document_path(folder: Path, programs: int) -> Path:
    """The file of the insights report that was made when there were `programs` programs."""
    return folder / META / f"meta_{programs}.md"


def write_document(folder: Path, programs: int, markdown: str) -> None:
    """Write an insights report for people; git holds the text that counts. Raises MachineError."""
    path = document_path(folder, programs)
    with os_errors_as_machine_errors(path, "written"):
        path.parent.mkdir(exist_ok=True)
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        write_file(new, markdown.encode("utf-8", "surrogatepass"))
        new.replace(path)

"""The folder of a run: what stands in it, making one, and telling one from something else."""

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

from evolve.archive.disk import sync_folder, using, write_file
from evolve.archive.events import CreatedEvent
from evolve.archive.journal import FORMAT, Journal
from evolve.archive.lock import is_held
from evolve.archive.objects import create_repository
from evolve.archive.plain import MAX_CONFIG, read_plain, require_plain
from evolve.core.errors import ArchiveError
from evolve.core.invocation import command

CONFIG = "run.yaml"
NEW_CONFIG = "run.yaml.new"
EARLIER_CONFIGS = "configs"
GIT = "programs.git"
JOURNAL = "journal.jsonl"
PROGRAM = "program.py"  # in a commit, where a run's identity does not say otherwise
ANSWERS = "answers.json"  # in a commit: what a best program answered, a JSON list
META = "meta"
_FILES = (CONFIG, NEW_CONFIG, JOURNAL, *(f"{GIT}/{name}" for name in ("HEAD", "config", "packed-refs")))
_FOLDERS = (f"{GIT}/objects", f"{GIT}/refs", META, EARLIER_CONFIGS)
"""What is used of a run's folder. What else a user keeps in there is never opened."""
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{8}")
_STALE_S = 60


def create_folder(folder: Path, *, config_text: str, identity: Mapping[str, Any], run_id: str | None) -> Journal:
    """Make a run's folder, with nothing in it but its beginning. Returns its journal, open for writing, and locked.

    It is made beside its place and renamed into it, so that it is there whole or not at all, and what was made is
    removed on failure. Raises ArchiveError if it exists, MachineError if it cannot be written.
    """
    absolute = folder.absolute()
    place = absolute.parent / f".{absolute.name}.{secrets.token_hex(4)}"
    journal: Journal | None = None
    with using(folder, "written"):
        if os.path.lexists(absolute):
            raise _exists(folder)
        if os.path.lexists(absolute.parent) and not absolute.parent.is_dir():
            raise ArchiveError(
                f"{folder.parent} is no folder, so that no run can be kept in it; move it out of the way"
            )
        made = [parent for parent in absolute.parents if not parent.exists()]
        try:
            absolute.parent.mkdir(parents=True, exist_ok=True)
            place.mkdir()
            write_file(place / JOURNAL, b"")
            journal = Journal(place / JOURNAL, write=True)  # locked at once: so is told that somebody is at work here
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
    """Remove what the making of a run has left in `place` that was killed. Raises MachineError.

    Surely stale is a folder of such a name with nothing in it but the first event of a run, which nobody holds, and
    which nobody has touched for a minute.
    """
    with using(place, "read"):
        names = [name for name in os.listdir(place) if _UNFINISHED.fullmatch(name)]  # noqa: PTH208
    for path in (place / name for name in names):
        with contextlib.suppress(OSError):  # somebody else removes it just now, or may and we may not
            if not path.is_symlink() and time.time() - path.stat().st_mtime > _STALE_S and _is_unfinished(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_unfinished(path: Path) -> bool:
    if not {found.name for found in path.iterdir()} <= {CONFIG, GIT, JOURNAL} or is_held(path / JOURNAL):
        return False
    try:
        return read_plain(path / JOURNAL, 1_000_000).count(b"\n") < 2
    except FileNotFoundError:
        return True
    except ArchiveError:  # no plain file, or a large one: nothing of ours
        return False


def config_digest(config_text: str) -> str:
    """What the journal remembers of `run.yaml`, so that a changed one is noticed."""
    return hashlib.sha256(config_text.encode("utf-8")).hexdigest()


def write_config(folder: Path, config_text: str, *, before: str) -> None:
    """Write a changed configuration next to the one in force, and keep that one, whose text is `before`. Raises
    MachineError."""
    kept = _earlier_config(folder, config_digest(before))
    for path, text in ((kept, before), (folder / NEW_CONFIG, config_text)):
        with using(path, "written"):
            path.parent.mkdir(exist_ok=True)
            path.unlink(missing_ok=True)
            write_file(path, text.encode("utf-8"))
    with using(kept, "written"):
        sync_folder(kept.parent)


def _earlier_config(folder: Path, digest: str) -> Path:
    return folder / EARLIER_CONFIGS / f"{digest}.yaml"


def take_config(folder: Path) -> None:
    """Let the configuration beside the one in force take its place. Raises MachineError."""
    with using(folder / CONFIG, "written"):
        (folder / NEW_CONFIG).replace(folder / CONFIG)
        sync_folder(folder)


def finish_config(folder: Path, digest: str) -> None:
    """Finish a change of the configuration that was cut off between event and file."""
    path = folder / NEW_CONFIG
    if path.exists():
        with using(path, "read"):
            data = read_plain(path, MAX_CONFIG)
        if hashlib.sha256(data).hexdigest() == digest:
            take_config(folder)


def read_config(folder: Path, digest: str) -> str:
    """The configuration with that digest, the one in force or an earlier one, also where a change of it was cut off
    between event and file.

    Raises ArchiveError when there is none: the file was changed by somebody else.
    """
    for path in (folder / CONFIG, folder / NEW_CONFIG, _earlier_config(folder, digest)):
        if path.name != CONFIG and not path.exists():
            continue
        with using(path, "read"):
            data = read_plain(path, MAX_CONFIG)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as cause:
            raise ArchiveError(f"{path}: it is not UTF-8 text (byte {cause.start})") from None
        if config_digest(text) == digest:
            return text
    raise ArchiveError(
        f"{folder / CONFIG}: it is not the configuration that the run has, and {EARLIER_CONFIGS}/ has no file for "
        f"{digest[:12]}; restore the folder from a copy, or begin a new run "
        f"(it is changed by --set, not by hand: {command('resume', folder, '--set', 'KEY=VALUE')})"
    )


def require_folder(folder: Path) -> None:
    """Raise ArchiveError, saying what is missing, unless a folder looks like a run's."""
    with using(folder, "read"):
        if not folder.is_dir():
            raise ArchiveError(
                f"{folder}: there is no run folder of that name; see what there is with: {command('list')}"
            )
        lacking = [name for name in (CONFIG, f"{GIT}/HEAD", f"{GIT}/objects", JOURNAL) if not (folder / name).exists()]
    if lacking:
        raise ArchiveError(f"{folder} is not a run's folder: it lacks {', '.join(lacking)}")
    require_plain(folder, files=_FILES, folders=_FOLDERS)
    borrowed = folder / GIT / "objects" / "info" / "alternates"
    if borrowed.exists():
        raise ArchiveError(
            f"{borrowed}: the repository borrows objects from another one, and nothing outside of a run's folder is "
            "read; whoever has both makes it whole with: git repack -a -d, and removes that file"
        )


def _exists(folder: Path) -> ArchiveError:
    return ArchiveError(f"{folder} exists already; choose another name, or go on with: {command('resume', folder)}")


def document_path(folder: Path, programs: int) -> Path:
    """Where the meta document stands that was made when there were so many programs."""
    return folder / META / f"meta_{programs}.md"


def write_document(folder: Path, programs: int, markdown: str) -> None:
    """Write a meta document for people; git holds the text that counts. Raises MachineError."""
    path = document_path(folder, programs)
    with using(path, "written"):
        path.parent.mkdir(exist_ok=True)
        beside = path.with_suffix(".new")
        beside.unlink(missing_ok=True)
        write_file(beside, markdown.encode("utf-8", "surrogatepass"))
        beside.replace(path)

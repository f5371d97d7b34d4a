"""The files of a folder that are copied: those that an evaluator may import or read."""

import os
import stat
from collections.abc import Collection, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from evaluator.task_files import MOST_BYTES, MOST_FILES
from evaluator.untrusted import one_line
from evolve.core.errors import InputError

_OWN_FILES: Final = 20
_OWN_BYTES: Final = 2**20
"""The room for a task's own files under the limits of a task's folder."""
_CACHES: Final = ("__pycache__", "node_modules", "*.pyc", "*.pyo")
_RESULTS: Final = (
    *("results", "results_*", "*_results", "openevolve_output*", "checkpoints", "checkpoint_*", "gen_[0-9]*", "logs"),
    *("outputs", "multirun", "wandb", "*.log", "*.sqlite", "*.sqlite-*", "bandit_state.pkl", "extra.pkl"),
)
_SHOWN: Final = 12


def collect(folder: Path, *, configurations: Collection[str]) -> tuple[dict[str, bytes], list[str]]:
    """The files in and below `folder` by relative name, and notes about those left out: hidden files, caches, results,
    `configurations` (names of files, which may hold a key) and links that lead out of the folder. Raises InputError if
    there is too much, or one cannot be read."""
    files: dict[str, bytes] = {}
    left: dict[str, list[str]] = {}
    total = 0
    for path, why in _walk(folder, frozenset(configurations)):
        name = str(path.relative_to(folder))
        if why is not None:
            left.setdefault(why, []).append(one_line(name))
            continue
        total += path.stat().st_size
        if len(files) == MOST_FILES - _OWN_FILES or total > MOST_BYTES - _OWN_BYTES:
            raise InputError(
                f"{one_line(str(folder))}: holds more than {MOST_FILES - _OWN_FILES} files or "
                f"{(MOST_BYTES - _OWN_BYTES) >> 20} MB without caches and results; "
                "name a folder with only the task"
            )
        try:
            files[name] = path.read_bytes()
        except OSError as cause:
            raise InputError(f"{one_line(str(path))}: cannot be read ({cause.strerror})") from None
    return files, [f"left out: {_listed(names)} ({why})" for why, names in left.items()]


def _walk(folder: Path, configurations: frozenset[str]) -> Iterator[tuple[Path, str | None]]:
    """Every file below a folder with None, or with a reason to leave it out, also for a whole folder."""
    top = folder.resolve()

    def below(here: Path) -> Iterator[tuple[Path, str | None]]:
        try:
            entries = sorted(here.iterdir())
        except OSError as cause:
            raise InputError(f"{one_line(str(here))}: cannot be read ({cause.strerror})") from None
        for path in entries:
            why = _left_out(path, top) or (
                "the configuration: it may hold a key; copy it to theirs/ if the evaluator reads it"
                if here == folder and path.name in configurations
                else None
            )
            if why is None and path.is_dir():
                yield from below(path)
            else:
                yield path, why

    yield from below(folder)


def _left_out(path: Path, top: Path) -> str | None:
    """Why a file or folder is left out; None if it is copied."""
    if path.name.startswith("."):
        return "hidden"
    if any(fnmatch(path.name, pattern) for pattern in _CACHES):
        return "caches"
    if any(fnmatch(path.name, pattern) for pattern in _RESULTS) or (path / "pyvenv.cfg").exists():
        return "results, logs and environments"
    if path.is_symlink() and not (path.is_file() and Path(os.path.realpath(path)).is_relative_to(top)):
        return "links to folders, and out of the folder"
    mode = path.stat().st_mode
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else "neither files nor folders"


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")

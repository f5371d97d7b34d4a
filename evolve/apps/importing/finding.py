"""The folder of another system: its program, evaluator and configuration, and the files to copy."""

import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from evaluator.task_files import MOST_BYTES, MOST_FILES
from evaluator.task_yaml import NO_PROGRAM
from evaluator.untrusted import one_line
from evaluator.yaml_file import read_mapping
from evolve.apps.importing.scripts import configured_in
from evolve.core.errors import InputError
from evolve.core.files import read_source

_CALLED: Final = "EvolutionConfig("
_MESSAGE: Final = re.compile(
    r"""[\w.\s]*(?:\[["']\w+["']\])*(?:\[["'])?\w*sys(?:tem)?_?(?:msg|message|prompt)\w*["'\]]*\s*(?:=(?!=)|:)"""
    r"""\s*(?:[|>(]|[a-z]{0,2}["'])""",
    re.IGNORECASE,
)
"""A line that assigns a text to a name such as `task_sys_msg` or `system_message`."""


class SeveralConfigurationsError(InputError):
    """A folder holds several configurations and none was chosen; `names` are their files."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        super().__init__(f"{one_line(str(folder))}: holds {len(names)} configurations; choose one with --config FILE")
        self.names = names


@dataclass(frozen=True, slots=True, kw_only=True)
class TheirConfiguration:
    """The document, its origin in words, the files that are configurations (and may hold a key), and notes about
    files and keys that were not read."""

    document: dict[str, Any]
    origin: str
    files: tuple[str, ...]
    notes: tuple[str, ...]


def require_folder(folder: Path) -> None:
    """Raise InputError unless it is a folder that can be read."""
    if not folder.is_dir():
        raise InputError(f"{one_line(str(folder))}: is not a folder; name the one with the program and its evaluator")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise InputError(f"{one_line(str(folder))}: cannot be read")


def initial_program(folder: Path, stems: Sequence[str], suffix: str | None = None) -> Path:
    """The initial program: `STEM.*` for the first of the stems with a file; of several, the one with the suffix, else
    Python. Without such a file the folder `STEM`. Raises InputError if there is none, or it is ambiguous."""
    for stem in stems:
        candidates = [
            path
            for path in sorted(folder.iterdir())
            if path.is_file() and path.stem == stem and path.suffix and path.suffix not in NO_PROGRAM
        ]
        for wanted in (suffix, ".py"):
            candidates = [path for path in candidates if path.suffix == wanted] or candidates
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            names = ", ".join(one_line(path.name) for path in candidates)
            raise InputError(f"{one_line(str(folder))}: holds {names}; keep only the initial program")
    folders = [folder / stem for stem in stems if (folder / stem).is_dir()]
    if folders:
        return folders[0]
    wanted = " nor ".join(f"{stem}.<suffix>" for stem in stems)
    raise InputError(f"{one_line(str(folder))}: holds no initial program ({wanted})")


def evaluator_file(folder: Path, names: Sequence[str]) -> Path:
    """The evaluator: the first of these files that exists. Raises InputError without one."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{one_line(str(folder))}: holds no evaluator ({' nor '.join(names)})")


def seeming_message(folder: Path) -> str | None:
    """File and line of a probable system message; None without one."""
    for path in [*sorted(folder.glob("*")), *sorted(folder.glob("*/*"))]:
        if path.suffix in (".py", ".yaml", ".yml") and path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            number = next((number for number, line in enumerate(lines, 1) if _MESSAGE.match(line[:200])), None)
            if number is not None:
                return f"{one_line(str(path.relative_to(folder)))}, line {number}"
    return None


def openevolve_configuration(folder: Path, named: Path | None) -> TheirConfiguration:
    """The file that is `named`, else `config.yaml`, or the only YAML file named like a configuration. Raises InputError
    for an invalid file, SeveralConfigurationsError."""
    return _read(folder, named, ["config.yaml", "config.yml"], "*config*.y*ml")


def shinka_configuration(folder: Path, named: Path | None) -> TheirConfiguration:
    """The YAML file of a task, overridden by the values in a Python script that calls `EvolutionConfig`; either may be
    `named`. Raises InputError, SeveralConfigurationsError."""
    scripts = [path for path in sorted(folder.glob("*.py")) if path.is_file() and _CALLED in read_source(path)]
    scripts = [path for path in scripts if path.name == "run_evo.py"] or scripts
    if named is not None and named.suffix == ".py":
        scripts, named = [_chosen(folder, named)], None
    configuration = _read(folder, named, ["config.yaml", "shinka.yaml", "experiment_config.yaml"], "shinka*.y*ml")
    if not scripts:
        return configuration
    if len(scripts) > 1:
        raise SeveralConfigurationsError(folder, [path.name for path in scripts])
    script = scripts[0]
    try:
        spelled, computed = configured_in(read_source(script))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"{one_line(str(script))}: is not a Python program ({one_line(str(error))})") from None
    document = dict(configuration.document)
    for section, values in spelled.items():
        own = document.get(section)
        document[section] = (own if isinstance(own, dict) else {}) | values
    origin = f"{configuration.origin} and {script.name}" if configuration.document else script.name
    notes = [f"{script.name}: not taken over: {', '.join(computed)} (computed when it is run)"] if computed else []
    return replace(configuration, document=document, origin=origin, notes=(*configuration.notes, *notes))


def _read(folder: Path, named: Path | None, first: Sequence[str], pattern: str) -> TheirConfiguration:
    """The configuration that is `named`, else a file of the names `first`, else the only file of the pattern."""
    every = {path for path in folder.glob(pattern) if path.is_file()}
    every |= {folder / name for name in first if (folder / name).is_file()}
    if named is not None:
        chosen = [_chosen(folder, named)]
    else:
        chosen = next(([folder / name] for name in first if folder / name in every), sorted(every))
    if len(chosen) > 1:
        raise SeveralConfigurationsError(folder, [path.name for path in chosen])
    files = tuple(path.name for path in sorted({*every, *chosen}))
    if not chosen:
        return TheirConfiguration(document={}, origin="no configuration", files=files, notes=())
    unread = ", ".join(one_line(path.name) for path in sorted(every - {*chosen}))
    return TheirConfiguration(
        document=read_mapping(chosen[0], error=InputError, foreign=True),
        origin=chosen[0].name,
        files=files,
        notes=(f"not read: {unread} ({chosen[0].name} was read; choose another with --config FILE)",) if unread else (),
    )


def _chosen(folder: Path, named: Path) -> Path:
    """The named file, in the folder or elsewhere. Raises InputError."""
    for path in (folder / named, named):
        if path.is_file():
            return path
    raise InputError(f"--config {one_line(str(named))}: there is no such file, here or in {one_line(str(folder))}")


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

"""The program, the evaluator and the configuration in a folder of another system."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

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
    Python. Raises InputError if there is none, or it is ambiguous."""
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

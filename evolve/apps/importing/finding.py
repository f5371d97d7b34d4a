"""Which files of somebody else's folder are the program, the evaluator and the configuration."""

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
"""A line that gives a name such as `task_sys_msg` or `system_message` a text."""


class SeveralConfigurationsError(InputError):
    """A folder holds several configurations, and none was chosen: `names` are those of their files."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        super().__init__(f"{one_line(str(folder))}: holds {len(names)} configurations; choose one with --config FILE")
        self.names = names


@dataclass(frozen=True, slots=True, kw_only=True)
class TheirConfiguration:
    """The document, the files that it was read from (shown as its origin), the files that are configurations (and may
    hold a key), and sentences about what was not read."""

    document: dict[str, Any]
    origin: str
    files: tuple[str, ...]
    notes: tuple[str, ...]


def require_folder(folder: Path) -> None:
    """Raise InputError unless it is one that can be read."""
    if not folder.is_dir():
        raise InputError(
            f"{one_line(str(folder))}: is no folder; name the one that holds the program and its evaluator"
        )
    if not os.access(folder, os.R_OK | os.X_OK):
        raise InputError(f"{one_line(str(folder))}: cannot be read")


def initial_program(folder: Path, stems: Sequence[str], suffix: str | None = None) -> Path:
    """The program to begin with: `STEM.*` for the first stem that there is, of the given suffix, else Python where
    there are several. Raises InputError where there is none, or it cannot be told which."""
    for stem in stems:
        found = [
            path
            for path in sorted(folder.iterdir())
            if path.is_file() and path.stem == stem and path.suffix and path.suffix not in NO_PROGRAM
        ]
        for wanted in (suffix, ".py"):
            found = [path for path in found if path.suffix == wanted] or found
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(one_line(path.name) for path in found)
            raise InputError(f"{one_line(str(folder))}: holds {names}; leave the one that is the program to begin with")
    wanted = " nor ".join(f"{stem}.<suffix>" for stem in stems)
    raise InputError(f"{one_line(str(folder))}: holds no program to begin with ({wanted})")


def evaluator_file(folder: Path, names: Sequence[str]) -> Path:
    """The evaluator: the first of these files that there is. Raises InputError where there is none."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{one_line(str(folder))}: holds no evaluator ({' nor '.join(names)})")


def seeming_message(folder: Path) -> str | None:
    """File and line where a system message seems to stand; None where none does."""
    for path in [*sorted(folder.glob("*")), *sorted(folder.glob("*/*"))]:
        if path.suffix in (".py", ".yaml", ".yml") and path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            number = next((number for number, line in enumerate(lines, 1) if _MESSAGE.match(line[:200])), None)
            if number is not None:
                return f"{one_line(str(path.relative_to(folder)))}, line {number}"
    return None


def openevolve_configuration(folder: Path, named: Path | None) -> TheirConfiguration:
    """The file that is `named`, else `config.yaml`, or the only YAML file whose name says that it is one. Raises
    InputError for one that is none, SeveralConfigurationsError."""
    return _read(folder, named, ["config.yaml", "config.yml"], "*config*.y*ml")


def shinka_configuration(folder: Path, named: Path | None) -> TheirConfiguration:
    """The YAML file of a task, under what a Python script that calls `EvolutionConfig` says; either may be `named`.
    Raises InputError, SeveralConfigurationsError."""
    scripts = [path for path in sorted(folder.glob("*.py")) if path.is_file() and _CALLED in read_source(path)]
    scripts = [path for path in scripts if path.name == "run_evo.py"] or scripts
    if named is not None and named.suffix == ".py":
        scripts, named = [_chosen(folder, named)], None
    found = _read(folder, named, ["config.yaml", "shinka.yaml", "experiment_config.yaml"], "shinka*.y*ml")
    if not scripts:
        return found
    if len(scripts) > 1:
        raise SeveralConfigurationsError(folder, [path.name for path in scripts])
    script = scripts[0]
    try:
        spelled, computed = configured_in(read_source(script))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"{one_line(str(script))}: is no Python program ({one_line(str(error))})") from None
    document = dict(found.document)
    for section, values in spelled.items():
        own = document.get(section)
        document[section] = (own if isinstance(own, dict) else {}) | values
    origin = f"{found.origin} and {script.name}" if found.document else script.name
    notes = [f"{script.name}: not taken over: {', '.join(computed)} (computed when it is run)"] if computed else []
    return replace(found, document=document, origin=origin, notes=(*found.notes, *notes))


def _read(folder: Path, named: Path | None, first: Sequence[str], pattern: str) -> TheirConfiguration:
    """The configuration that is `named`, else one of the names `first`, else the only file that fits the pattern."""
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
    others = ", ".join(one_line(path.name) for path in sorted(every - {*chosen}))
    return TheirConfiguration(
        document=read_mapping(chosen[0], error=InputError, foreign=True),
        origin=chosen[0].name,
        files=files,
        notes=(f"not read: {others} ({chosen[0].name} is; choose another with --config FILE)",) if others else (),
    )


def _chosen(folder: Path, named: Path) -> Path:
    """The file that was named, in the folder or elsewhere. Raises InputError."""
    for path in (folder / named, named):
        if path.is_file():
            return path
    raise InputError(f"--config {one_line(str(named))}: there is no such file, here or in {one_line(str(folder))}")

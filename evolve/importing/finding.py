"""Which files of somebody else's folder are the program, the evaluator and the configuration."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evaluator.untrusted import one_line
from evaluator.yaml_file import read_mapping
from evolve.errors import InputError
from evolve.files import read_source
from evolve.importing.scripts import configured_in

_NO_PROGRAM: Final = frozenset({".md", ".txt", ".pyc", ".bak", ".orig", ".log", ".yaml", ".yml"})
_CALLED: Final = "EvolutionConfig("


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
            if path.is_file() and path.stem == stem and path.suffix and path.suffix not in _NO_PROGRAM
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


def openevolve_configuration(folder: Path) -> TheirConfiguration:
    """`config.yaml`, or the only YAML file whose name says that it is one. Raises InputError for one that is none."""
    return _only(folder, _named(folder, ["config.yaml", "config.yml"], "*config*.y*ml"))


def shinka_configuration(folder: Path) -> TheirConfiguration:
    """The YAML file of a task, under what a Python script that calls `EvolutionConfig` says. Raises InputError."""
    found = _only(folder, _named(folder, ["config.yaml", "shinka.yaml", "experiment_config.yaml"], "shinka*.y*ml"))
    scripts = [path for path in sorted(folder.glob("*.py")) if path.is_file() and _CALLED in read_source(path)]
    scripts = [path for path in scripts if path.name == "run_evo.py"] or scripts
    if not scripts:
        return found
    if len(scripts) > 1:
        note = f"not read: {_names(scripts)}: each configures a run; call the one to be read run_evo.py"
        return replace(found, notes=(*found.notes, note))
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


def _named(folder: Path, first: Sequence[str], pattern: str) -> tuple[list[Path], list[Path]]:
    """The configurations of a folder: those to be read, and all of them."""
    every = {path for path in folder.glob(pattern) if path.is_file()} | {folder / name for name in first}
    found = sorted(path for path in every if path.is_file())
    chosen = next(([folder / name] for name in first if folder / name in found), found)
    return chosen, found


def _only(folder: Path, found: tuple[list[Path], list[Path]]) -> TheirConfiguration:
    chosen, every = found
    files = tuple(path.name for path in every)
    if len(chosen) != 1:
        notes = [f"not read: {_names(chosen)}: call the one to be read config.yaml"] if chosen else []
        return TheirConfiguration(document={}, origin="no configuration", files=files, notes=tuple(notes))
    others = [path for path in every if path not in chosen]
    return TheirConfiguration(
        document=read_mapping(chosen[0], error=InputError, foreign=True),
        origin=chosen[0].name,
        files=files,
        notes=(f"not read: {_names(others)} ({chosen[0].name} is)",) if others else (),
    )


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(one_line(path.name) for path in paths)

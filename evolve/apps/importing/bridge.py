"""Hints for files and folders that `evolve` cannot run as given: they belong to another system, or elsewhere."""

from pathlib import Path
from typing import Final

from evaluator.task_files import built_in_tasks
from evaluator.task_yaml import FILE, JUDGE, SCRIPT
from evaluator.untrusted import one_line
from evaluator.yaml_file import read_mapping
from evolve.core.config import Config
from evolve.core.errors import InputError
from evolve.core.files import read_source
from evolve.core.invocation import command

OPENEVOLVE: Final = "--from-openevolve"
SHINKA: Final = "--from-shinka"
_NAMES: Final = {OPENEVOLVE: "OpenEvolve", SHINKA: "ShinkaEvolve"}
_KEYS: Final = {
    OPENEVOLVE: {"max_iterations", "llm", "evaluator", "database", "prompt", "diff_based_evolution", "random_seed"},
    SHINKA: {"evo_config", "evolution_config", "job_config", "db_config", "num_generations", "max_evaluation_jobs"},
}
_RUN: Final = "run.yaml"


def system_of_folder(folder: Path) -> str | None:
    """The option of `evolve new` for a folder with another system's task; None for any other folder. Raises InputError
    if its evaluator cannot be read."""
    if not folder.is_dir() or any((folder / name).is_file() for name in (FILE, JUDGE)):
        return None
    stems = {path.stem for path in folder.iterdir() if path.is_file()}
    script = folder / SCRIPT
    is_program = "initial_program" in stems or (folder / "initial_program").is_dir()
    if is_program and stems & {"evaluator", "evaluate"}:
        return OPENEVOLVE
    if "initial" in stems and (folder / "evaluator.py").is_file():
        return OPENEVOLVE
    if "initial" in stems and script.is_file():
        text = read_source(script)
        return SHINKA if "shinka" in text or "--program_path" in text else None
    return None


def system_of_document(document: dict[str, object]) -> str | None:
    """The option of `evolve new` for a configuration with another system's keys; None without such keys, and if there
    are keys of ours too: the others are mistakes then."""
    if document.keys() & Config.model_fields.keys():
        return None
    return next((option for option, keys in _KEYS.items() if keys & document.keys()), None)


def import_hint(named: Path, *, as_task: bool) -> str | None:
    """What to do with a file or a folder that `evolve run` cannot use, `as_task` or as its configuration; None without
    a hint. Raises InputError if it cannot be read."""
    if not named.exists():
        is_task = not as_task and str(named) in built_in_tasks()
        return f"it is a task: {command('run', '--task', named)}" if is_task else None
    words: list[str | Path] = [named]
    if named.is_dir():
        option = system_of_folder(named)
    else:
        option = system_of_document(read_mapping(named, error=InputError, foreign=True))
        words = [named.parent, "--config", named.name]
    if option is not None:
        return f"it belongs to {_NAMES[option]}; convert its folder to a task: {command('new', 'mine', option, *words)}"
    if as_task or not named.is_dir():
        return None
    if (named / _RUN).is_file():
        return f"{one_line(str(named))} holds a configuration: {command('run', named / _RUN)}"
    if any((named / name).is_file() for name in (FILE, JUDGE, SCRIPT)):
        return f"{one_line(str(named))} is the folder of a task: {command('run', '--task', named)}"
    return None


def hint_for_other_system(folder: Path, option: str, new: Path) -> str | None:
    """The command for a folder of the other system than `option` names; None if it belongs to neither or to that."""
    system = system_of_folder(folder)
    if system in (None, option):
        return None
    return f"it belongs to {_NAMES[system]}: {command('new', new, system, folder)}"

"""The folders of runs: found by path or by name under `runs/`, and chosen for a new run."""

import contextlib
import difflib
import time
from collections.abc import Sequence
from pathlib import Path

from evaluator.task_files import load_task
from evaluator.untrusted import one_line
from evolve.archive.disk import kind_of
from evolve.core.config import Config
from evolve.core.errors import InputError
from evolve.core.invocation import command

RUNS = Path("runs")
_JOURNAL = "journal.jsonl"


def known_runs(runs: Path = RUNS) -> list[str]:
    """The names of the runs in the folder `runs`, in order; none when there is no such folder. Hidden folders are runs
    that are being made, or whose making was killed."""
    if not runs.is_dir():
        return []
    return sorted(path.parent.name for path in runs.glob(f"[!.]*/{_JOURNAL}"))


def resolve_run(name: str, runs: Path = RUNS) -> Path:
    """The folder of a run, by name or path. Raises InputError with the names of the runs that there are.

    A folder without a run is returned if no run has the name: opening it says what is missing.
    """
    candidates = [Path(name), runs / name] if name else []
    folders = [path for path in candidates if _is_folder(path)]
    for path in folders:
        if is_file(path / _JOURNAL):
            return path
    if folders:
        return folders[0]
    for path in candidates:
        with contextlib.suppress(OSError, ValueError):  # nothing is there, or nothing can have that name
            kind = kind_of(path.stat().st_mode)
            raise InputError(f"{one_line(str(path))} is {kind}; name the folder of a run, or its name under {runs}/")
    raise InputError(f"there is no run '{one_line(name, 80)}': {_what_there_is(name, known_runs(runs), runs)}")


def run_names(folders: Sequence[Path]) -> list[str]:
    """Unique names for the runs in these folders: the last parts of each path, as few as distinguish them all. Only the
    same folder gets the same name twice."""
    paths = [folder.resolve() for folder in folders]
    depths = range(1, max((len(path.parts) for path in paths), default=0) + 1)
    named = ([str(Path(*path.parts[-depth:])) for path in paths] for depth in depths)
    return next((names for names in named if len(set(names)) == len(set(paths))), [])


def new_run_folder(config: Config, name: str | None) -> Path:
    """The folder of a new run: `runs/<name>`, by default named by task, suite and time. Raises InputError."""
    if name is not None:
        plain = name == Path(name).name and name.isprintable() and not name.startswith((".", "-"))
        if not name or not plain or len(name.encode("utf-8", "surrogatepass")) > 200:
            raise InputError(
                f"the run's name {name[:80]!r} (--name) must be the plain name of a folder: printable, at most 200 "
                "bytes, without '/' and without a leading '.' or '-'"
            )
        return RUNS / name
    task = load_task(config.task)
    return RUNS / f"{task.name}-{config.suite or task.default_suite}-{time.strftime('%Y%m%d-%H%M%S')}"


def is_file(path: Path) -> bool:
    """Whether there is a file; no where nobody may look, or no file can have the name."""
    try:
        return path.is_file()
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # the name is too long for any folder, or its parents may not be looked into
        return False


def _what_there_is(name: str, names: list[str], runs: Path) -> str:
    if not names:
        return f"{runs.absolute()} holds none yet (make one with: {command('run')})"
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    return f"{hint}{runs}/ has {shown}"

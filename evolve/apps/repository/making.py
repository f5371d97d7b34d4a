"""Makes a task out of a repository: its tracked files, its commands, the proof that a program is what runs, the noise.

The folder is made under another name, and gets its own when all checks hold.
"""

import json
import math
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.errors import TaskError
from evaluator.frozen_files import why_frozen
from evaluator.objective import Direction
from evaluator.pairs import Noise, noise_of
from evaluator.program_files import matches
from evaluator.repository.commands import BuiltTree, CommandFailed, PassedTests, RepositoryCommands
from evaluator.repository.evaluator import RepositoryEvaluator
from evaluator.repository.proof import unused_files
from evaluator.repository_task import NOISE, PREPARED, TREE, Measure, tracked
from evaluator.sandbox.options import STRONGEST, SandboxOptions
from evaluator.task_files import load_task
from evaluator.task_yaml import FILE, plain_name
from evaluator.untrusted import one_line
from evolve.apps.repository.checkout import Checkout, find_repository
from evolve.core.errors import InputError, UserCommandError
from evolve.core.invocation import command

_LIMITS: Final = {"cpu_total_s": 600, "wall_s": 1800, "memory_mb": 4096, "scratch_mb": 2048}
"""The limits of each command while the task is made."""
_TIMES: Final = 10
_LEAST_S: Final = 10
"""Each command of a program may take ten times as long as the longest of the unchanged code, at least ten seconds."""
_SHORT_S: Final = 2.0
_NOISY: Final = 0.05
_REPEATS: Final = 5
"""Where a benchmark is as short and as noisy, a measurement is the median of five runs: other programs disturb some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryOptions:
    """What a person says about the repository."""

    path: Path
    edit: tuple[str, ...]
    test: str
    bench: str
    measure: Measure
    metric: str | None
    direction: Direction | None
    setup: str | None
    build: str | None
    test_count: str | None
    dirty: bool

    @property
    def commands(self) -> list[str]:
        """The commands that are given."""
        return [line for line in (self.test, self.bench, self.setup, self.build) if line]


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeTask:
    """What was found out about a new task."""

    commit: str
    dirty: bool
    files: int
    tests: int | None
    noise: Noise


def make_task(
    options: RepositoryOptions,
    folder: Path,
    *,
    confined: SandboxOptions = STRONGEST,
    tell: Callable[[str], None] = lambda _: None,
) -> MadeTask:
    """Make the folder of a task; `tell` hears what is being done. Raises InputError where the repository is no task,
    and what evaluators raise."""
    if folder.exists():
        raise InputError(f"{one_line(str(folder))} exists already; choose another folder")
    checkout = find_repository(options.path, allow_dirty=options.dirty)
    with _new_folder(folder) as made:
        tell("reading the tracked files")
        checkout.write(made / TREE)
        check_edit(tracked(made / TREE), options.edit, options.commands)
        document = _document(options, checkout, folder)
        if options.setup is not None:
            tell(f"running the setup: {options.setup}")
            _prepare(made, document, options.setup, confined)
        tests, noise = _examined(made, document, options, confined, tell)
        files = len(load_task(str(made)).initial_files())
    return MadeTask(commit=checkout.commit, dirty=checkout.dirty, files=files, tests=tests.count, noise=noise)


def check_edit(paths: Iterable[str], edit: Iterable[str], commands: Iterable[str]) -> None:
    """Raises InputError for a pattern that matches no file, or one that must not change."""
    known, lines = list(paths), list(commands)
    for pattern in edit:
        matched = [path for path in known if matches(path, pattern)]
        if not matched:
            raise InputError(
                f"--edit {pattern}: matches no tracked file; a pattern is a path from the top folder, such as "
                "src/*.py, and ** goes through folders"
            )
        for path in matched:
            if why := why_frozen(path, lines):
                raise InputError(f"--edit {pattern}: matches {path}, which may not change: it is {why}")


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder that becomes `folder` at the end, and is removed if that is not reached. Raises InputError."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name[:40]}-", dir=folder.parent))
    except OSError as cause:
        raise InputError(f"{one_line(str(folder))}: cannot be made ({cause.strerror})") from None
    try:
        yield made
        made.chmod(0o755)
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _document(options: RepositoryOptions, checkout: Checkout, folder: Path) -> dict[str, Any]:
    """`task.yaml` before anything was measured."""
    given = {
        "metric": options.metric,
        "direction": None if options.direction is None else options.direction.value,
        "setup": options.setup,
        "build": options.build,
        "test_count": options.test_count,
    }
    return {
        "name": plain_name(folder.resolve().name),
        "description": _description(options, checkout),
        "edit": list(options.edit),
        "repository": {
            "commit": checkout.commit + ("-dirty" if checkout.dirty else ""),
            "test": options.test,
            "bench": options.bench,
            "measure": options.measure.value,
            "path": _own_path(),
        }
        | {key: value for key, value in given.items() if value is not None},
        "limits": _LIMITS,
    }


def _own_path() -> list[str]:
    """The absolute folders of PATH, each once."""
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return list(dict.fromkeys(place for place in places if Path(place).is_absolute()))


def _description(options: RepositoryOptions, checkout: Checkout) -> str:
    goal = {
        Measure.CPU: "Make the benchmark take less CPU time",
        Measure.WALL: "Make the benchmark take less time",
        Measure.MEMORY: "Make the benchmark need less memory at its peak",
        Measure.METRIC: f"Make the number that the benchmark prints "
        f"{'larger' if options.direction is Direction.MAXIMISE else 'smaller'}",
    }[options.measure]
    return (
        f"{goal}, in the repository {plain_name(checkout.top.name)}. The tests must keep passing: `{options.test}`. "
        f"The benchmark is `{options.bench}`. Only files that match {', '.join(options.edit)} may change. Each run "
        "begins with a fresh copy of the files, so that nothing can be kept from one run for the next."
    )


def _write(made: Path, document: dict[str, Any]) -> None:
    """Write `task.yaml`: JSON on the right of each key is YAML too."""
    lines = [
        "# A task out of a repository. Its files at the commit are in the folder repository/.",
        "# A program shares the process of its tests: they catch mistakes, not malice. Read a patch first.",
    ]
    for key, value in document.items():
        if isinstance(value, dict):
            lines.append(f"{key}:")
            lines += [f"  {inner}: {json.dumps(each, ensure_ascii=False)}" for inner, each in value.items()]
        else:
            lines.append(f"{key}: {json.dumps(value, ensure_ascii=False)}")
    (made / FILE).write_text("\n".join([*lines, ""]), encoding="utf-8")


@contextmanager
def _commands_of(made: Path, confined: SandboxOptions) -> Iterator[tuple[RepositoryEvaluator, RepositoryCommands]]:
    task = load_task(str(made))
    with RepositoryEvaluator(task, task.suite(), workers=1, confined=confined) as evaluator:
        yield evaluator, evaluator.commands


def _prepare(made: Path, document: dict[str, Any], setup: str, confined: SandboxOptions) -> None:
    """Run the setup, and keep the tree after it. Raises InputError."""
    building = document["repository"].pop("build", None)
    _write(made, document)
    try:
        with _commands_of(made, confined) as (_, commands), commands.tree(commands.unchanged) as tree:
            (made / PREPARED).write_bytes(commands.kept("setup", setup, tree))
    except CommandFailed as failed:
        raise _refused("--setup", failed) from None
    if building is not None:
        document["repository"]["build"] = building


def _examined(
    made: Path,
    document: dict[str, Any],
    options: RepositoryOptions,
    confined: SandboxOptions,
    tell: Callable[[str], None],
) -> tuple[PassedTests, Noise]:
    """The tests and the noise of the unchanged code, written into the folder. Raises InputError."""
    _write(made, document)
    with _commands_of(made, confined) as (_, commands):
        tell(f"running the tests: {options.test}")
        with _tree(commands) as tree:
            tests = _tests(commands, tree, options)
            began = time.monotonic()
            try:
                commands.measure(tree)
            except CommandFailed as failed:
                raise _refused("--bench", failed) from None
            bench_s = time.monotonic() - began
    if tests.count is not None:
        document["repository"]["tests"] = tests.count
    seconds = max(_LEAST_S, math.ceil(_TIMES * max(bench_s, tests.cpu_s, tests.wall_s)))
    document["limits"] = _LIMITS | {"cpu_total_s": seconds, "wall_s": 3 * seconds}
    _write(made, document)
    with _commands_of(made, confined) as (_, commands):
        tell("replacing each file by a broken one: is it what runs?")
        for path, instead in unused_files(commands):
            raise InputError(_not_run(path, instead))
    runs = _noise(made, confined, tell)
    if bench_s < _SHORT_S and noise_of(runs).floor > _NOISY:
        document["repository"]["repeats"] = _REPEATS
        _write(made, document)
        runs = _noise(made, confined, tell)
    text = json.dumps({"host": platform.node(), "runs": runs}, indent=1)
    (made / NOISE).write_text(text + "\n", encoding="utf-8")
    return tests, noise_of(runs)


def _noise(made: Path, confined: SandboxOptions, tell: Callable[[str], None]) -> tuple[float, ...]:
    """Measurements of the unchanged code. Raises InputError where the benchmark fails."""
    with _commands_of(made, confined) as (evaluator, _):
        repeats = evaluator.repository.repeats
        tell(f"measuring the noise of the unchanged code{f', {repeats} runs at a time' if repeats > 1 else ''}")
        try:
            return evaluator.measured_noise()
        except TaskError as cause:
            raise InputError(f"--bench: {cause}") from None


@contextmanager
def _tree(commands: RepositoryCommands) -> Iterator[BuiltTree]:
    try:
        with commands.tree(commands.unchanged) as tree:
            yield tree
    except CommandFailed as failed:
        raise _refused("--build", failed) from None


def _tests(commands: RepositoryCommands, tree: BuiltTree, options: RepositoryOptions) -> PassedTests:
    """The tests of the unchanged code. Raises InputError unless they pass, and there are some."""
    try:
        tests = commands.test(tree)
    except CommandFailed as failed:
        raise _refused("--test", failed) from None
    if tests.count == 0:
        raise InputError(f"--test {options.test}: no test ran, so that nothing would notice a broken program")
    if tests.count is None and options.test_count is not None:
        raise InputError(f"--test-count {options.test_count}: finds no number in what the tests print")
    return tests


def _refused(option: str, failed: CommandFailed) -> UserCommandError:
    output = failed.output
    if re.search(r"No module named|command not found|not found", failed.feedback):
        hint = command("new", "--help")
        output += f"\nThe commands see the system and the folders of your PATH, and no network (see: {hint})."
    return UserCommandError(f"{option}: the unchanged code does not pass: {failed.detail}", output)


def _not_run(path: str, instead: str | None) -> str:
    used = f"; {instead} is used instead" if instead is not None else ""
    return (
        f"--edit {path}: a broken file in its place changes nothing: tests and benchmark still end well, so they do "
        f"not run it{used}. Let the commands use the repository's own files (for Python, PYTHONPATH=. or an editable "
        "install in --setup), or leave this file out of --edit"
    )

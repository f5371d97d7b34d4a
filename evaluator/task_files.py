"""Reading a task's folder: its parts as `task.yaml` names them (`evaluator.task_yaml`), or by default.

A program sees what its evaluator script sees. So where a judge decides, the script gets itself and what `script_files`
names: no judge, instances, bounds or held-out suites. Without a judge it gets the whole folder, without hidden files
and without runs that somebody started in that folder.
"""

import ast
import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from evaluator.errors import TaskError
from evaluator.input_files import checked
from evaluator.judge_module import JudgeModule, SelfJudged
from evaluator.objective import Direction, Objective
from evaluator.places import content_of, resolve_path, source_of
from evaluator.program_files import ProgramFolder
from evaluator.repository.reading import read_repository
from evaluator.task import Instance, Script, Suite, Task
from evaluator.task_code import describe_error, must_be_python
from evaluator.task_yaml import FILE, JUDGE, SCRIPT, BoundEntry, Bounds, SuiteEntry, TaskEntry, read_task_yaml
from evaluator.untrusted import one_line

_SHIPPED: Final = Path(__file__).resolve().parent / "tasks"
_PROMPT: Final = "prompt.md"
_INGREDIENTS: Final = "ingredients"
_RUN: Final = "run.yaml"
"""The settings of an imported folder for `evolve run`: they decide no verdict."""
_BLOCK: Final = re.compile(r"^[ \t]*#[ \t]*EVOLVE-BLOCK-START[ \t]*$(.*?)^[ \t]*#[ \t]*EVOLVE-BLOCK-END", re.M | re.S)
_BOUND_OF: Final = {Direction.MINIMISE: "lower_bound", Direction.MAXIMISE: "upper_bound"}

MOST_FILES: Final = 2000
MOST_BYTES: Final = 64 * 1024 * 1024
"""The most that a script may read: the evaluator's version reads all of it."""
_NOT_READ: Final = frozenset({"__pycache__", "runs"})
"""Folders that no script gets: Python's cache, and runs that were started in the task's folder."""


def built_in_tasks() -> list[str]:
    """The names of the tasks that ship with the package."""
    return sorted(path.parent.name for path in _SHIPPED.glob(f"*/{FILE}"))


def load_task(name: str) -> Task:
    """The built-in task `name`, or the one in the folder `name`. Raises TaskError."""
    folder = _SHIPPED / name
    if name not in built_in_tasks():
        folder = Path(name)
        if not any(_is_file(folder / file) for file in (FILE, JUDGE, SCRIPT)):
            names = ", ".join(built_in_tasks())
            raise TaskError(
                f"there is no task {one_line(name)!r}: neither built in (there is: {names}) nor a folder with "
                f"{JUDGE}, {SCRIPT} or {FILE} (with `script: FILE` for a script of another name)"
            )
    return _read_task(folder.resolve())


def _read_task(folder: Path) -> Task:
    entry = read_task_yaml(folder)
    adapter, exact_path = folder / "adapter.py", folder / "exact.py"
    adapter_source = _adapter(adapter) if adapter.is_file() else ""
    judge = _judge(entry)
    repository = read_repository(entry)
    initial, program_folder = _initial(entry) if repository is None else (repository.tree, repository.program_folder)
    script = None
    if entry.script is not None:
        excluded = [
            initial if program_folder is None else initial.resolve(),
            folder / _PROMPT,
            folder / _RUN,
            folder / (entry.ingredients or _INGREDIENTS),
        ]
        excluded += [] if entry.prompt is None else [resolve_path(entry.prompt, folder=folder)]
        script = _read_script(entry, _file(entry, "script", entry.script), judge, initial, excluded)
    entry_point = entry.entry_point or ("" if entry.runs_commands else _only_function(entry, initial))
    objective = repr(sorted(entry.resolved_objective.to_json().items()))
    reference = _reference(entry)
    return Task(
        name=entry.name,
        folder=folder,
        entry_point=entry_point,
        description=entry.description,
        prompt_text=_prompt_text(entry)
        or entry.description
        or ("" if repository is not None else _docstring(initial, entry_point)),
        objective=entry.resolved_objective,
        initial=initial,
        ingredients=_ingredients(entry),
        default_suite=entry.first_suite,
        packages=tuple(entry.packages),
        suites={key: partial(_read_suite, key, entry, suite, judge) for key, suite in entry.suites.items()},
        judge=judge,
        exact_file=exact_path if exact_path.is_file() else None,
        adapter_source=adapter_source,
        digest=_digest(
            judge.digest.encode(),
            adapter_source.encode(),
            entry_point.encode(),
            objective.encode(),
            *([] if reference is None else [source_of(reference, "the reference program").encode()]),
            *([] if script is None else [b"script", script.digest.encode()]),
            *([] if program_folder is None or repository is not None else program_folder.parts()),
            *([] if repository is None else [b"repository", repository.digest().encode()]),
        ),
        reference=reference,
        script=script,
        program_folder=program_folder,
        repository=repository,
    )


# -- its parts ---------------------------------------------------------------------------------------------------------


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long, or the folder cannot be entered
        return False


def _file(entry: TaskEntry, key: str, name: str) -> Path:
    path = resolve_path(name, folder=entry.path.parent)
    if not _is_file(path):
        raise entry.wrong(key, f"is {name!r}, and there is no file {path}")
    return path


def _initial(entry: TaskEntry) -> tuple[Path, ProgramFolder | None]:
    """The initial program: a file, or the folder of one of several files. Raises TaskError."""
    path = resolve_path(entry.initial, folder=entry.path.parent)
    if not path.is_dir():
        for key in ("edit", "new_files"):
            if getattr(entry, key) is not None:
                raise entry.wrong(
                    key, f"is for an initial program that is a folder, and `initial` is {entry.initial!r}"
                )
        return _file(entry, "initial", entry.initial), None
    if entry.script is None:
        raise entry.wrong(
            "initial", f"is the folder {entry.initial!r}; without an evaluator script ({SCRIPT}) a program is one file"
        )
    if path == entry.path.parent:
        raise entry.wrong("initial", "is the task's own folder; put the program into a folder of its own")
    folder = ProgramFolder(folder=path, edit=tuple(entry.edit or ["**"]), may_add=bool(entry.new_files))
    folder.read()  # so that a mistake is found here
    return path, folder


def _judge(entry: TaskEntry) -> JudgeModule | SelfJudged:
    path = entry.path.parent / JUDGE
    if entry.judged:
        return JudgeModule(path, entry.resolved_objective, timed=entry.uses_clock)
    if entry.repository is not None:
        return SelfJudged(entry.path)
    if entry.script is None:
        raise TaskError(f"{entry.path.parent}: holds neither {JUDGE} nor {SCRIPT}; `script: FILE` names another script")
    return SelfJudged(entry.path.parent / entry.script)


def _ingredients(entry: TaskEntry) -> Path | None:
    folder = resolve_path(entry.ingredients or _INGREDIENTS, folder=entry.path.parent)
    if folder.is_dir():
        return folder
    if entry.ingredients is None:
        return None
    raise entry.wrong("ingredients", f"is {entry.ingredients!r}, and there is no folder {folder}")


def _reference(entry: TaskEntry) -> Path | None:
    """The program to time against (by default the initial program); None where the clock is not the score."""
    if entry.uses_clock:
        return _file(entry, "reference", entry.initial if entry.reference is None else entry.reference)
    if entry.reference is not None:
        raise entry.wrong("reference", "is only for tasks with `uses_clock: true`; add that, or remove this key")
    return None


def _only_function(entry: TaskEntry, initial: Path) -> str:
    """The default entry point: the only public function in the evolve block, or in a file without one. Raises
    TaskError."""
    text = source_of(initial, "the initial program")
    with must_be_python(initial):
        tree = ast.parse(text)
    blocks = [
        range(text.count("\n", 0, block.start(1)) + 1, text.count("\n", 0, block.end(1)) + 2)
        for block in _BLOCK.finditer(text)
    ]
    names = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and (not blocks or any(node.lineno in block for block in blocks))
    ]
    if len(names) == 1:
        return names[0]
    raise TaskError(
        f"{initial}: which function is called? There must be one in the evolve block whose name does not begin with an "
        f"underscore (found: {', '.join(names) or 'none'}), or {entry.path} must name it: `entry_point: NAME`"
    )


def _docstring(initial: Path, entry_point: str) -> str:
    """The docstrings of the initial program: the prompt of a task without a description."""
    try:
        tree = ast.parse(initial.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return ""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == entry_point]
    docstrings = [ast.get_docstring(tree), *(ast.get_docstring(node) for node in functions)]
    return "\n\n".join(text for text in docstrings if text)


def _prompt_text(entry: TaskEntry) -> str:
    """The task in words: the file that `prompt` names, else `prompt.md` in the folder, else empty."""
    if entry.prompt is not None:
        return source_of(_file(entry, "prompt", entry.prompt), "the prompt").strip()
    default = entry.path.parent / _PROMPT
    return source_of(default, "the prompt").strip() if default.is_file() else ""


def _adapter(path: Path) -> str:
    """The adapter's source, compiled here only to find syntax errors. Raises TaskError."""
    source = source_of(path, "the adapter")
    with must_be_python(path):
        compile(source, str(path), "exec", dont_inherit=True)
    return source


# -- its script --------------------------------------------------------------------------------------------------------


def _read_script(
    entry: TaskEntry, path: Path, judge: JudgeModule | SelfJudged, initial: Path, excluded: Sequence[Path]
) -> Script:
    """The task's script, at `path`. Its digest covers everything that it may read and that may decide its result: all
    but `task.yaml` and `excluded` (files or folders). Raises TaskError."""
    folder = entry.path.parent
    name = entry.script or ""
    if not path.is_relative_to(folder):
        raise entry.wrong("script", f"is {name!r}; it must lie in the task's folder, which is all that it may read")
    if path.suffix != ".py" and not os.access(path, os.X_OK):
        raise entry.wrong("script", f"is {name!r}, which is neither Python (.py) nor executable (chmod +x)")
    if (folder / "adapter.py").is_file():
        raise TaskError(f"{folder / 'adapter.py'}: is not used by a script, which calls programs itself; remove it")
    if judge.converse is not None:
        raise TaskError(f"{folder / JUDGE}: asks item by item (converse), and a script answers instances as a whole")
    program_name = entry.program_name or f"program{initial.suffix}"
    files = _named_files(entry, path) if entry.judged or entry.script_files else _visible_files(folder)
    parts = [
        str(path.relative_to(folder)),
        program_name,
        *entry.environment,
        _digest_of_files(files, folder, frozenset([entry.path, *excluded])),
    ]
    return Script(
        path=path,
        program_name=program_name,
        environment=tuple(entry.environment),
        files=tuple(files),
        digest=hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest(),
        judged=entry.judged,
    )


def _named_files(entry: TaskEntry, path: Path) -> list[Path]:
    """The script and what `script_files` names. Raises TaskError."""
    folder, files = entry.path.parent, [path]
    for name in entry.script_files:
        named = (folder / name).resolve()
        if not named.is_relative_to(folder) or named == folder or not named.exists():
            raise entry.wrong("script_files", f"holds {name!r}; there is no such file or folder in {folder}")
        files.append(named)
    return sorted(set(files))


def _visible_files(folder: Path) -> list[Path]:
    """The files and folders in a folder, sorted, without hidden ones and those of `_NOT_READ`. Raises TaskError."""
    try:
        paths = sorted(folder.iterdir())
    except OSError as cause:
        raise TaskError(f"{folder}: cannot be read ({cause.strerror})") from None
    return [path for path in paths if not path.name.startswith(".") and path.name not in _NOT_READ]


def _digest_of_files(files: Sequence[Path], folder: Path, excluded: frozenset[Path]) -> str:
    """The digest of every file among or below `files`, by its name in the folder. Raises TaskError for a link, and
    where there is too much."""
    digest, count, total = hashlib.sha256(), 0, 0
    for path in _walk(files, excluded):
        content = content_of(path)
        count, total = count + 1, total + len(content)
        if count > MOST_FILES or total > MOST_BYTES:
            raise TaskError(
                f"{folder}: holds more than {MOST_FILES} files or {MOST_BYTES >> 20} MB, and all of a folder with an "
                "evaluator script is read for the evaluator's version; give the task a folder of its own"
            )
        name = os.fsencode(path.relative_to(folder))
        digest.update(b"%d:%s%d:" % (len(name), name, len(content)))
        digest.update(content)
    return digest.hexdigest()


def _walk(paths: Sequence[Path], excluded: frozenset[Path]) -> Iterator[Path]:
    """The files among or below `paths`, in their order. Raises TaskError."""
    for path in paths:
        if path in excluded:
            continue
        if path.is_symlink():
            raise TaskError(f"{path}: is a link; the folder of an evaluator script must hold the files themselves")
        if path.is_dir():
            yield from _walk(_visible_files(path), excluded)
        elif path.is_file():
            yield path


# -- suites ------------------------------------------------------------------------------------------------------------


def _read_suite(name: str, task: TaskEntry, entry: SuiteEntry, judge: JudgeModule | SelfJudged) -> Suite:
    if entry.instances is None:
        path = task.path.parent / JUDGE
        instances = judge.instances()
        raw = json.dumps(instances).encode()
    else:
        path = _file(task, f"suites.{name}.instances", entry.instances)
        raw, instances = _read_json_list(path, "instances")
    bounds_bytes = b""
    bounds: list[BoundEntry | None] = [None for _ in instances]
    if entry.bounds is not None:
        path = _file(task, f"suites.{name}.bounds", entry.bounds)
        bounds_bytes, entries = _read_json_list(path, "bounds")
        bounds = checked(Bounds, {"bounds": entries}, str(path), TaskError).bounds
        if len(bounds) != len(instances):
            raise TaskError(f"{path}: has {len(bounds)} bounds for {len(instances)} instances")
    for number, listed in enumerate(entry.best_known):
        if listed.instance is not None and not 0 <= listed.instance < len(instances):
            key = f"suites.{name}.best_known[{number}].instance"
            raise task.wrong(key, f"is {listed.instance}; the instances go from 0 to {len(instances) - 1}")
    limits, objective = task.limits_of(entry), task.resolved_objective
    pairs = enumerate(zip(instances, bounds, strict=True))
    return Suite(
        name=name,
        instances=tuple(_instance(path, index, data, bound, objective) for index, (data, bound) in pairs),
        limits=limits,
        digest=_digest(
            raw,
            bounds_bytes,
            repr(limits).encode(),
            *([f"{limits.wall_s} {limits.scratch_mb}".encode()] if task.runs_commands else []),
        ),
        held_out=entry.held_out,
        best_known=tuple(entry.best_known),
    )


def _instance(path: Path, index: int, data: Any, entry: BoundEntry | None, objective: Objective) -> Instance:
    """An instance with its bound from `path`, if there is one."""
    if entry is None or not entry.model_fields_set:
        return Instance(index=index, data=data)
    where, key = f"{path}: bounds[{index}]", _BOUND_OF[objective.per_instance]
    for other in entry.model_fields_set & {*_BOUND_OF.values()} - {key}:
        raise TaskError(
            f"{where}.{other} is given, and what judge() returns is to {objective.per_instance}, which needs {key}; "
            "which of the two is meant? (`objective` of the task states the direction)"
        )
    if (bound := getattr(entry, key)) is None:
        raise TaskError(f"{where}.{key} is missing")
    return Instance(index=index, data=data, bound=bound, proven=entry.proven, best_answer=entry.answer)


def _read_json_list(path: Path, key: str) -> tuple[bytes, list[Any]]:
    raw = content_of(path)
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as cause:
        raise TaskError(f"{path}: is not JSON ({describe_error(cause)})") from None
    entries = document.get(key) if isinstance(document, dict) else None
    if not isinstance(entries, list) or not entries:
        raise TaskError(f"{path}: must hold a non-empty list under {key!r}")
    return raw, entries


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()

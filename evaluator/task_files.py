"""Reading a task's folder: its parts as `task.yaml` names them (`evaluator.task_yaml`), or by default."""

import ast
import hashlib
import json
import re
from functools import partial
from pathlib import Path
from typing import Any, Final

from evaluator.errors import TaskError
from evaluator.input_files import checked
from evaluator.judge_module import JudgeModule, SelfJudged
from evaluator.objective import Direction, Objective
from evaluator.places import content_of, resolve_path, source_of
from evaluator.script_folder import read_script
from evaluator.task import Instance, Suite, Task
from evaluator.task_code import must_be_python, told
from evaluator.task_yaml import FILE, JUDGE, SCRIPT, BoundEntry, Bounds, SuiteEntry, TaskEntry, read_task_yaml
from evaluator.untrusted import one_line

_SHIPPED: Final = Path(__file__).resolve().parent / "tasks"
_PROMPT: Final = "prompt.md"
_INGREDIENTS: Final = "ingredients"
_RUN: Final = "run.yaml"
"""What a folder taken over from another system has for `evolve run`: it decides no verdict."""
_BLOCK: Final = re.compile(r"^[ \t]*#[ \t]*EVOLVE-BLOCK-START[ \t]*$(.*?)^[ \t]*#[ \t]*EVOLVE-BLOCK-END", re.M | re.S)
_BOUND_OF: Final = {Direction.MINIMISE: "lower_bound", Direction.MAXIMISE: "upper_bound"}


def built_in_tasks() -> list[str]:
    """The names of the tasks that ship with the package."""
    return sorted(path.parent.name for path in _SHIPPED.glob(f"*/{FILE}"))


def load_task(name: str) -> Task:
    """The task called `name`, or in the folder `name` (a path, or a folder with `judge.py`). Raises TaskError."""
    folder = _SHIPPED / name
    if name not in built_in_tasks():
        folder = Path(name)
        if not any(_is_file(folder / file) for file in (FILE, JUDGE, SCRIPT)):
            known = ", ".join(built_in_tasks())
            raise TaskError(
                f"there is no task {one_line(name)!r}: neither built in (there is: {known}) nor a folder with "
                f"{JUDGE}, {SCRIPT} or {FILE} (with `script: FILE` for a script of another name)"
            )
    return _read_task(folder.resolve())


def _read_task(folder: Path) -> Task:
    entry = read_task_yaml(folder)
    adapter, exact_path = folder / "adapter.py", folder / "exact.py"
    adapter_source = _adapter(adapter) if adapter.is_file() else ""
    judge = _judge(entry)
    initial = _file(entry, "initial", entry.initial)
    script = None
    if entry.script is not None:
        not_read = [initial, folder / _PROMPT, folder / _RUN, folder / (entry.ingredients or _INGREDIENTS)]
        not_read += [] if entry.prompt is None else [resolve_path(entry.prompt, folder=folder)]
        script = read_script(entry, _file(entry, "script", entry.script), judge, initial, besides=not_read)
    entry_point = entry.entry_point or ("" if script is not None else _only_function(entry, initial))
    objective = repr(sorted(entry.resolved_objective.to_json().items()))
    reference = _reference(entry)
    return Task(
        name=entry.name,
        folder=folder,
        entry_point=entry_point,
        description=entry.description,
        prompt_text=_prompt_text(entry) or entry.description or _docstring(initial, entry_point),
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
        ),
        reference=reference,
        script=script,
    )


# -- its parts ---------------------------------------------------------------------------------------------------------


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, a folder that is closed
        return False


def _file(entry: TaskEntry, key: str, name: str) -> Path:
    found = resolve_path(name, folder=entry.path.parent)
    if not _is_file(found):
        raise entry.wrong(key, f"is {name!r}, and there is no file {found}")
    return found


def _judge(entry: TaskEntry) -> JudgeModule | SelfJudged:
    path = entry.path.parent / JUDGE
    if entry.judged:
        return JudgeModule(path, entry.resolved_objective, timed=entry.uses_clock)
    if entry.script is None:
        raise TaskError(f"{entry.path}: there is no {JUDGE} beside it, nor {SCRIPT}; `script: FILE` names another one")
    return SelfJudged(entry.path.parent / entry.script)


def _ingredients(entry: TaskEntry) -> Path | None:
    if entry.ingredients is None:
        beside = entry.path.parent / _INGREDIENTS
        return beside if beside.is_dir() else None
    found = resolve_path(entry.ingredients, folder=entry.path.parent)
    if not found.is_dir():
        raise entry.wrong("ingredients", f"is {entry.ingredients!r}, and there is no folder {found}")
    return found


def _reference(entry: TaskEntry) -> Path | None:
    """The program that others are timed against (by default the initial one); None where the clock is not the score."""
    if entry.uses_clock:
        return _file(entry, "reference", entry.initial if entry.reference is None else entry.reference)
    if entry.reference is not None:
        raise entry.wrong(
            "reference",
            "is given, and nothing is timed against it; add `uses_clock: true` where speed is the score, or take the "
            "key out",
        )
    return None


def _only_function(entry: TaskEntry, initial: Path) -> str:
    """The entry point where none is stated: the only function in the evolve block (the file, if it has none) whose name
    does not begin with an underscore. Raises TaskError."""
    text = source_of(initial, "the initial program")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as cause:
        line = f" line {cause.lineno}" if isinstance(cause, SyntaxError) else ""
        raise TaskError(f"{initial}{line}: is not Python ({told(cause)})") from None
    blocks = [
        range(text.count("\n", 0, found.start(1)) + 1, text.count("\n", 0, found.end(1)) + 2)
        for found in _BLOCK.finditer(text)
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
    found = ", ".join(names) or "none"
    raise TaskError(
        f"{initial}: which function is called? There must be one in the evolve block whose name does not begin with an "
        f"underscore (found: {found}), or {entry.path} must name it: `entry_point: NAME`"
    )


def _docstring(initial: Path, entry_point: str) -> str:
    """What the initial program says of itself: all that a model is told of a task that says nothing."""
    try:
        tree = ast.parse(initial.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return ""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == entry_point]
    said = [ast.get_docstring(tree), *(ast.get_docstring(node) for node in functions)]
    return "\n\n".join(text for text in said if text)


def _prompt_text(entry: TaskEntry) -> str:
    """The task in words, as it stands: from the file that is named, else from `prompt.md` beside it, else empty."""
    if entry.prompt is not None:
        return source_of(_file(entry, "prompt", entry.prompt), "the prompt").strip()
    beside = entry.path.parent / _PROMPT
    return source_of(beside, "the prompt").strip() if beside.is_file() else ""


def _adapter(path: Path) -> str:
    """Its source, which is Python; what it does is seen beside a candidate only."""
    source = source_of(path, "the adapter")
    with must_be_python(path):
        compile(source, str(path), "exec", dont_inherit=True)
    return source


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
            *([] if task.script is None else [f"{limits.wall_s} {limits.scratch_mb}".encode()]),
        ),
        held_out=entry.held_out,
        best_known=tuple(entry.best_known),
    )


def _instance(path: Path, index: int, data: Any, said: BoundEntry | None, objective: Objective) -> Instance:
    """An instance with what the bounds in `path` say of it, which may be nothing."""
    if said is None or not said.model_fields_set:
        return Instance(index=index, data=data)
    where, key = f"{path}: bounds[{index}]", _BOUND_OF[objective.per_instance]
    for other in said.model_fields_set & {*_BOUND_OF.values()} - {key}:
        raise TaskError(
            f"{where}.{other} is given, and what judge() returns is to {objective.per_instance}, which needs {key}; "
            "which of the two is meant? (`objective` of the task states the direction)"
        )
    if (bound := getattr(said, key)) is None:
        raise TaskError(f"{where}.{key} is missing")
    return Instance(index=index, data=data, bound=bound, proven=said.proven, best_answer=said.answer)


def _read_json_list(path: Path, key: str) -> tuple[bytes, list[Any]]:
    raw = content_of(path)
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as cause:
        raise TaskError(f"{path}: is not JSON ({told(cause)})") from None
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

"""Reading a task's folder: `task.yaml`, its parts, and its suites. The only place that knows their form."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

from evaluator.errors import TaskError
from evaluator.judging import ExactSolver, JudgeModule
from evaluator.places import resolve
from evaluator.task import Instance, Limits, Suite, Task
from evaluator.task_code import told
from evaluator.untrusted import one_line
from evaluator.yaml_file import nearest, read_mapping

_SHIPPED: Final = Path(__file__).resolve().parent / "tasks"
_PROMPT: Final = "prompt.md"
_TASK_KEYS: Final = {
    "name": str,
    "entry_point": str,
    "description": str,
    "prompt": str,
    "objective": str,
    "initial": str,
    "ingredients": str,
    "default_suite": str,
    "numpy": bool,
    "suites": dict,
    "uses_clock": bool,
    "reference": str,
}
_TASK_OPTIONAL: Final = {"prompt", "ingredients", "numpy", "uses_clock", "reference"}
_SUITE_KEYS: Final = {"instances": str, "bounds": str, "limits": dict, "held_out": str}
_SUITE_OPTIONAL: Final = {"bounds", "held_out"}
_LIMIT_KEYS: Final = {"cpu_per_instance_s": (int, float), "cpu_total_s": (int, float), "memory_mb": int}
_OBJECTIVES: Final = {"maximise combined_score"}
_BOUND_KEYS: Final = {"lower_bound": (int, float, str), "proven": bool, "answer": object}
_BOUND_OPTIONAL: Final = {"proven", "answer"}
_MOST: Final = {"cpu_per_instance_s": 10**6, "cpu_total_s": 10**6, "memory_mb": 2**24}
"""Beyond these (11 days, 16 TB) no limit is one, and the kernel's own numbers end."""
# Names become the names of folders: no separator, no leading dot, nothing that a shell reads.
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def built_in_tasks() -> list[str]:
    """The names of the tasks that ship with the package."""
    return sorted(path.parent.name for path in _SHIPPED.glob("*/task.yaml"))


def load_task(name: str) -> Task:
    """The task called `name`, or in the folder `name` (a path, or a folder with `task.yaml`). Raises TaskError."""
    folder = _SHIPPED / name
    if name not in built_in_tasks():
        folder = Path(name)
        if not _is_file(folder / "task.yaml"):
            known = ", ".join(built_in_tasks())
            raise TaskError(
                f"there is no task {one_line(name)!r}: neither built in (there is: {known}) nor a folder with task.yaml"
            )
    return _read_task(folder.resolve())


def _read_task(folder: Path) -> Task:
    path = folder / "task.yaml"
    document = _checked(path)
    adapter = folder / "adapter.py"
    adapter_source = _adapter(adapter) if adapter.is_file() else ""
    judge_path, exact_path = folder / "judge.py", folder / "exact.py"
    if not judge_path.is_file():
        raise TaskError(f"{path}: there is no judge.py beside it")
    judge = JudgeModule(judge_path)
    description = document["description"].strip()
    reference = _reference(path, document)
    return Task(
        name=document["name"],
        folder=folder,
        entry_point=document["entry_point"],
        description=description,
        prompt_text=_prompt_text(path, document.get("prompt")) or description,
        objective=document["objective"],
        initial=_file(path, "initial", document["initial"]),
        ingredients=_ingredients(path, document.get("ingredients")),
        default_suite=document["default_suite"],
        numpy=document.get("numpy", False),
        suites={key: partial(_read_suite, key, path, entry) for key, entry in document["suites"].items()},
        judge=judge,
        prover=partial(ExactSolver, exact_path) if exact_path.is_file() else None,
        adapter_source=adapter_source,
        digest=_digest(
            judge.digest.encode(),
            adapter_source.encode(),
            document["entry_point"].encode(),
            *([] if reference is None else [_text(reference, f"{path}: reference").encode()]),
        ),
        reference=reference,
    )


# -- task.yaml ---------------------------------------------------------------------------------------------------------


def _checked(path: Path) -> dict[str, Any]:
    """The document in a `task.yaml`, every key of which is known and of the right type. Raises TaskError."""
    document = read_mapping(path)
    _check_keys(path, "", document, _TASK_KEYS, _TASK_OPTIONAL)
    if document["objective"] not in _OBJECTIVES:
        raise TaskError(f"{path}: objective is {document['objective']!r}; it must be one of {sorted(_OBJECTIVES)}")
    _check_name(path, "name", document["name"])
    if not document["entry_point"].isidentifier():
        raise TaskError(f"{path}: entry_point is {document['entry_point']!r}, which is no name of a function")
    for name, suite in document["suites"].items():
        _check_name(path, "the name of a suite", name)
        if not isinstance(suite, dict):
            raise TaskError(f"{path}: suites.{name} must be a mapping, not {type(suite).__name__}")
        _check_keys(path, f"suites.{name}.", suite, _SUITE_KEYS, _SUITE_OPTIONAL)
        _check_limits(path, f"suites.{name}.limits.", suite["limits"])
        twin = suite.get("held_out")
        if twin is not None and (twin not in document["suites"] or twin == name):
            raise TaskError(f"{path}: suites.{name}.held_out is {twin!r}; it must name another of its suites")
    if document["default_suite"] not in document["suites"]:
        raise TaskError(f"{path}: default_suite {document['default_suite']!r} is not among its suites")
    return document


def _check_name(path: Path, key: str, name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise TaskError(
            f"{path}: {key} is {name!r}; it must be a plain name of at most 100 letters, digits, '_', '-' and '.', "
            "beginning with a letter, a digit or '_'"
        )


def _check_limits(path: Path, prefix: str, limits: Mapping[str, Any]) -> None:
    _check_keys(path, prefix, limits, _LIMIT_KEYS, set())
    for key, value in limits.items():
        if not math.isfinite(value) or not 0 < value <= _MOST[key]:
            raise TaskError(f"{path}: {prefix}{key} is {value!r}; it must be above 0 and at most {_MOST[key]}")


def _check_keys(
    path: Path, prefix: str, document: Mapping[Any, Any], known: Mapping[str, Any], optional: set[str]
) -> None:
    for key, value in document.items():
        if key not in known:
            raise TaskError(f"{path}: unknown key '{prefix}{key}'{nearest(str(key), known)}")
        if not isinstance(value, known[key]) or (isinstance(value, bool) and known[key] not in (bool, object)):
            raise TaskError(f"{path}: {prefix}{key} has the wrong type ({type(value).__name__}: {value!r})")
    for key in known:
        if key not in document and key not in optional:
            raise TaskError(f"{path}: {prefix}{key} is missing")


# -- its parts ---------------------------------------------------------------------------------------------------------


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, a folder that is closed
        return False


def _file(path: Path, key: str, name: str) -> Path:
    found = resolve(name, beside=path.parent)
    if not _is_file(found):
        raise TaskError(f"{path}: {key} is {name!r}, and there is no file {found}")
    return found


def _ingredients(path: Path, name: str | None) -> Path | None:
    if name is None:
        return None
    found = resolve(name, beside=path.parent)
    if not found.is_dir():
        raise TaskError(f"{path}: ingredients is {name!r}, and there is no folder {found}")
    return found


def _reference(path: Path, document: Mapping[str, Any]) -> Path | None:
    """The program that others are timed against (by default the initial one); None where the clock is not the score."""
    if document.get("uses_clock", False):
        return _file(path, "reference", document.get("reference", document["initial"]))
    if "reference" in document:
        raise TaskError(
            f"{path}: reference is given, and nothing is timed against it; add `uses_clock: true` where speed is the "
            "score, or take the key out"
        )
    return None


def _prompt_text(path: Path, name: str | None) -> str:
    """The task in words, as it stands: from the file that is named, else from `prompt.md` beside it, else empty."""
    if name is not None:
        return _text(_file(path, "prompt", name), f"{path}: prompt").strip()
    beside = path.parent / _PROMPT
    return _text(beside, f"{path}: {_PROMPT}").strip() if beside.is_file() else ""


def _adapter(path: Path) -> str:
    """Its source, which is Python; what it does is seen beside a candidate only."""
    source = _text(path, "the adapter")
    try:
        compile(source, str(path), "exec", dont_inherit=True)
    except SyntaxError as cause:
        raise TaskError(f"{path} line {cause.lineno}: is not Python ({cause.msg})") from None
    except (ValueError, RecursionError, MemoryError) as cause:  # null bytes, endless nesting
        raise TaskError(f"{path}: is not Python ({told(cause)})") from None
    return source


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as cause:
        raise TaskError(f"{what}: {path} cannot be read ({cause.strerror})") from None
    except UnicodeDecodeError as cause:
        raise TaskError(f"{what}: {path} is not UTF-8 text (byte {cause.start})") from None


# -- suites ------------------------------------------------------------------------------------------------------------


def _read_suite(name: str, path: Path, entry: Mapping[str, Any]) -> Suite:
    instances_path = resolve(entry["instances"], beside=path.parent)
    instances_bytes, instances = _read_json_list(instances_path, "instances")
    bounds_bytes = b""
    bounds: list[dict[str, Any]] = [{} for _ in instances]
    bounds_path = instances_path
    if "bounds" in entry:
        bounds_path = resolve(entry["bounds"], beside=path.parent)
        bounds_bytes, bounds = _read_json_list(bounds_path, "bounds")
        if len(bounds) != len(instances):
            raise TaskError(f"{bounds_path}: has {len(bounds)} bounds for {len(instances)} instances")
    limits = Limits(**entry["limits"])
    pairs = enumerate(zip(instances, bounds, strict=True))
    return Suite(
        name=name,
        instances=tuple(_instance(bounds_path, index, data, bound) for index, (data, bound) in pairs),
        limits=limits,
        digest=_digest(instances_bytes, bounds_bytes, repr(limits).encode()),
        held_out=entry.get("held_out"),
    )


def _instance(path: Path, index: int, data: Mapping[str, Any], entry: Mapping[str, Any]) -> Instance:
    """An instance with what the bounds in `path` say of it, which may be nothing."""
    if not entry:
        return Instance(index=index, data=data)
    prefix = f"bounds[{index}]."
    _check_keys(path, prefix, entry, _BOUND_KEYS, _BOUND_OPTIONAL)
    text = entry["lower_bound"]
    try:
        bound = Fraction(text)
        float(bound)
    except (ValueError, ArithmeticError):
        raise TaskError(
            f"{path}: {prefix}lower_bound is {text!r:.80}; it must be a finite number, or a fraction such as '3/7'"
        ) from None
    return Instance(
        index=index,
        data=data,
        bound=bound,
        proven=entry.get("proven", False),
        best_answer=entry.get("answer"),
    )


def _read_json_list(path: Path, key: str) -> tuple[bytes, list[dict[str, Any]]]:
    try:
        raw = path.read_bytes()
        document = json.loads(raw)
    except OSError as cause:
        raise TaskError(f"{path}: cannot be read ({cause.strerror})") from None
    except (ValueError, RecursionError) as cause:
        raise TaskError(f"{path}: is not JSON ({told(cause)})") from None
    entries = document.get(key) if isinstance(document, dict) else None
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise TaskError(f"{path}: must hold a non-empty list of objects under {key!r}")
    return raw, entries


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()

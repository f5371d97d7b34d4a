"""`task.yaml`: what it may say, and what holds where it says nothing. The only place that knows its keys.

The file itself may be missing. Whatever is wrong in it is a TaskError that names file, line, key and value.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from evaluator.errors import TaskError
from evaluator.objective import COMBINED, Direction, ListedValue, Objective
from evaluator.task import Limits
from evaluator.yaml_file import line_of, nearest, read_mapping

FILE: Final = "task.yaml"
JUDGE: Final = "judge.py"
SCRIPT: Final = "evaluate.py"
DEFAULT_SUITE: Final = "default"
DEFAULT_LIMITS: Final = Limits(cpu_per_instance_s=10, cpu_total_s=60, memory_mb=1024, answer_kb=64)
SCRIPT_LIMITS: Final = Limits(
    cpu_per_instance_s=600, cpu_total_s=600, memory_mb=2048, answer_kb=64, wall_s=300, scratch_mb=256
)
"""What a script and all that it starts may use together, where nothing is said."""
DEFAULT_OBJECTIVE: Final = Objective()
_SELF_JUDGED: Final = Objective(metric=COMBINED)
"""The objective where a script scores: its cost is the score."""
_OF_SPEED: Final = Objective(metric="speedup")
"""The objective where the clock is the score."""
_NUMBER: Final = (int, float)
_KEYS: Final = {
    "name": str,
    "entry_point": str,
    "description": str,
    "prompt": str,
    "objective": dict,
    "initial": str,
    "ingredients": str,
    "default_suite": str,
    "packages": list,
    "uses_clock": bool,
    "reference": str,
    "script": str,
    "script_files": list,
    "program_name": str,
    "environment": list,
    "limits": dict,
    "suites": dict,
}
_OBJECTIVE_KEYS: Final = {"metric": str, "direction": str, "per_instance": str, "unit": str}
_SUITE_KEYS: Final = {"instances": str, "bounds": str, "limits": dict, "held_out": str, "best_known": list}
_LIMIT_KEYS: Final = {
    **{"cpu_per_instance_s": _NUMBER, "cpu_total_s": _NUMBER, "cpu_per_item_s": _NUMBER},
    **{"memory_mb": int, "answer_kb": int, "wall_s": _NUMBER, "scratch_mb": int},
}
_OF_SCRIPTS: Final = frozenset({"wall_s", "scratch_mb"})
_NOT_OF_SCRIPTS: Final = frozenset({"cpu_per_instance_s", "cpu_per_item_s"})
_MOST: Final = {**dict.fromkeys(_LIMIT_KEYS, 10**6), "memory_mb": 2**24, "answer_kb": 8192, "scratch_mb": 2**20}
"""Beyond these (11 days, 16 TB) no limit is one, and the kernel's own numbers end; an answer is held in memory."""
_LISTED_KEYS: Final = {"value": (int, float, str), "source": str, "date": object, "instance": int}
# Names become the names of folders: no separator, no leading dot, nothing that a shell reads.
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_METRIC: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,39}")
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SET_ALREADY: Final = frozenset({"PATH", "HOME", "TMPDIR", "LC_ALL"})
_PACKAGE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteEntry:
    """What `task.yaml` says of a suite. `instances` is None where they stand in `judge.py`."""

    instances: str | None = None
    bounds: str | None = None
    limits: Limits = DEFAULT_LIMITS
    held_out: str | None = None
    best_known: tuple[ListedValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEntry:
    """What `task.yaml` says of a task, or its defaults. `stated` holds the keys that stand there."""

    path: Path
    name: str
    entry_point: str | None = None
    description: str = ""
    prompt: str | None = None
    objective: Objective = DEFAULT_OBJECTIVE
    initial: str = "initial.py"
    ingredients: str | None = None
    default_suite: str = DEFAULT_SUITE
    packages: tuple[str, ...] = ()
    uses_clock: bool = False
    reference: str | None = None
    script: str | None = None  # runs programs; None where their entry point is called
    judged: bool = True  # there is a judge.py
    script_files: tuple[str, ...] = ()  # what it may read beside itself
    program_name: str | None = None
    environment: tuple[str, ...] = ()
    suites: Mapping[str, SuiteEntry] = field(default_factory=lambda: {DEFAULT_SUITE: SuiteEntry()})
    stated: frozenset[str] = frozenset()

    def wrong(self, key: str, what: str) -> TaskError:
        """What is wrong with a key, or with the default of one that does not stand there."""
        return _wrong(self.path, key, what)


def read_task_yaml(folder: Path) -> TaskEntry:
    """What the folder's `task.yaml` says. Raises TaskError."""
    path = folder / FILE
    document = read_mapping(path) if path.exists() else {}
    _check_keys(path, "", document, _KEYS)
    name = document.get("name", plain_name(folder.name))
    _check_name(path, "name", name, "name")
    entry_point = document.get("entry_point")
    if entry_point is not None and not entry_point.isidentifier():
        raise _wrong(path, "entry_point", f"is {entry_point!r}, which is no name of a function")
    judged = (folder / JUDGE).is_file()
    script = document.get("script", SCRIPT if (folder / SCRIPT).is_file() else None)
    limits = _limits(path, "limits", document.get("limits", {}), DEFAULT_LIMITS if script is None else SCRIPT_LIMITS)
    suites = _suites(path, document, limits)
    uses_clock = document.get("uses_clock", False)
    objective = _objective(path, document.get("objective", {}), _default_objective(script, judged, uses_clock))
    _check_script(path, document, script, judged)
    default = document.get("default_suite", DEFAULT_SUITE if DEFAULT_SUITE in suites else next(iter(suites)))
    if default not in suites:
        raise _wrong(path, "default_suite", f"{default!r} is not among its suites")
    texts = {key: document[key] for key in ("prompt", "initial", "ingredients", "reference") if key in document}
    return TaskEntry(
        path=path,
        name=name,
        entry_point=entry_point,
        description=document.get("description", "").strip(),
        objective=objective,
        default_suite=default,
        packages=_packages(path, document.get("packages", [])),
        uses_clock=uses_clock,
        script=script,
        judged=judged,
        script_files=tuple(dict.fromkeys(document.get("script_files", []))),
        program_name=document.get("program_name"),
        environment=tuple(dict.fromkeys(document.get("environment", []))),
        suites=suites,
        stated=frozenset(document),
        **texts,
    )


def plain_name(name: str) -> str:
    """A folder's name as the name of a task: what cannot stand in one becomes a dash."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:100] or "task"


def _check_script(path: Path, document: Mapping[str, Any], script: str | None, judged: bool) -> None:
    """What goes with a script, and what only with one."""
    if script is None:
        for key in ("script_files", "program_name", "environment"):
            if key in document:
                raise _wrong(path, key, f"is given, and there is no evaluator script ({SCRIPT}, or `script`)")
        return
    if document.get("uses_clock"):
        raise _wrong(path, "uses_clock", "is true, and an evaluator script runs the programs: nothing is timed in turn")
    name = document.get("program_name")
    if name is not None and not _FILE_NAME.fullmatch(name):
        raise _wrong(path, "program_name", f"is {name!r}; it must be the plain name of a file, such as program.c")
    for name in document.get("script_files", []):
        if not isinstance(name, str):
            raise _wrong(path, "script_files", f"holds {name!r:.80}; each entry must be a file or folder in the task's")
    for name in document.get("environment", []):
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            raise _wrong(
                path, "environment", f"holds {name!r}; each entry must be the name of a variable (not a value)"
            )
        if name in _SET_ALREADY:
            raise _wrong(path, "environment", f"holds {name!r}, which the sandbox sets itself")
    if not judged:
        _check_self_judged(path, document)


def _check_self_judged(path: Path, document: Mapping[str, Any]) -> None:
    """What needs a judge has no place where the script scores programs itself. The types are known to be right."""
    without = f"has no place without {JUDGE}: the script scores programs itself"
    if "per_instance" in document.get("objective", {}):
        raise _wrong(path, "objective.per_instance", without)
    if "answer_kb" in document.get("limits", {}):
        raise _wrong(path, "limits.answer_kb", without)
    for name, entry in document.get("suites", {}).items():
        for key in ("instances", "bounds", "held_out"):
            if key in entry:
                raise _wrong(path, f"suites.{name}.{key}", without)
        for number, listed in enumerate(entry.get("best_known", [])):
            if "instance" in listed:
                raise _wrong(path, f"suites.{name}.best_known[{number}].instance", without)
        if "answer_kb" in entry.get("limits", {}):
            raise _wrong(path, f"suites.{name}.limits.answer_kb", without)


def _default_objective(script: str | None, judged: bool, uses_clock: bool) -> Objective:
    if script is not None and not judged:
        return _SELF_JUDGED
    return _OF_SPEED if uses_clock else DEFAULT_OBJECTIVE


def _objective(path: Path, entry: Mapping[str, Any], default: Objective) -> Objective:
    _check_keys(path, "objective.", entry, _OBJECTIVE_KEYS)
    uses_clock = default is _OF_SPEED
    metric = entry.get("metric", default.metric)
    if not _METRIC.fullmatch(metric):
        raise _wrong(
            path, "objective.metric", f"is {metric!r}; it must be a word of at most 40 letters, digits, '_', '-', '.'"
        )
    if metric in ("success_rate", "runtime_s", "published_score"):
        raise _wrong(path, "objective.metric", f"is {metric!r}, which means something else already; choose another")
    direction = _direction(path, "direction", entry, default.direction)
    if metric == COMBINED and direction is not Direction.MAXIMISE:
        raise _wrong(path, "objective.direction", f"is minimise, and {COMBINED} is better the larger it is")
    if uses_clock and metric == COMBINED:
        raise _wrong(path, "objective.metric", f"is {metric}, which a judge computes; with uses_clock it names a speed")
    if uses_clock and direction is not Direction.MAXIMISE:
        raise _wrong(path, "objective.direction", "is minimise, and a speed (uses_clock) is better the larger it is")
    per_instance = _direction(path, "per_instance", entry, direction)
    return Objective(
        metric=metric,
        direction=direction,
        per_instance=default.direction if default is _SELF_JUDGED else per_instance,
        unit=entry.get("unit", "")[:20],
    )


def _direction(path: Path, key: str, entry: Mapping[str, Any], default: Direction) -> Direction:
    if key not in entry:
        return default
    try:
        return Direction(entry[key])
    except ValueError:
        raise _wrong(path, f"objective.{key}", f"is {entry[key]!r}; it must be minimise or maximise") from None


def _packages(path: Path, names: list[Any]) -> tuple[str, ...]:
    for name in names:
        if not isinstance(name, str) or not _PACKAGE.fullmatch(name):
            raise _wrong(
                path, "packages", f"holds {name!r}; each entry must be the name that is imported (numpy, scipy)"
            )
    return tuple(dict.fromkeys(names))


def _suites(path: Path, document: Mapping[str, Any], limits: Limits) -> dict[str, SuiteEntry]:
    entries = document.get("suites", {DEFAULT_SUITE: {}})
    if not entries:
        raise _wrong(path, "suites", "holds none; leave the key out where the instances stand in judge.py")
    suites = {}
    for name, entry in entries.items():
        key = f"suites.{name}"
        _check_name(path, key, name, "the name of a suite")
        if not isinstance(entry, dict):
            raise _wrong(path, key, f"must be a mapping, not {type(entry).__name__}")
        _check_keys(path, f"{key}.", entry, _SUITE_KEYS)
        twin = entry.get("held_out")
        if twin is not None and (twin not in entries or twin == name):
            raise _wrong(path, f"{key}.held_out", f"is {twin!r}; it must name another of its suites")
        suites[name] = SuiteEntry(
            instances=entry.get("instances"),
            bounds=entry.get("bounds"),
            limits=_limits(path, f"{key}.limits", entry.get("limits", {}), limits),
            held_out=twin,
            best_known=_listed(path, f"{key}.best_known", entry.get("best_known", [])),
        )
    return suites


def _limits(path: Path, prefix: str, entry: Mapping[str, Any], default: Limits) -> Limits:
    _check_keys(path, f"{prefix}.", entry, _LIMIT_KEYS)
    scripted = default.wall_s is not None
    for key, value in entry.items():
        if key in (_NOT_OF_SCRIPTS if scripted else _OF_SCRIPTS):
            whose = "a script has cpu_total_s and wall_s" if scripted else "it is for evaluator scripts"
            raise _wrong(path, f"{prefix}.{key}", f"limits nothing here: {whose}")
        if not math.isfinite(value) or not 0 < value <= _MOST[key]:
            raise _wrong(path, f"{prefix}.{key}", f"is {value!r}; it must be above 0 and at most {_MOST[key]}")
    return replace(default, **entry)


def _listed(path: Path, key: str, entries: list[Any]) -> tuple[ListedValue, ...]:
    found = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise _wrong(path, key, "must be a list of mappings with value, source and date")
        _check_keys(path, f"{key}[{number}].", entry, _LISTED_KEYS, needed=("value", "source"))
        value = finite_fraction(entry["value"])
        if value is None:
            raise _wrong(path, f"{key}[{number}].value", f"is {entry['value']!r:.80}; it must be a finite number")
        found.append(
            ListedValue(
                value=value,
                source=entry["source"],
                date=str(entry.get("date", "")),
                instance=entry.get("instance"),
            )
        )
    return tuple(found)


def finite_fraction(text: object) -> Fraction | None:
    """The exact number that a file gives, perhaps as text ('3/7'); None when it is none within a float's range."""
    if isinstance(text, bool) or not isinstance(text, int | float | str):
        return None
    try:
        number = Fraction(text)
        float(number)
    except (ValueError, ArithmeticError):
        return None
    return number


def _check_name(path: Path, key: str, name: object, what: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise TaskError(
            f"{_where(path, key)}: {what} is {name!r}; it must be a plain name of at most 100 letters, digits, '_', '-'"
            " and '.', beginning with a letter, a digit or '_'"
        )


def _check_keys(
    path: Path, prefix: str, document: Mapping[Any, Any], known: Mapping[str, Any], *, needed: tuple[str, ...] = ()
) -> None:
    for key, value in document.items():
        name = f"{prefix}{key}"
        if key not in known:
            raise TaskError(f"{_where(path, name)}: unknown key '{name}'{nearest(str(key), known)}")
        if not isinstance(value, known[key]) or (isinstance(value, bool) and known[key] not in (bool, object)):
            raise _wrong(path, name, f"has the wrong type ({type(value).__name__}: {value!r:.80})")
    for key in needed:
        if key not in document:
            raise TaskError(f"{_where(path, prefix)}: {prefix}{key} is missing")


def _where(path: Path, key: str) -> str:
    line = line_of(path, key)
    return str(path) if line is None else f"{path} line {line}"


def _wrong(path: Path, key: str, what: str) -> TaskError:
    return TaskError(f"{_where(path, key)}: {key} {what}")

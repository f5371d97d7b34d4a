"""A task: a folder with `task.yaml`, `judge.py`, perhaps `adapter.py`, and instances as data.

`judge.py` (trusted, runs in the harness) defines
    judge(instance, answer) -> Verdict          of one answer, from the pristine instance
    summarise(verdicts, instances) -> Summary   of one program over a suite
    describe(instance) -> str                   optional: "9 GPUs, 18 models", for messages
    renamed(data) -> data                       optional: the JSON of an instance with other names in it
    permuted(data, rng) -> data                 optional: the JSON of an instance in another order

The last two serve strict re-evaluation (`evaluator.strict`); without one, its check is skipped, and the report says so.
What they return is put to the program through the same adapter and judged as an instance with the same bounds. A
program must answer an instance with other names at exactly the same cost; what another order does to its score is
only reported.

`adapter.py` (optional, runs beside the candidate in its process) defines
    prepare(instance) -> (arguments, encode)
where `instance` is the instance's JSON, `arguments` the tuple that the entry point is called with, and
`encode(result)` turns what it returned into JSON, raising ValueError when that is no answer. Without an adapter
the entry point is called with the instance's keys as keyword arguments and must return JSON.

`exact.py` (optional, trusted) defines
    verify(instance, *, limit_s) -> BoundCheck  proves the bound of an instance again
    place(instance, *, seconds) -> answer       what an exact solver reaches in that time, as a peer of programs
"""

import hashlib
import importlib.util
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, cast

from evaluator.errors import TaskError
from evaluator.evaluation import Summary, Verdict
from evaluator.yaml_file import nearest, read_mapping

ROOT = Path(__file__).resolve().parent.parent
"""Where the packages and the data folders stand side by side, in a checkout and in an installed wheel alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a candidate may use on a suite. CPU limits decide outcomes, wall limits (derived) are the backstop."""

    cpu_per_instance_s: float
    cpu_total_s: float
    memory_mb: int

    @property
    def wall_per_instance_s(self) -> float:
        """Wall seconds for one instance: 3 x CPU + 5."""
        return 3 * self.cpu_per_instance_s + 5

    @property
    def wall_total_s(self) -> float:
        """Wall seconds for the whole candidate: 3 x CPU + 5."""
        return 3 * self.cpu_total_s + 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance of a suite. `bound` is the best lower bound on the cost that is known, `proven` says that it
    is the optimum, and `best_answer` (as a judge takes it) attains the best cost known."""

    index: int
    data: Mapping[str, Any]
    bound: Fraction | None = None
    proven: bool = False
    best_answer: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCheck:
    """Whether the bound of one instance holds (None: not settled in the time), and why."""

    instance: int
    holds: bool | None
    detail: str


class Prover(Protocol):
    """What `exact.py` provides (see the module's docstring)."""

    def verify(self, instance: Instance, *, limit_s: float) -> BoundCheck:
        """Proves an instance's bound again."""
        ...

    def place(self, instance: Instance, *, seconds: float) -> Any:
        """The best answer that an exact solver finds in about so many seconds."""
        ...


class Judge(Protocol):
    """What `judge.py` provides (see the module's docstring)."""

    def judge(self, instance: Instance, answer: object) -> Verdict:
        """The verdict on one answer."""
        ...

    def summarise(self, verdicts: Sequence[Verdict], instances: Sequence[Instance]) -> Summary:
        """The score of a whole suite."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The instances of a suite, with its limits and the digest of its files.

    `held_out` names its twin: a suite from the same recipe, which no program is ever selected by.
    """

    name: str
    instances: tuple[Instance, ...]
    limits: Limits
    digest: str
    held_out: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task as its folder describes it. Suites are read when asked for."""

    name: str
    folder: Path
    entry_point: str
    description: str
    objective: str
    initial: Path
    ingredients: Path | None
    default_suite: str
    numpy: bool
    suites: Mapping[str, Mapping[str, Any]]
    judge: Judge
    adapter_source: str
    digest: str

    def suite(self, name: str | None = None) -> Suite:
        """The suite called `name` (None: the task's default). Raises TaskError."""
        name = self.default_suite if name is None else name
        if name not in self.suites:
            known = ", ".join(sorted(self.suites))
            raise TaskError(f"task {self.name!r} has no suite {name!r} (it has: {known})")
        return _load_suite(name, self.folder, self.suites[name])

    def verify(
        self, suite: str | None = None, instances: Sequence[int] | None = None, *, limit_s: float = 300.0
    ) -> Iterator[BoundCheck]:
        """Proves the bounds of a suite (or of some of its `instances`) again, one result at a time.

        Raises TaskError when the task has no `exact.py`, the suite no bounds, or there is no such instance,
        SandboxError when what `exact.py` needs is not installed.
        """
        prover = self.exact("verify")
        chosen = self.suite(suite)
        if "bounds" not in self.suites[chosen.name]:
            raise TaskError(f"suite {chosen.name!r} of task {self.name!r} has no bounds")
        wanted = range(len(chosen.instances)) if instances is None else instances
        for index in wanted:
            if not 0 <= index < len(chosen.instances):
                last = len(chosen.instances) - 1
                raise TaskError(f"suite {chosen.name!r} has no instance {index} (they go from 0 to {last})")
        return (prover.verify(chosen.instances[index], limit_s=limit_s) for index in wanted)

    def exact(self, function: str) -> Prover:
        """The task's `exact.py`, which must define `function`. Raises TaskError when there is none."""
        path = self.folder / "exact.py"
        if not path.is_file():
            raise TaskError(f"task {self.name!r} has no exact.py: neither proofs nor an exact baseline can be had")
        return cast(Prover, _load_module(f"evaluator_exact_of_{self.name}", path, (function,)))

    def describe(self, instance: Instance) -> str:
        """What an instance is like, in a few words, as the judge puts it."""
        describe: Callable[[Instance], str] | None = getattr(self.judge, "describe", None)
        return "" if describe is None else describe(instance)

    @property
    def renamed(self) -> Callable[[Mapping[str, Any]], Mapping[str, Any]] | None:
        """The judge's `renamed`, None without one."""
        return getattr(self.judge, "renamed", None)

    @property
    def permuted(self) -> Callable[[Mapping[str, Any], random.Random], Mapping[str, Any]] | None:
        """The judge's `permuted`, None without one."""
        return getattr(self.judge, "permuted", None)


_TASK_KEYS = {
    "name": str,
    "entry_point": str,
    "description": str,
    "objective": str,
    "initial": str,
    "ingredients": str,
    "default_suite": str,
    "numpy": bool,
    "suites": dict,
}
_TASK_OPTIONAL = {"ingredients", "numpy"}
_SUITE_KEYS = {"instances": str, "bounds": str, "limits": dict, "held_out": str}
_SUITE_OPTIONAL = {"bounds", "held_out"}
_LIMIT_KEYS = {"cpu_per_instance_s": (int, float), "cpu_total_s": (int, float), "memory_mb": int}
_OBJECTIVES = {"maximise combined_score"}


def built_in_tasks() -> list[str]:
    """The names of the tasks that ship with the package."""
    return sorted(path.parent.name for path in (ROOT / "evaluator" / "tasks").glob("*/task.yaml"))


def load_task(name: str) -> Task:
    """The task called `name`, or in the folder `name` (a path, or a folder with `task.yaml`). Raises TaskError."""
    folder = ROOT / "evaluator" / "tasks" / name
    if name not in built_in_tasks():
        folder = Path(name)
        if not (folder / "task.yaml").is_file():
            known = ", ".join(built_in_tasks())
            raise TaskError(
                f"there is no task {name!r}: neither built in (there is: {known}) nor a folder with task.yaml"
            )
    return _read_task(folder.resolve())


def _read_task(folder: Path) -> Task:
    path = folder / "task.yaml"
    document = read_mapping(path)
    _check_keys(path, "", document, _TASK_KEYS, _TASK_OPTIONAL)
    if document["objective"] not in _OBJECTIVES:
        raise TaskError(f"{path}: objective is {document['objective']!r}; it must be one of {sorted(_OBJECTIVES)}")
    for name, suite in document["suites"].items():
        if not isinstance(suite, dict):
            raise TaskError(f"{path}: suites.{name} must be a mapping, not {type(suite).__name__}")
        _check_keys(path, f"suites.{name}.", suite, _SUITE_KEYS, _SUITE_OPTIONAL)
        _check_keys(path, f"suites.{name}.limits.", suite["limits"], _LIMIT_KEYS, set())
        twin = suite.get("held_out")
        if twin is not None and (twin not in document["suites"] or twin == name):
            raise TaskError(f"{path}: suites.{name}.held_out is {twin!r}; it must name another of its suites")
    if document["default_suite"] not in document["suites"]:
        raise TaskError(f"{path}: default_suite {document['default_suite']!r} is not among its suites")
    initial = (folder / document["initial"]).resolve()
    if not initial.is_file():
        raise TaskError(f"{path}: initial program {initial} does not exist")
    adapter = folder / "adapter.py"
    adapter_source = adapter.read_text(encoding="utf-8") if adapter.is_file() else ""
    judge_path = folder / "judge.py"
    if not judge_path.is_file():
        raise TaskError(f"{path}: there is no judge.py beside it")
    ingredients = document.get("ingredients")
    return Task(
        name=document["name"],
        folder=folder,
        entry_point=document["entry_point"],
        description=document["description"].strip(),
        objective=document["objective"],
        initial=initial,
        ingredients=None if ingredients is None else (folder / ingredients).resolve(),
        default_suite=document["default_suite"],
        numpy=document.get("numpy", False),
        suites=document["suites"],
        judge=cast(Judge, _load_module(f"evaluator_judge_of_{document['name']}", judge_path, ("judge", "summarise"))),
        adapter_source=adapter_source,
        digest=_digest(judge_path.read_bytes(), adapter_source.encode()),
    )


def _check_keys(
    path: Path, prefix: str, document: Mapping[str, Any], known: Mapping[str, Any], optional: set[str]
) -> None:
    for key, value in document.items():
        if key not in known:
            raise TaskError(f"{path}: unknown key {prefix + key!r}{nearest(key, known)}")
        if not isinstance(value, known[key]) or (isinstance(value, bool) and known[key] is not bool):
            raise TaskError(f"{path}: {prefix}{key} has the wrong type ({type(value).__name__}: {value!r})")
    for key in known:
        if key not in document and key not in optional:
            raise TaskError(f"{path}: {prefix}{key} is missing")


def _load_module(name: str, path: Path, functions: Sequence[str]) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TaskError(f"{path}: cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except Exception as cause:  # boundary: a user's own module may raise anything while it loads
        raise TaskError(f"{path}: does not load ({type(cause).__name__}: {cause})") from cause
    for function in functions:
        if not callable(getattr(module, function, None)):
            raise TaskError(f"{path}: does not define {function}()")
    return module


def _load_suite(name: str, folder: Path, entry: Mapping[str, Any]) -> Suite:
    instances_path = folder / entry["instances"]
    instances_bytes, instances = _read_json_list(instances_path, "instances")
    bounds_bytes = b""
    bounds: list[dict[str, Any]] = [{} for _ in instances]
    if "bounds" in entry:
        bounds_bytes, bounds = _read_json_list(folder / entry["bounds"], "bounds")
        if len(bounds) != len(instances):
            raise TaskError(f"{folder / entry['bounds']}: has {len(bounds)} bounds for {len(instances)} instances")
    limits = Limits(**entry["limits"])
    return Suite(
        name=name,
        instances=tuple(
            Instance(
                index=index,
                data=data,
                bound=Fraction(bound["lower_bound"]) if bound else None,
                proven=bool(bound.get("proven", False)),
                best_answer=bound.get("answer"),
            )
            for index, (data, bound) in enumerate(zip(instances, bounds, strict=True))
        ),
        limits=limits,
        digest=_digest(instances_bytes, bounds_bytes, repr(limits).encode()),
        held_out=entry.get("held_out"),
    )


def _read_json_list(path: Path, key: str) -> tuple[bytes, list[dict[str, Any]]]:
    try:
        raw = path.read_bytes()
        document = json.loads(raw)
    except OSError as cause:
        raise TaskError(f"{path}: cannot be read ({cause.strerror})") from None
    except ValueError as cause:
        raise TaskError(f"{path}: is not JSON ({cause})") from None
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

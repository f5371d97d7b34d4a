"""`task.yaml`: its keys and their defaults. The file may be missing. Every mistake is a TaskError with file, line, key
and value."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, PlainValidator, PrivateAttr

from evaluator.errors import TaskError
from evaluator.input_files import Exact, Section, checked, matching, number, place
from evaluator.objective import COMBINED, GAIN_UNIT, Direction, ListedValue, Objective
from evaluator.pairs import NOISE_RUNS
from evaluator.program_files import path_fault
from evaluator.repository_task import JSON, TREE, Measure
from evaluator.task import Limits
from evaluator.yaml_file import read_mapping

FILE: Final = "task.yaml"
JUDGE: Final = "judge.py"
SCRIPT: Final = "evaluate.py"
DEFAULT_SUITE: Final = "default"
DEFAULT_LIMITS: Final = Limits(cpu_per_instance_s=10, cpu_total_s=60, memory_mb=1024, answer_kb=64)
SCRIPT_LIMITS: Final = Limits(
    cpu_per_instance_s=600, cpu_total_s=600, memory_mb=2048, answer_kb=64, wall_s=300, scratch_mb=256
)
"""The default limits of a script and its processes together."""
INITIAL: Final = ("initial", "initial_program")
"""Names of an initial program, without suffix."""
NO_PROGRAM: Final = frozenset({".md", ".txt", ".pyc", ".bak", ".orig", ".log", ".yaml", ".yml"})
"""Suffixes of files that are not programs."""
_OF_SCRIPTS: Final = ("wall_s", "scratch_mb")
_NOT_OF_SCRIPTS: Final = ("cpu_per_instance_s", "cpu_per_item_s")
_TAKEN: Final = ("success_rate", "runtime_s", "published_score")
_GAINS: Final = {
    Measure.CPU: "speedup",
    Measure.WALL: "speedup",
    Measure.MEMORY: "memory_gain",
    Measure.METRIC: "gain",
}
"""The metric of a task out of a repository: how many times better than the unchanged code."""
_SET_ALREADY: Final = ("PATH", "HOME", "TMPDIR", "LC_ALL")


def _function(name: str) -> str:
    if not name.isidentifier():
        raise ValueError("must be the name of a function")
    return name


def _none_of(names: tuple[str, ...], words: str) -> AfterValidator:
    """A text that is not one of `names`; `words` say what it must be."""

    def check(name: str) -> str:
        if name in names:
            raise ValueError(f"must be {words}")
        return name

    return AfterValidator(check)


def _pattern(text: str) -> str:
    if fault := path_fault(text):
        raise ValueError(f"must be a path in the folder, with `*` within a folder and `**` through folders: it {fault}")
    return text


def _each_once(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))


# Names become the names of folders: no separator, no leading dot, nothing that a shell reads.
_Name = Annotated[
    str,
    matching(
        r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}",
        "a plain name of at most 100 letters, digits, '_', '-' and '.', beginning with a letter, a digit or '_'",
    ),
]
_Metric = Annotated[
    str,
    matching(r"[A-Za-z_][A-Za-z0-9_.-]{0,39}", "a word of at most 40 letters, digits, '_', '-', '.'"),
    _none_of(_TAKEN, "another word, since this one means something else already"),
]
_Package = Annotated[
    str, matching(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", "the name that is imported, such as numpy or scipy.stats")
]
_Variable = Annotated[
    str,
    matching(r"[A-Za-z_]\w*", "the name of a variable (not a value)"),
    _none_of(_SET_ALREADY, "a variable that the sandbox does not set itself"),
]
_FileName = Annotated[
    str, matching(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}", "the plain name of a file, such as program.c")
]
_Number = Annotated[float, PlainValidator(number)]
_Pattern = Annotated[str, AfterValidator(_pattern)]


class ObjectiveEntry(Section):
    """The objective in `task.yaml`."""

    metric: _Metric | None = None
    direction: Direction | None = Field(default=None, strict=False)
    per_instance: Direction | None = Field(default=None, strict=False)
    unit: str = ""


class LimitsEntry(Section):
    """Limits as `task.yaml` gives them. Beyond 11 days or 16 TB the kernel's own numbers end; an answer is in
    memory."""

    cpu_per_instance_s: _Number | None = Field(default=None, gt=0, le=10**6)
    cpu_total_s: _Number | None = Field(default=None, gt=0, le=10**6)
    cpu_per_item_s: _Number | None = Field(default=None, gt=0, le=10**6)
    memory_mb: int | None = Field(default=None, gt=0, le=2**24)
    answer_kb: int | None = Field(default=None, gt=0, le=8192)
    wall_s: _Number | None = Field(default=None, gt=0, le=10**6)
    scratch_mb: int | None = Field(default=None, gt=0, le=2**20)


class BoundEntry(Section):
    """The bound of one instance in a file of bounds. The objective decides which of the two keys it has."""

    lower_bound: Exact | None = None
    upper_bound: Exact | None = None
    proven: bool = False
    answer: Any = None


class Bounds(Section):
    """A file of bounds, as far as it is read."""

    bounds: list[BoundEntry | None]


class SuiteEntry(Section):
    """A suite in `task.yaml`. `instances` is None where `judge.py` has them."""

    instances: str | None = None
    bounds: str | None = None
    limits: LimitsEntry = LimitsEntry()
    held_out: str | None = None
    best_known: list[ListedValue] = Field(default=[])


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as cause:
        raise ValueError(f"must be a regular expression ({cause})") from None
    return text


def _metric_of_benchmark(text: str) -> str:
    if not text.startswith(JSON):
        return _expression(text)
    if text == JSON:
        raise ValueError(f"must name a key after {JSON}")
    return text


_Command = Annotated[str, AfterValidator(str.strip), Field(min_length=1, max_length=4000)]


class RepositoryEntry(Section):
    """The repository in `task.yaml`. Commands are for a shell, in the repository's top folder."""

    commit: str = ""
    test: _Command
    bench: _Command
    measure: Measure = Field(default=Measure.CPU, strict=False)
    metric: Annotated[str, AfterValidator(_metric_of_benchmark)] | None = None
    direction: Direction | None = Field(default=None, strict=False)
    setup: _Command | None = None
    build: _Command | None = None
    test_count: Annotated[str, AfterValidator(_expression)] | None = None
    tests: int | None = Field(default=None, ge=1)
    repeats: int = Field(default=1, ge=1, le=25)
    path: list[str] = Field(default=[])


class NoiseFile(Section):
    """The file with the runs of a repository's unchanged code, and the machine that made them."""

    host: str
    runs: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(min_length=NOISE_RUNS)


class TaskEntry(Section):
    """A task in `task.yaml`, with defaults."""

    name: _Name
    entry_point: Annotated[str, AfterValidator(_function)] | None = None
    description: Annotated[str, AfterValidator(str.strip)] = ""
    prompt: str | None = None
    objective: ObjectiveEntry = ObjectiveEntry()
    initial: str
    edit: list[_Pattern] | None = Field(default=None, min_length=1)  # of a folder: the files that may change
    new_files: bool | None = None  # of a folder: patches may add files that match, and delete files
    ingredients: str | None = None
    default_suite: str | None = None
    packages: Annotated[list[_Package], AfterValidator(_each_once)] = Field(default=[])
    uses_clock: bool = False
    reference: str | None = None
    script: str | None = None  # runs programs; None where their entry point is called
    script_files: Annotated[list[str], AfterValidator(_each_once)] = Field(default=[])  # it may read them, too
    program_name: _FileName | None = None
    environment: Annotated[list[_Variable], AfterValidator(_each_once)] = Field(default=[])
    repository: RepositoryEntry | None = None  # a program is the files of it that may change
    limits: LimitsEntry = LimitsEntry()
    suites: dict[_Name, SuiteEntry] = Field(default={DEFAULT_SUITE: SuiteEntry()}, min_length=1)
    _path: Path = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Keep the path of the file, which is given as context."""
        self._path = context

    @property
    def path(self) -> Path:
        """The file, which may not exist."""
        return self._path

    @property
    def judged(self) -> bool:
        """Whether there is a judge.py."""
        return (self._path.parent / JUDGE).is_file()

    @property
    def runs_commands(self) -> bool:
        """Whether programs run in process trees: by a script, or by the commands of a repository."""
        return self.script is not None or self.repository is not None

    def wrong(self, key: str, what: str) -> TaskError:
        """The error for a key, or for its default."""
        return TaskError(f"{place(self._path, key)}: {key} {what}")

    @property
    def first_suite(self) -> str:
        """The default suite."""
        if self.default_suite is not None:
            return self.default_suite
        return DEFAULT_SUITE if DEFAULT_SUITE in self.suites else next(iter(self.suites))

    def limits_of(self, suite: SuiteEntry) -> Limits:
        """The limits of a program on a suite."""
        limits = SCRIPT_LIMITS if self.runs_commands else DEFAULT_LIMITS
        for entry in (self.limits, suite.limits):
            limits = replace(limits, **entry.model_dump(exclude_none=True))
        return limits

    @property
    def resolved_objective(self) -> Objective:
        """The objective with defaults: where a script scores, its cost is the score; with a clock, the speed is."""
        if self.repository is not None:
            metric = self.objective.metric or _GAINS[self.repository.measure]
            return Objective(metric=metric, unit=GAIN_UNIT)
        entry, self_judged = self.objective, self.script is not None and not self.judged
        metric = entry.metric or (COMBINED if self_judged else "speedup" if self.uses_clock else "score")
        direction = entry.direction or Direction.MAXIMISE
        per_instance = Direction.MAXIMISE if self_judged else entry.per_instance or direction
        return Objective(metric=metric, direction=direction, per_instance=per_instance, unit=entry.unit[:20])


def read_task_yaml(folder: Path) -> TaskEntry:
    """The folder's `task.yaml`, checked. Raises TaskError."""
    path = folder / FILE
    document: dict[str, Any] = {"name": plain_name(folder.name)}
    given = read_mapping(path) if path.exists() else {}
    if given.get("repository") is not None:
        document["initial"] = TREE
    elif (folder / SCRIPT).is_file():
        document["script"] = SCRIPT
    document |= given
    if document.get("initial") is None:
        document["initial"] = _only_initial(folder)
    entry = checked(TaskEntry, document, path, TaskError, context=path)
    _check_objective(entry)
    for name, suite in entry.suites.items():
        if suite.held_out is not None and (suite.held_out not in entry.suites or suite.held_out == name):
            raise entry.wrong(f"suites.{name}.held_out", f"is {suite.held_out!r}; it must name another of its suites")
    if entry.first_suite not in entry.suites:
        raise entry.wrong("default_suite", f"{entry.default_suite!r} is not among its suites")
    _check_limits(entry)
    _check_script(entry)
    _check_repository(entry)
    return entry


def _only_initial(folder: Path) -> str:
    """The only file with the name of an initial program; `initial.py` if it is one of several. Raises TaskError where
    there is none, or several others."""
    files = sorted(
        path.name
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.stem in INITIAL and path.suffix not in {"", *NO_PROGRAM} and path.is_file()
    )
    if not files:
        files = sorted(name for name in INITIAL if (folder / name).is_dir())
    if len(files) == 1 or "initial.py" in files:
        return "initial.py" if "initial.py" in files else files[0]
    if files:
        raise TaskError(f"{folder}: holds {', '.join(files)}; name one in {FILE}: `initial: {files[0]}`")
    raise TaskError(
        f"{folder}: there is no initial program: put initial.py there, or name a file or folder by `initial` in {FILE}"
    )


def plain_name(name: str) -> str:
    """A folder's name as the name of a task, with dashes for forbidden characters."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:100] or "task"


def _check_objective(entry: TaskEntry) -> None:
    objective = entry.resolved_objective
    minimises = objective.direction is not Direction.MAXIMISE
    if objective.metric == COMBINED and minimises:
        raise entry.wrong("objective.direction", f"is minimise, and {COMBINED} is better the larger it is")
    if entry.uses_clock and objective.metric == COMBINED and entry.script is None:
        raise entry.wrong("objective.metric", f"is {COMBINED}, which a judge computes; with uses_clock name a speed")
    if entry.uses_clock and minimises:
        raise entry.wrong("objective.direction", "is minimise, and a speed (uses_clock) is better the larger it is")


def _check_limits(entry: TaskEntry) -> None:
    refused = _NOT_OF_SCRIPTS if entry.runs_commands else _OF_SCRIPTS
    whose = "a command has cpu_total_s and wall_s" if entry.runs_commands else "it is for evaluator scripts"
    places = {"limits": entry.limits} | {f"suites.{name}.limits": suite.limits for name, suite in entry.suites.items()}
    for where, limits in places.items():
        for key in refused:
            if getattr(limits, key) is not None:
                raise entry.wrong(f"{where}.{key}", f"limits nothing here: {whose}")


def _check_repository(entry: TaskEntry) -> None:
    """Check the keys of a repository, and those that exclude one."""
    repository = entry.repository
    if repository is None:
        return
    if entry.initial != TREE:
        raise entry.wrong("initial", f"is {entry.initial!r}; the program of a repository is its folder {TREE}")
    others: dict[str, object] = {
        "script": entry.script,
        "entry_point": entry.entry_point,
        "uses_clock": entry.uses_clock or None,
        "reference": entry.reference,
        "objective.direction": entry.objective.direction,
        "objective.per_instance": entry.objective.per_instance,
        "objective.unit": entry.objective.unit or None,
    }
    for key, value in others.items():
        if value is not None:
            raise entry.wrong(key, "is given, and `repository` says how programs are scored; remove one of the two")
    if entry.edit is None:
        raise entry.wrong("edit", f"is missing: which files of {TREE}/ may change?")
    if entry.judged:
        raise entry.wrong("repository", f"is given, and the folder has a {JUDGE}; remove one of the two")
    prints = repository.measure is Measure.METRIC
    if prints and (repository.metric is None or repository.direction is None):
        key = "repository.metric" if repository.metric is None else "repository.direction"
        raise entry.wrong(key, "is missing, and `measure: metric` needs it")
    for key in ("metric", "direction"):
        if not prints and getattr(repository, key) is not None:
            raise entry.wrong(f"repository.{key}", f"has no place with `measure: {repository.measure}`")


def _check_script(entry: TaskEntry) -> None:
    """Check the keys that need a script, and those that exclude one."""
    if entry.script is None:
        for key in ("script_files", "program_name", "environment"):
            if key in entry.model_fields_set:
                raise entry.wrong(key, f"is given, and there is no evaluator script ({SCRIPT}, or `script`)")
        return
    if entry.uses_clock:
        raise entry.wrong("uses_clock", "is true, and an evaluator script runs the programs: nothing is timed in turn")
    if entry.judged:
        return
    # These keys need a judge: here the script scores programs itself.
    given: dict[str, object] = {
        "objective.per_instance": entry.objective.per_instance,
        "limits.answer_kb": entry.limits.answer_kb,
    }
    for name, suite in entry.suites.items():
        own: dict[str, object] = {"instances": suite.instances, "bounds": suite.bounds, "held_out": suite.held_out}
        own |= {f"best_known[{number}].instance": listed.instance for number, listed in enumerate(suite.best_known)}
        own |= {"limits.answer_kb": suite.limits.answer_kb}
        given |= {f"suites.{name}.{key}": value for key, value in own.items()}
    for key, value in given.items():
        if value is not None:
            raise entry.wrong(key, f"has no place without {JUDGE}: the script scores programs itself")

"""A task: a folder with `judge.py` and an initial program; everything else has a default.

docs/tasks.md has the contract: the files of a folder, and what each function of its code gets and must return. Where a
task's trusted code breaks it, that is a TaskError with file, line and function. `evaluator.task_files` reads a folder.
"""

import marshal
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from evaluator.conversation import Conversation
from evaluator.errors import EvaluatorError, InvalidAnswer, TaskError
from evaluator.evaluation import Summary, Verdict
from evaluator.objective import ListedValue, Objective
from evaluator.places import source_of
from evaluator.program_files import SEVERAL, Files, ProgramFolder
from evaluator.repository_task import Repository
from evaluator.task_code import TaskModule, describe_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a candidate may use on a suite. CPU limits decide outcomes, wall limits (derived) are the backstop."""

    cpu_per_instance_s: float
    cpu_total_s: float
    memory_mb: int
    cpu_per_item_s: float | None = None  # where an instance is asked item by item
    answer_kb: int = 64  # the longest answer, as JSON
    # For evaluator scripts, whose processes are limited together. Not in the text that a suite's digest covers.
    wall_s: float | None = field(default=None, repr=False)
    scratch_mb: int = field(default=256, repr=False)

    @property
    def answer_bytes(self) -> int:
        """The longest answer in bytes."""
        return self.answer_kb * 1024

    @property
    def wall_per_instance_s(self) -> float:
        """Wall seconds for one instance: 3 x CPU + 5."""
        return 3 * self.cpu_per_instance_s + 5

    @property
    def wall_total_s(self) -> float:
        """Wall seconds for the whole candidate: 3 x CPU + 5, unless the task states them."""
        return 3 * self.cpu_total_s + 5 if self.wall_s is None else self.wall_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance of a suite. `bound` is the best bound known for the judge's value (no answer can be better),
    `proven` says that it is the optimum, and `best_answer` (as a judge takes it) attains the best value known."""

    index: int
    data: Any
    bound: Fraction | None = None
    proven: bool = False
    best_answer: Any = None
    _packed: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_packed", marshal.dumps(self.data))

    def fresh(self) -> Any:
        """A copy of the instance's data, which the receiver may change."""
        return marshal.loads(self._packed)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCheck:
    """Whether the bound of one instance holds (None: not settled in the time), and why."""

    instance: int
    holds: bool | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AsGiven:
    """An answer before the judge repairs it: its value, and the least tolerance with which it would be valid (0: it is
    valid), which `why` explains."""

    value: Fraction
    tolerance: Fraction
    why: str


Converse = Callable[["Instance"], Conversation]
"""`converse` of a judge."""
Reword = Callable[[Any, random.Random], Any]
"""`renamed` and `permuted` of a judge."""
Draw = Callable[[random.Random, str], Any]
"""`draw_instance` of a judge."""


class Judge(Protocol):
    """What `judge.py` provides (docs/tasks.md), with defaults. Raises TaskError for every fault in it."""

    converse: Converse | None = None
    renamed: Reword | None = None
    permuted: Reword | None = None
    draw_instance: Draw | None = None

    def judge(self, instance: Instance, answer: object) -> Verdict:
        """The verdict on one answer, or on the list of all answers where it asks item by item."""
        ...

    def summarise(self, verdicts: Sequence[Verdict], instances: Sequence[Instance]) -> Summary:
        """The score of a whole suite."""
        ...

    def draw(self, instance: Instance, answer: object) -> str:
        """A picture of an answer, as SVG text; empty when the judge draws none."""
        return ""

    def describe(self, instance: Instance) -> str:
        """An instance in a few words; empty when the judge does not describe it."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The instances of a suite, with its limits and the digest of its files. `held_out` names a suite of the same
    recipe that is never used for selection."""

    name: str
    instances: tuple[Instance, ...]
    limits: Limits
    digest: str
    held_out: str | None = None
    best_known: tuple[ListedValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Runs programs in place of their entry point. `environment` names variables that it gets from the user's shell;
    `files` are the files and folders of the task that it, and so a program, may read; `digest` covers all these;
    `judged`: a `judge.py` decides, else the program shares the process that scores it."""

    path: Path
    program_name: str  # of the file that holds the program
    environment: tuple[str, ...]
    files: tuple[Path, ...]
    digest: str
    judged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task as its folder describes it. `suites` holds a function per suite that reads it."""

    name: str
    folder: Path
    entry_point: str  # empty where a script runs programs, and names none
    description: str
    prompt_text: str  # the task in words, for a model: the description where the task has no prompt.md
    objective: Objective
    initial: Path
    ingredients: Path | None
    default_suite: str
    packages: tuple[str, ...]  # that a program may import, with the standard library
    suites: Mapping[str, Callable[[], Suite]]
    judge: Judge
    exact_file: Path | None
    adapter_source: str
    digest: str
    reference: Path | None = None  # where the clock is the score: the program to time against
    script: Script | None = None  # where a script runs programs, in place of their entry point
    program_folder: ProgramFolder | None = None  # where programs have several files; `initial` is that folder then
    repository: Repository | None = None  # where a program is the files of a repository that may change

    @property
    def uses_clock(self) -> bool:
        """Whether the score is a measured ratio: to the reference program, or to a repository's unchanged code."""
        return self.reference is not None or self.repository is not None

    @property
    def program_name(self) -> str:
        """The path of the file of a program that has one; `SEVERAL` where programs have several."""
        if self.program_folder is not None:
            return SEVERAL
        return "program.py" if self.script is None else f"program{self.initial.suffix or '.txt'}"

    def initial_files(self) -> Files:
        """The initial program. Raises TaskError."""
        if self.program_folder is not None:
            return self.program_folder.read()
        return Files.single(self.program_name, source_of(self.initial, "the initial program"))

    @property
    def calls_entry_point(self) -> bool:
        """Whether a function of the program is called; else commands run the program."""
        return self.script is None and self.repository is None

    @property
    def self_judged(self) -> bool:
        """Whether a program shares the process that scores it: a script without a judge, or a benchmark that prints the
        number."""
        if self.repository is not None:
            return self.repository.self_judged
        return self.script is not None and not self.script.judged

    @property
    def adapter_file(self) -> Path:
        """The path of the adapter, if the task has one."""
        return self.folder / "adapter.py"

    def suite(self, name: str | None = None) -> Suite:
        """The suite called `name` (None: the task's default). Raises TaskError."""
        name = self.default_suite if name is None else name
        if name not in self.suites:
            names = ", ".join(sorted(self.suites))
            raise TaskError(f"task {self.name!r} has no suite {name!r} (it has: {names})")
        return self.suites[name]()

    def verify(
        self, suite: str | None = None, instances: Sequence[int] | None = None, *, limit_s: float = 300.0
    ) -> Iterator[BoundCheck]:
        """Proves the bounds of a suite (or of some of its `instances`) again, one result at a time. Raises TaskError
        without an `exact.py`, a bound or such an instance, SandboxError when a package of `exact.py` is not installed.
        """
        solver = self.exact("verify")
        chosen = self.suite(suite)
        if all(instance.bound is None for instance in chosen.instances):
            raise TaskError(f"suite {chosen.name!r} of task {self.name!r} has no bounds")
        wanted = range(len(chosen.instances)) if instances is None else instances
        for index in wanted:
            if not 0 <= index < len(chosen.instances):
                last = len(chosen.instances) - 1
                raise TaskError(f"suite {chosen.name!r} has no instance {index} (they go from 0 to {last})")
        return (_verified(solver, chosen.instances[index], limit_s) for index in wanted)

    def as_given(self, instance: Instance, answer: object) -> AsGiven | None:
        """An answer before the repair; None where the task has no `as_given.py`: its judge repairs nothing. Raises
        TaskError, and InvalidAnswer for what is no answer."""
        path = self.folder / "as_given.py"
        if not path.is_file():
            return None
        module = TaskModule(path, ("as_given",), passed=(InvalidAnswer,))
        given = module.call("as_given", f" on instance {instance.index}", instance.fresh(), answer)
        if not isinstance(given, AsGiven):
            raise module.wrong("as_given", f"returned {describe_value(given)}, not an AsGiven")
        return given

    def exact(self, function: str) -> TaskModule:
        """The task's `exact.py`, which must define `function`; an EvaluatorError of it (no solver installed) goes
        through. Raises TaskError when there is none."""
        if self.exact_file is None:
            raise TaskError(f"task {self.name!r} has no exact.py, so there are neither proofs nor an exact baseline")
        return TaskModule(self.exact_file, (function,), passed=(EvaluatorError,))


def _verified(solver: TaskModule, instance: Instance, limit_s: float) -> BoundCheck:
    check = solver.call("verify", f" on instance {instance.index}", instance, limit_s=limit_s)
    if not isinstance(check, BoundCheck) or not isinstance(check.holds, bool | None):
        raise solver.wrong("verify", f"returned {describe_value(check)}, not a BoundCheck")
    if check.instance != instance.index:
        raise solver.wrong("verify", f"checked instance {check.instance} instead of {instance.index}")
    return check

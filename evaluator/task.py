"""A task: a folder with `judge.py` and an initial program; everything else has a default (docs/tasks.md).

`task.yaml` (read by `evaluator.task_yaml`) names its parts by a path relative to itself, or as
`programs:<task>/initial.py` and `prompts:tasks/<task>.md` for what ships with the packages. What a model is told of
the task is the text in `prompt.md` beside it (or in the file that the key `prompt` names), else its description.

`judge.py` (trusted, runs in the harness) defines
    judge(instance, answer) -> int, Fraction or float       of one answer; raises InvalidAnswer or Infeasible
    converse(instance)                         in place of `judge`: asks item by item (docs/tasks.md)
    INSTANCES = [...]                          the instances, plain data, where no suite names a file of them
    summarise(verdicts, instances) -> metrics  optional: numbers by name, of one program over a suite
    describe(instance) -> str                  optional: "9 GPUs, 18 models", for messages
    draw(instance, answer) -> str              optional: a picture of an answer, as SVG
    renamed(data, rng) -> data                 optional: an instance with other names of the same shape in it
    permuted(data, rng) -> data                optional: an instance in another order
    draw_instance(rng, suite) -> data          optional: a new instance of that suite's recipe

`instance` is plain data wherever it is passed, a fresh copy each time. Without `summarise` a program's metric is the
mean of what `judge` returned. `renamed` and `permuted` serve strict re-evaluation (`evaluator.strict`); without one,
its check is skipped, and the report says so. What they return is put to the program through the same adapter and judged
as an instance with the same bounds. A program must answer an instance with other names at exactly the same cost; what
another order does to its score is only reported. Other names must have the shape of those that they replace, or they
tell a program that it is examined. What `draw_instance` returns is a function of `rng` (a `random.Random`) and the
suite's name alone, and has no bound: programs are compared on it (`evaluator.fresh`).

Where the clock is the score (`uses_clock` in task.yaml: `evaluator.timing`), what `judge` returns only says that the
answer is right; it decides nothing, nor do bounds and values listed.

`adapter.py` (optional, runs beside the candidate in its process) defines
    prepare(instance) -> (arguments, encode)
where `arguments` is the tuple that the entry point is called with, and `encode(result)` turns what it returned into
JSON, raising ValueError when that is no answer. Without an adapter the entry point is called with an instance's keys as
keyword arguments (with the instance itself where it is no object), and must return JSON.

`exact.py` (optional, trusted) defines
    verify(instance, *, limit_s) -> BoundCheck  proves the bound of an `Instance` again
    place(instance, *, seconds) -> answer       what an exact solver reaches in that time, as a peer of programs

`evaluate.py` (optional; another name by the key `script`) runs programs in a sandbox of its own, in place of the
entry point: see `evaluator.script`.

Both trusted files may import modules and packages that lie beside them. Whatever they raise, and whatever they return
that is not as said here (a cost that is no number, a score that is NaN), is a TaskError that names file, line and
function.
"""

import marshal
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from evaluator.conversation import Conversation
from evaluator.errors import TaskError
from evaluator.evaluation import Summary, Verdict
from evaluator.objective import ListedValue, Objective


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a candidate may use on a suite. CPU limits decide outcomes, wall limits (derived) are the backstop."""

    cpu_per_instance_s: float
    cpu_total_s: float
    memory_mb: int
    cpu_per_item_s: float | None = None  # where an instance is asked item by item
    answer_kb: int = 64  # the longest answer, as JSON
    # Of an evaluator script, whose processes are limited together. Not part of the text that a suite's digest is of.
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
        """Wall seconds for the whole candidate: 3 x CPU + 5, unless they are stated."""
        return 3 * self.cpu_total_s + 5 if self.wall_s is None else self.wall_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance of a suite. `bound` is the best bound known of what the judge returns (no answer can be better),
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
        """The instance's data, a copy that whoever gets it may change."""
        return marshal.loads(self._packed)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCheck:
    """Whether the bound of one instance holds (None: not settled in the time), and why."""

    instance: int
    holds: bool | None
    detail: str


Converse = Callable[["Instance"], Conversation]
"""`converse` of a judge, as the rest of the house meets it."""
Reword = Callable[[Any, random.Random], Any]
"""`renamed` and `permuted` of a judge."""
Draw = Callable[[random.Random, str], Any]
"""`draw_instance` of a judge."""


class Prover(Protocol):
    """What `exact.py` provides (see the module's docstring). Raises TaskError for whatever goes wrong in it."""

    def verify(self, instance: Instance, *, limit_s: float) -> BoundCheck:
        """Proves an instance's bound again."""
        ...

    def place(self, instance: Instance, *, seconds: float) -> Any:
        """The best answer that an exact solver finds in about so many seconds."""
        ...


class Judge(Protocol):
    """What `judge.py` provides (see the module's docstring), with what holds where it does not. Raises TaskError for
    whatever goes wrong in it."""

    converse: Converse | None = None
    renamed: Reword | None = None
    permuted: Reword | None = None
    draw_instance: Draw | None = None

    def judge(self, instance: Instance, answer: object) -> Verdict:
        """The verdict on one answer; on the list of all of them where it asks item by item."""
        ...

    def summarise(self, verdicts: Sequence[Verdict], instances: Sequence[Instance]) -> Summary:
        """The score of a whole suite."""
        ...

    def draw(self, instance: Instance, answer: object) -> str:
        """A picture of an answer, as SVG text; empty when the judge draws none."""
        return ""

    def describe(self, instance: Instance) -> str:
        """What an instance is like, in a few words; empty when the judge does not say."""
        return ""


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
    best_known: tuple[ListedValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What runs programs in place of their entry point. `environment` holds names of variables that it gets from the
    user's shell; `files` are what it, and so a program, may read of the task's folder: files and folders; `digest` is
    of all these; `judged`: a `judge.py` decides, else the program shares the process that scores it."""

    path: Path
    program_name: str  # of the file that holds the program
    environment: tuple[str, ...]
    files: tuple[Path, ...]
    digest: str
    judged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task as its folder describes it. `suites` holds what reads each of them, when it is asked for."""

    name: str
    folder: Path
    entry_point: str  # empty where a script runs programs, and names none
    description: str
    prompt_text: str  # the task in words, for a model: the description where the task has no text of its own
    objective: Objective
    initial: Path
    ingredients: Path | None
    default_suite: str
    packages: tuple[str, ...]  # that a program may import, beside the standard library
    suites: Mapping[str, Callable[[], Suite]]
    judge: Judge
    prover: Callable[[str], Prover] | None  # loads `exact.py`, which must define that function
    adapter_source: str
    digest: str
    reference: Path | None = None  # where the clock is the score: the program that others are timed against
    script: Script | None = None  # where a script runs programs, in place of their entry point

    @property
    def uses_clock(self) -> bool:
        """Whether its score is a speed: measured by a clock, a ratio to the reference program."""
        return self.reference is not None

    @property
    def self_judged(self) -> bool:
        """Whether a program shares the process that scores it: a script without a judge."""
        return self.script is not None and not self.script.judged

    @property
    def adapter_file(self) -> Path:
        """Where its adapter lies, if it has one."""
        return self.folder / "adapter.py"

    def suite(self, name: str | None = None) -> Suite:
        """The suite called `name` (None: the task's default). Raises TaskError."""
        name = self.default_suite if name is None else name
        if name not in self.suites:
            known = ", ".join(sorted(self.suites))
            raise TaskError(f"task {self.name!r} has no suite {name!r} (it has: {known})")
        return self.suites[name]()

    def verify(
        self, suite: str | None = None, instances: Sequence[int] | None = None, *, limit_s: float = 300.0
    ) -> Iterator[BoundCheck]:
        """Proves the bounds of a suite (or of some of its `instances`) again, one result at a time.

        Raises TaskError when the task has no `exact.py`, the suite no bounds, or there is no such instance,
        SandboxError when what `exact.py` needs is not installed.
        """
        prover = self.exact("verify")
        chosen = self.suite(suite)
        if all(instance.bound is None for instance in chosen.instances):
            raise TaskError(f"suite {chosen.name!r} of task {self.name!r} has no bounds")
        wanted = range(len(chosen.instances)) if instances is None else instances
        for index in wanted:
            if not 0 <= index < len(chosen.instances):
                last = len(chosen.instances) - 1
                raise TaskError(f"suite {chosen.name!r} has no instance {index} (they go from 0 to {last})")
        return (prover.verify(chosen.instances[index], limit_s=limit_s) for index in wanted)

    def exact(self, function: str) -> Prover:
        """The task's `exact.py`, which must define `function`. Raises TaskError when there is none."""
        if self.prover is None:
            raise TaskError(f"task {self.name!r} has no exact.py: neither proofs nor an exact baseline can be had")
        return self.prover(function)

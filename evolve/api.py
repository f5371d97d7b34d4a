"""The Python API of `import evolve`: begin a run, resume one, read one, score a program.

    import evolve

    run = evolve.run(task="placement", generations=20, parallel=1)
    run.best["combined_score"], run.best["gap"]
    pandas.DataFrame(run.programs)               # plain rows, one per program
    print(run.source(run.best["generation"]))
    evolve.score(run.source(0), suite="tight").combined_score

The commands of the same names call the same functions. Every error is an `evolve.EvolveError` or an
`evolve.EvaluatorError`, whose message says what to do.
"""

import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from evaluator.errors import EvaluatorError, SandboxError, TaskError
from evaluator.evaluation import Evaluation, InstanceResult, Outcome
from evaluator.opening import open_evaluator
from evaluator.places import DEFAULT_TASK
from evaluator.program_files import SEVERAL, Files
from evaluator.sandbox.options import SandboxOptions
from evaluator.task import Task
from evaluator.task_files import load_task
from evolve.archive.events import Event as RecordedEvent
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.core.config import Config
from evolve.core.errors import ArchiveError, EvolveError, InputError, MachineError, ProgramError
from evolve.core.files import explain_undecodable, read_program
from evolve.core.settings import NOTHING, configured
from evolve.loop.session import Changes, new_session, resumed_session
from evolve.progress import (
    Confirmed,
    Evaluated,
    Event,
    Failed,
    Progress,
    Refused,
    ServerTrouble,
    Stopping,
    Summarised,
    Warned,
)
from evolve.review.generation_view import BEGUN, ROW, GenerationReader
from evolve.review.generations import all_generations
from evolve.review.runs import new_run_folder, resolve_run
from evolve.seams import Listener

__all__ = [
    "ArchiveError",
    "Config",
    "Confirmed",
    "Evaluated",
    "Evaluation",
    "EvaluatorError",
    "EvolveError",
    "Failed",
    "InputError",
    "InstanceResult",
    "Listener",
    "MachineError",
    "Outcome",
    "ProgramError",
    "ProgramRecord",
    "Progress",
    "Refused",
    "Run",
    "SandboxError",
    "ServerTrouble",
    "Stopping",
    "Summarised",
    "Task",
    "TaskError",
    "Warned",
    "load_task",
    "open_run",
    "resume",
    "run",
    "score",
]


class _AsConfigured:
    def __repr__(self) -> str:
        return "<as configured>"


AS_CONFIGURED: Any = _AsConfigured()
"""The default of a key of the configuration: the value in `config`, else the documented default."""


def run(
    config: Mapping[str, Any] | str | Path | None = None,
    *,
    name: str | None = None,
    listener: Listener | None = None,
    interrupt: threading.Event | None = None,
    require_level: str | None = None,
    unsafe: bool = False,
    fix_initial: bool = False,
    task: str = AS_CONFIGURED,
    suite: str | None = AS_CONFIGURED,
    initial: str | None = AS_CONFIGURED,
    seed: int = AS_CONFIGURED,
    generations: int | None = AS_CONFIGURED,
    minutes: float | None = AS_CONFIGURED,
    patience: int | None = AS_CONFIGURED,
    budget_usd: float | None = AS_CONFIGURED,
    budget_tokens: int | None = AS_CONFIGURED,
    budget_calls: int | None = AS_CONFIGURED,
    prices: str | None = AS_CONFIGURED,
    models: Sequence[str | Mapping[str, Any]] = AS_CONFIGURED,
    meta_every: int = AS_CONFIGURED,
    meta_model: str | None = AS_CONFIGURED,
    repair_model: str | None = AS_CONFIGURED,
    prompts_dir: str | None = AS_CONFIGURED,
    prompt_tokens: int = AS_CONFIGURED,
    parallel: int = AS_CONFIGURED,
    workers: int = AS_CONFIGURED,
    attempts: int = AS_CONFIGURED,
    search: Mapping[str, Any] = AS_CONFIGURED,
) -> "Run":
    """Begin a run, evolve until a limit is reached, and return its record.

    `config` is a mapping or a YAML file; arguments with the names of its keys override it. `models` may be names alone;
    without any, the offline proposer searches. The run is kept in `runs/<name>`; the default name has task, suite and
    time. `listener` receives the events of the run; set `interrupt`, from another thread, to end early. The options
    `--require-level`, `--unsafe-no-sandbox` and `--fix-initial` are `require_level`, `unsafe` and `fix_initial` here.
    `resume` continues the run, however this call ended.

    Raises InputError, TaskError or ArchiveError for bad input, MachineError or SandboxError for the machine.

    >>> run = evolve.run(task="placement", generations=1, parallel=1, name="example")
    >>> run.best["generation"], round(run.best["combined_score"], 3), run.finished
    (1, 25.473, 'generations')
    """
    given = {key: value for key, value in locals().items() if value is not AS_CONFIGURED}
    values = {key: given[key] for key in Config.model_fields if key in given and key != "models"}
    resolved = configured(config, values=values, models=given.get("models"), origin="evolve.run")
    folder = new_run_folder(resolved, name)
    confined = SandboxOptions(require_level=require_level, unsafe=unsafe)
    numbered = name is None
    with new_session(resolved, folder, numbered=numbered, confined=confined, fix_initial=fix_initial) as session:
        session.run(listener or _Silent(), interrupt or threading.Event())
        folder = session.archive.folder
    return Run(folder)


def resume(
    run: "str | Path | Run",
    *,
    settings: Mapping[str, Any] = NOTHING,
    rescore: bool = False,
    exclude: Sequence[int | str] = (),
    trust: bool = False,
    listener: Listener | None = None,
    interrupt: threading.Event | None = None,
    require_level: str | None = None,
    unsafe: bool = False,
) -> "Run":
    """Continue a run where it stopped, however it stopped, and return its record.

    `run` is a run's name or folder, or a `Run`. `settings` change keys of the configuration, dotted, from now on
    (`{"generations": 200}`; task, suite, initial, seed and search.* are frozen). `rescore`: score the elites again
    where a judge has changed. `exclude`: programs that can no longer be parents or the best; their children stay.
    `trust`: where somebody else began the run, use the models, keys, code and folders that it names (else
    UntrustedArchive, which lists them). The other arguments are those of `run`.

    Raises ArchiveError for a folder that is no run, is damaged or is being written by another process.

    >>> run = evolve.resume("example", settings={"generations": 2})
    >>> [row["generation"] for row in run.generations]
    [0, 1, 2]
    """
    folder = run.folder if isinstance(run, Run) else resolve_run(str(run))
    agree = (lambda _: True) if rescore else None
    with resumed_session(
        folder,
        Changes(settings=settings, exclude=[str(program) for program in exclude]),
        trust=lambda _: trust,
        rescore=agree,
        confined=SandboxOptions(require_level=require_level, unsafe=unsafe),
    ) as session:
        session.run(listener or _Silent(), interrupt or threading.Event())
    return Run(folder)


def open_run(run: str | Path) -> "Run":
    """Open the record of a run by its name under `runs/` or its folder, also while the run is under way.

    >>> evolve.open_run("example").best["patch_kind"]
    'diff'
    """
    return Run(resolve_run(str(run)))


def score(
    source: str | Path | Mapping[str, str],
    *,
    task: str | Path | Task = DEFAULT_TASK,
    suite: str | None = None,
    strict: bool = False,
    require_level: str | None = None,
    unsafe: bool = False,
) -> Evaluation:
    """Score one program in processes of its own, and return the verdict.

    `source` is a file (a Path, or a text without a line break), a program's text, or, where programs have several
    files, a folder or the texts by path. `strict` re-evaluates it with other
    names, hash seeds and processes; the report is in `.strict`. Raises InputError, TaskError, SandboxError.

    >>> evaluation = evolve.score("x = 1\\n")
    >>> evaluation.correct, evaluation.outcome.value
    (False, 'load_error')
    """
    loaded = task if isinstance(task, Task) else load_task(str(task))
    program = _program(source, loaded)
    confined = SandboxOptions(require_level=require_level, unsafe=unsafe)
    with open_evaluator(loaded, loaded.suite(suite), workers=1, confined=confined) as evaluator:
        evaluation = explain_undecodable(program, evaluator.evaluate(program))
        return evaluator.examine(program, evaluation) if strict else evaluation


def _program(source: str | Path | Mapping[str, str], task: Task) -> Files:
    if isinstance(source, Mapping):
        try:
            return Files.of(source)
        except ValueError as cause:
            raise InputError(str(cause)) from None
    if isinstance(source, Path) or "\n" not in source:
        return read_program(Path(source), task)
    return Files.single(task.program_name, source)


class Run:
    """The record of a run, as it was when it was opened; `reload` reads what was added since.

    >>> with evolve.open_run("example") as run:
    ...     [(row["generation"], row["correct"]) for row in run.programs][:2]
    [(0, True), (1, True)]
    """

    def __init__(self, folder: Path) -> None:
        """Open the run in `folder`. Raises ArchiveError."""
        self.folder = folder
        self._open()

    def _open(self) -> None:
        self._program_rows: list[dict[str, Any]] | None = None
        self._generation_rows: list[dict[str, Any]] | None = None
        self._archive = RunReader.open(self.folder)
        self._closing = weakref.finalize(self, self._archive.close)

    def __repr__(self) -> str:
        record, count = self._archive.best, len(self._archive.programs)
        best = "nothing correct yet" if record is None else f"best {record.combined_score:.6f}"
        best += " (self-judged)" if record is not None and record.self_judged else ""
        return f"<evolve.Run {str(self.folder)!r}: {self.task}/{self.suite}, {count} programs, {best}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its files; sources and evaluations cannot be read any more."""
        self._closing()

    def reload(self) -> Self:
        """Read the run again, with everything added since, and return it."""
        self.close()
        self._open()
        return self

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.resolve().name

    @property
    def task(self) -> str:
        """The name of the task."""
        return str(self._archive.identity["task"])

    @property
    def suite(self) -> str:
        """The suite that its programs were scored on."""
        return str(self._archive.identity["suite"])

    @property
    def fingerprint(self) -> str:
        """A digest that is the same for equal runs."""
        return self._archive.fingerprint()

    @property
    def finished(self) -> str | None:
        """Why the last session stopped; None while one goes on, or when it was cut off."""
        return self._archive.finished

    @property
    def programs(self) -> list[dict[str, Any]]:
        """A flat row for each program, in recorded order (see ROW in `evolve.review.generation_view`)."""
        if self._program_rows is None:
            views = GenerationReader(self._archive).views(record.generation for record in self._archive.programs)
            self._program_rows = [view.row(ROW) for view in views]
        return list(self._program_rows)

    @property
    def records(self) -> list[ProgramRecord]:
        """The same programs as records, as a listener receives them."""
        return list(self._archive.programs)

    @property
    def best(self) -> dict[str, Any] | None:
        """The row of the best program; None while none is correct."""
        best = GenerationReader(self._archive).best
        return None if best is None else best.row(ROW)

    @property
    def generations(self) -> list[dict[str, Any]]:
        """A row for each generation that was begun, with a program or without."""
        if self._generation_rows is None:
            self._generation_rows = [view.to_json(BEGUN) for view in all_generations(self._archive)]
        return list(self._generation_rows)

    def events(self) -> Iterator[RecordedEvent]:
        """Every event of the run, in order, as it was when the run was opened: see `evolve.archive.events`.

        >>> with evolve.open_run("example") as run:
        ...     [event.event for event in run.events()][:3]
        ['created', 'evaluated', 'held_out']
        """
        return self._archive.events()

    def source(self, program: int | str) -> str:
        """The source of a program of one file: a generation, `best`, or the first letters of a commit. Raises
        ArchiveError, and InputError for one of several files."""
        files = self._archive.files(self._archive.find(str(program)))
        if self._archive.program_file == SEVERAL:
            raise InputError(f"program {program} has {len(files)} files; read them with files({program!r})")
        return files.only

    def files(self, program: int | str) -> dict[str, str]:
        """The texts of a program by path, also of one file. Raises ArchiveError."""
        return self._archive.files(self._archive.find(str(program))).to_json()

    def answers(self, program: int | str) -> list[object] | None:
        """The answers of a program that became the best, per instance, as the judge took them; None where none are
        kept."""
        return self._archive.answers(self._archive.find(str(program)))

    def evaluation(self, program: int | str) -> Evaluation:
        """The whole verdict on a program, instance by instance. Raises ArchiveError."""
        return self._archive.evaluation(self._archive.find(str(program)))


class _Silent:
    """A listener that does nothing."""

    def tell(self, event: Event, progress: Progress) -> None:
        """Something happened."""

    def tick(self, progress: Progress) -> None:
        """Nothing happened."""

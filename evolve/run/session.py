"""Starting a run, and going on with one: puts evaluator, proposer, archive and loop together."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evaluator.evaluation import Outcome
from evaluator.task import Task, load_task
from evaluator.untrusted import one_line
from evaluator.yaml_file import parse_mapping
from evolve.archive.archive import Archive
from evolve.config import Config, build_config, render_config
from evolve.errors import ArchiveError, InputError, MachineError
from evolve.program import Origin, PatchKind, check_program, normalised_hash
from evolve.progress import Evaluated
from evolve.run.bench import Bench, Confirmation, open_bench
from evolve.run.loop import Loop
from evolve.run.models import open_models
from evolve.run.rounds import Writing
from evolve.seams import Listener, Proposer
from evolve.search.stopping import StopReason

FREE_DISK_MB = 64
"""Less than this and a run is not begun: it would end in the middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A run that is ready to go on. `resumed` tells a run that goes on from one that begins."""

    archive: Archive
    config: Config
    bench: Bench
    proposers: tuple[tuple[Proposer, float], ...]
    writing: Writing
    stopping: threading.Event
    resumed: bool

    def run(self, listener: Listener, interrupt: threading.Event) -> StopReason:
        """Evolve until a limit is reached or `interrupt` is set."""
        loop = Loop(
            archive=self.archive,
            bench=self.bench,
            proposers=self.proposers,
            writing=self.writing,
            config=self.config,
            listener=listener,
            interrupt=interrupt,
        )
        if not self.resumed:
            initial = self.archive.programs[0]
            detail = self.archive.evaluation(initial).detail
            listener.tell(
                Evaluated(
                    record=initial,
                    detail=detail,
                    parent_score=None,
                    is_best=initial.correct,
                    held_out=self.archive.held_out_scores.get(0),
                ),
                loop.progress(),
            )
        try:
            return loop.run()
        finally:
            self.stopping.set()  # ends the calls and waits of every model


@contextmanager
def new_session(
    config: Config, folder: Path, *, require_level: str | None = None, unsafe: bool = False
) -> Iterator[Session]:
    """Begin a run in `folder`, which must not exist. Nothing is written before the initial program was scored.

    `require_level` and `unsafe` are the evaluator's.

    Raises InputError, TaskError or ArchiveError for bad input, MachineError and SandboxError for the machine's.
    """
    task = load_task(config.task)
    opened = open_bench(task, config.suite, workers=config.workers, require_level=require_level, unsafe=unsafe)
    with opened as bench:
        source = _initial_source(config, task)
        if folder.exists():
            raise ArchiveError(f"{folder} exists already; choose another --name, or go on with: evolve resume {folder}")
        _require_disk(folder.parent)
        stopping = threading.Event()
        proposers, writing = open_models(config, task, bench.evaluator.suite, stopping)
        initial = bench.judge(source)
        evaluation = initial.evaluation
        if evaluation.outcome is Outcome.LOAD_ERROR:
            said = one_line(evaluation.detail.strip().splitlines()[-1], 300)
            raise InputError(
                f"{_initial_path(config, task)}: the initial program does not load: {said} (more: evolve score)"
            )
        if evaluation.quarantine is not None:
            raise InputError(
                f"{_initial_path(config, task)}: the initial program is quarantined, and nothing can be evolved from "
                f"it: {one_line(evaluation.quarantine, 500)}"
            )
        identity = {
            "task": task.name,
            "suite": bench.evaluator.suite.name,
            "seed": config.seed,
            "initial": normalised_hash(source),
            **bench.identity(),
        }
        with Archive.create(folder, config_text=render_config(config), identity=identity) as archive:
            _record_initial(archive, source, initial)
            yield Session(
                archive=archive,
                config=config,
                bench=bench,
                proposers=proposers,
                writing=writing,
                stopping=stopping,
                resumed=False,
            )


@contextmanager
def resumed_session(
    folder: Path, *, generations: int | None, require_level: str | None = None, unsafe: bool = False
) -> Iterator[Session]:
    """Go on with the run in `folder`, with `generations` in place of its own limit if given.

    Raises ArchiveError for a folder that is no run, is damaged or is being written by another process, and when
    the evaluator is no longer the one whose scores the run holds.
    """
    with Archive.open(folder, write=True) as archive:
        config = stored_config(archive)
        if generations is not None:
            config = config.model_copy(update={"generations": generations})
        task = load_task(config.task)
        opened = open_bench(task, config.suite, workers=config.workers, require_level=require_level, unsafe=unsafe)
        with opened as bench:
            for key, now in bench.identity().items():
                if archive.identity.get(key) != now:
                    raise ArchiveError(
                        f"{folder}: its programs were scored with {key} {archive.identity.get(key)!s:.16}, "
                        f"and this is {now!s:.16}: scores of the two cannot stand in one run. Begin a new run "
                        f"from its best program: evolve export {folder} best -o best.py && "
                        "evolve run --set initial=best.py"
                    )
            _require_disk(folder)
            stopping = threading.Event()
            proposers, writing = open_models(config, task, bench.evaluator.suite, stopping)
            archive.resumed(generations=config.generations)
            if not archive.programs:
                source = _initial_source(config, task)
                if normalised_hash(source) != archive.identity["initial"]:
                    raise ArchiveError(
                        f"{folder}: the run was cut off before its initial program was recorded, and "
                        f"{_initial_path(config, task)} has changed since; begin a new run"
                    )
                _record_initial(archive, source, bench.judge(source))
            yield Session(
                archive=archive,
                config=config,
                bench=bench,
                proposers=proposers,
                writing=writing,
                stopping=stopping,
                resumed=True,
            )


def stored_config(archive: Archive) -> Config:
    """The configuration that a run was begun with. Raises InputError when `run.yaml` was damaged."""
    path = str(archive.folder / "run.yaml")
    return build_config(parse_mapping(archive.config_text, path, error=InputError), origin=path)


def _initial_path(config: Config, task: Task) -> Path:
    return task.initial if config.initial is None else Path(config.initial)


def _initial_source(config: Config, task: Task) -> str:
    path = _initial_path(config, task)
    try:
        # newline="": the program's own line ends are kept.
        with path.open(encoding="utf-8-sig", newline="") as file:
            source = file.read()
    except OSError as cause:
        raise InputError(f"{path}: the initial program cannot be read ({cause.strerror})") from None
    except UnicodeDecodeError as cause:
        raise InputError(f"{path}: the initial program is not UTF-8 text (byte {cause.start})") from None
    check_program(source, entry_point=task.entry_point, name=str(path))
    return source


def _record_initial(archive: Archive, source: str, initial: Confirmation) -> None:
    archive.evaluated(
        0,
        0,
        source=source,
        patch_text="",
        origin=Origin(
            kind=PatchKind.INITIAL,
            model="",
            patch_name="initial_program",
            description="The program that the run began with.",
        ),
        parents=[],
        inspirations=[],
        island=0,
        source_hash=normalised_hash(source),
        evaluation=initial.evaluation,
    )
    if initial.held_out is not None and archive.best is not None:
        archive.held_out(0, initial.held_out)


def _require_disk(folder: Path) -> None:
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free // 2**20
    if free < FREE_DISK_MB:
        raise MachineError(
            f"{existing}: no disk space: {free} MB are free, {FREE_DISK_MB} MB are wanted; make room or run elsewhere"
        )

"""Starting a run, and going on with one: puts evaluators, search, models, archive and loop together."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.errors import EvaluatorError, TaskError
from evaluator.evaluation import Evaluation
from evaluator.sandbox.options import STRONGEST, SandboxOptions
from evaluator.task import Task
from evaluator.task_files import load_task
from evaluator.untrusted import one_line
from evolve.archive.archive import Archive
from evolve.archive.git import require_git
from evolve.archive.ranking import worth_rescoring
from evolve.core.completion import Adaptation
from evolve.core.config import Config, render_config
from evolve.core.errors import ArchiveError, InputError
from evolve.core.files import require_disk
from evolve.core.invocation import command
from evolve.core.program import program_hash
from evolve.core.settings import changed_config, changes, with_absolute_paths
from evolve.evaluation.beginning import begin_archive, initial_path, judge_initial, record_initial, require_valid_answer
from evolve.evaluation.evaluators import EvaluatorPair, open_evaluators
from evolve.evaluation.generalisation import measure_again, try_new_orders, verify_on_fresh_instances
from evolve.evaluation.recording import rescore as rescore_programs
from evolve.loop.admission import Admission, elsewhere
from evolve.loop.context import RunServices
from evolve.loop.executor import ThreadExecutor
from evolve.loop.loop import Loop
from evolve.opening import initial_files, open_models, task_of_run
from evolve.progress import Evaluated, Warned
from evolve.propose.tuning.tuner import require_score_without_chance, require_tunable
from evolve.seams import Listener
from evolve.search.stopping import StopReason, conclude
from evolve.search.strategies import open_search
from evolve.trust import Agree, own_run, refuse, require_trust, stored_config

_TUNES = "search.kinds.tune is not 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a person wants to be otherwise from now on: `settings` (dotted keys of the configuration), the folder where
    the task lies now, and the programs (`exclude`) that are taken out of choice and best for good."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    task_folder: str | None = None
    exclude: Sequence[str] = ()


_UNCHANGED = Changes()

Requirement = Callable[[Task, Evaluation], None]
"""Raises InputError for a task, or an evaluation of its initial program, that a person's options do not fit."""


def nothing_required(task: Task, initial: Evaluation) -> None:
    """Every task and initial program will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(RunServices):
    """A run that is ready to go on; `resumed`: it was begun before; `unnoted`: why nobody noted whose it is, if so."""

    resumed: bool
    unnoted: str | None

    def run(self, listener: Listener, interrupt: threading.Event) -> StopReason:
        """Evolve until a limit is reached or `interrupt` is set.

        Raises TaskError when generations were left open for what the task's own code did wrong.
        """
        asking = self.config.parallel + elsewhere(self.config) + 1
        executor = ThreadExecutor(asking=asking, evaluating=self.config.workers, cancel=self.evaluators.cancel)
        loop = Loop(self, executor, listener, partial(Admission, executor=executor, interrupt=interrupt))
        if not self.resumed:
            reader = self.archive.reader
            initial, held_out = reader.programs[0], reader.held_out_scores.get(0)
            detail = reader.evaluation(initial).detail
            loop.tell(Evaluated(record=initial, detail=detail, parent_score=None, held_out=held_out))
        try:
            limit = loop.run()
        finally:
            self.models.stopping.set()  # ends the calls and waits of every model
        pair = self.evaluators
        suite = pair.evaluator.suite
        try:
            try_new_orders(self.archive, suite, pair.others, interrupt=interrupt, tell=loop.tell)
        except EvaluatorError as cause:
            message = f"the best program was not scored in new orders: {one_line(str(cause), 400)}"
            loop.tell(Warned(message=message))
        try:
            measure_again(self.archive, pair.task, suite, pair.others, interrupt=interrupt, tell=loop.tell)
        except EvaluatorError as cause:
            message = f"the best program was not measured again: {one_line(str(cause), 400)}"
            loop.tell(Warned(message=message))
        verify_on_fresh_instances(self.archive, pair.task, suite, pair.others, interrupt=interrupt, tell=loop.tell)
        reason = conclude(loop.ending(limit, interrupted=interrupt.is_set()))
        self.archive.stopped(reason.value)
        if reason is StopReason.TASK and loop.task_error is not None:
            raise TaskError(
                f"{loop.task_error}. Its answers are kept: repair the task, then: "
                + command("resume", self.archive.folder, "--rescore")
            )
        return reason


@contextmanager
def new_session(
    config: Config,
    folder: Path,
    *,
    numbered: bool = False,
    confined: SandboxOptions = STRONGEST,
    require: Requirement = nothing_required,
    fix_initial: bool = False,
) -> Iterator[Session]:
    """Begin a run in `folder`, which must not exist. Nothing is written before the initial program was scored.

    `numbered`: take `folder-2`, ... where the one before exists. Candidates are `confined` as asked for. `require` is
    called with the initial program's evaluation before anything is written. Unless `fix_initial`, no model is asked to
    improve an initial program that gives no valid answer.

    Raises InputError, TaskError or ArchiveError for bad input, MachineError and SandboxError for the machine's.
    """
    require_git()
    config = with_absolute_paths(config)
    task = load_task(config.task)
    program = initial_files(config, task)
    with open_evaluators(
        task, config.suite, workers=config.workers, control=program, confined=confined, seed=config.seed
    ) as evaluators:
        if folder.exists() and not numbered:
            raise ArchiveError(
                f"{folder} exists already; choose another --name, or go on with: {command('resume', folder)}"
            )
        require_disk(folder.parent)
        prepared = _prepared(config, evaluators)
        initial = judge_initial(config, program, evaluators)
        if config.search.kinds.tune:
            require_score_without_chance(initial.evaluation.spread, what=_TUNES)
        if not fix_initial:
            require_valid_answer(config, initial.evaluation, initial_path(config, task))
        require(task, initial.evaluation)
        run_id, unnoted = own_run(config)
        with begin_archive(folder, config, program, initial, evaluators, run_id=run_id, numbered=numbered) as archive:
            yield prepared(archive=archive, resumed=False, unnoted=unnoted)


@contextmanager
def resumed_session(
    folder: Path,
    wanted: Changes = _UNCHANGED,
    *,
    trust: Agree = refuse,
    rescore: Callable[[str], bool] | None = None,
    tell: Callable[[int, int], None] = lambda done, of: None,
    confined: SandboxOptions = STRONGEST,
    require: Requirement = nothing_required,
) -> Iterator[Session]:
    """Go on with the run in `folder`, changed as `wanted`; `trust` is asked before what another's run names is used.
    Where its programs were scored by another judge, `rescore` is asked, with what has changed, whether the initial
    program and the elites shall be scored again; without it, or when it says no, that is an ArchiveError. `tell` hears
    how many of how many are done. Candidates are `confined` as asked for. `require` is called with the verdict on the
    initial program: before anything is written, or once that is scored again.

    Raises ArchiveError for a folder that is no run, is damaged or is being written by another process, and when the
    evaluator is another one; InputError for a setting that is wrong or frozen; UntrustedArchive."""
    with Archive.open(folder) as archive:
        reader, excluded = archive.reader, _to_exclude(archive, wanted.exclude)
        before = stored_config(reader)
        config = changed_config(before, wanted.settings, task=wanted.task_folder, begun=reader.next_generation - 1)
        unnoted = require_trust(reader, config, typed_task=wanted.task_folder is not None, agree=trust)
        task = task_of_run(reader, config.task, verb="resume")
        control = reader.files(reader.programs[0]) if reader.programs else initial_files(config, task)
        with open_evaluators(
            task, config.suite, workers=config.workers, control=control, confined=confined, seed=config.seed
        ) as evaluators:
            identity = _changed_identity(archive, evaluators, rescore)
            require_disk(folder)
            if reader.programs and not identity:
                require(task, reader.evaluation(reader.programs[0]))
            known = reader.timeline.adaptations if config.models == before.models else ()
            prepared = _prepared(config, evaluators, known=known)
            archive.resumed(
                config_text=None if config == before else render_config(config),
                changed=changes(before, config),
                identity=identity,
                rescore=worth_rescoring(reader.programs, config.search.elites) if identity else (),
            )
            for generation in excluded:
                archive.excluded(generation)
            _complete_beginning(archive, config, evaluators)
            rescore_programs(archive, evaluators, workers=config.workers, tell=tell)
            require(task, reader.evaluation(reader.programs[0]))
            session = prepared(archive=archive, resumed=True, unnoted=unnoted)
            session.models.recall(reader)
            yield session


def _prepared(config: Config, evaluators: EvaluatorPair, *, known: Sequence[Adaptation] = ()) -> Callable[..., Session]:
    """A session but for its archive, with the models and the search that a configuration names opened; `known` is what
    is asked of the models otherwise than configured."""
    models = open_models(config, evaluators.task, evaluators.evaluator.suite, known)
    search = open_search(models.search_settings(config))
    if config.search.kinds.tune:
        require_tunable(evaluators.task, what=_TUNES)
    return partial(Session, config=config, evaluators=evaluators, models=models, search=search)


def _complete_beginning(archive: Archive, config: Config, evaluators: EvaluatorPair) -> None:
    """Record the initial program, should the run have been cut off before that."""
    if archive.reader.programs:
        return
    program = initial_files(config, evaluators.task)
    if program_hash(program) != archive.reader.identity["initial"]:
        raise ArchiveError(
            f"{archive.folder}: the run was cut off before its initial program was recorded, and "
            f"{initial_path(config, evaluators.task)} has changed since; begin a new run"
        )
    record_initial(archive, program, evaluators.judge(program), evaluators)


def _to_exclude(archive: Archive, names: Sequence[str]) -> list[int]:
    """The generations that a person wants to be excluded and are not. Raises ArchiveError for a program that there is
    none of, InputError for the initial one."""
    records = [archive.reader.find(name) for name in names]
    if any(not record.parents for record in records):
        raise InputError("the initial program cannot be excluded: every other program is compared with it")
    return list(dict.fromkeys(record.generation for record in records if not record.excluded))


def _changed_identity(
    archive: Archive, evaluators: EvaluatorPair, rescore: Callable[[str], bool] | None
) -> dict[str, str | None]:
    """What scores now and is not what scored before. Raises ArchiveError unless nothing is, or `rescore` agrees."""
    changed = {key: now for key, now in evaluators.identity().items() if archive.reader.identity.get(key) != now}
    parts = [f"{key} was {archive.reader.identity.get(key)!s:.16} and is {now!s:.16}" for key, now in changed.items()]
    said = f"its programs were scored otherwise: {'; '.join(parts)}"
    if changed and (rescore is None or not rescore(said)):
        raise ArchiveError(
            f"{archive.folder}: {said}; scores of the two cannot be compared. "
            f"To score the elites again and go on: {command('resume', archive.folder, '--rescore')}"
        )
    return changed

"""What stands at the beginning of a run: its initial program, and an archive that says what scores it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evaluator.evaluation import Evaluation, Outcome, headline_of_error
from evaluator.program_files import Files
from evaluator.task import Task
from evaluator.untrusted import one_line
from evolve.archive.archive import Archive
from evolve.archive.events import EvaluatedEvent, verdict_of
from evolve.archive.layout import PROGRAM
from evolve.core.config import Config, render_config
from evolve.core.errors import InputError
from evolve.core.invocation import command
from evolve.core.program import Origin, PatchKind, program_hash
from evolve.evaluation.evaluators import Confirmation, EvaluatorPair


def initial_path(config: Config, task: Task) -> Path:
    """The file of the initial program."""
    return task.initial if config.initial is None else Path(config.initial)


def judge_initial(config: Config, program: Files, evaluators: EvaluatorPair) -> Confirmation:
    """The initial program, scored. Raises InputError for one that nothing can be evolved from."""
    initial, path = evaluators.judge(program), initial_path(config, evaluators.task)
    evaluation = initial.evaluation
    if evaluation.outcome is Outcome.LOAD_ERROR:
        which = () if config.task == Config.model_fields["task"].default else ("--task", config.task)
        error = one_line(evaluation.detail.strip().splitlines()[-1], 300)
        raise InputError(f"{path}: the initial program does not load: {error} (more: {command('score', path, *which)})")
    if evaluation.quarantine is not None:
        raise InputError(
            f"{path}: the initial program is quarantined, and nothing can be evolved from "
            f"it: {one_line(evaluation.quarantine, 500)}"
        )
    return initial


def require_valid_answer(config: Config, initial: Evaluation, path: Path) -> None:
    """Raises InputError where a model would be asked to improve a program that answers no instance validly."""
    if not config.models or any(result.outcome is Outcome.OK for result in initial.results):
        return
    why = one_line(headline_of_error(initial.detail), 400)
    doctor = command("doctor", "--task", config.task)
    raise InputError(
        f"{path}: the initial program gives no valid answer ({initial.outcome.value}: {why}), and no model was asked. "
        f"Repair it (more: {doctor}), or let the models repair it with --fix-initial"
    )


@contextmanager
def begin_archive(
    folder: Path,
    config: Config,
    program: Files,
    initial: Confirmation,
    evaluators: EvaluatorPair,
    *,
    run_id: str | None = None,
    numbered: bool = False,
) -> Iterator[Archive]:
    """A new archive whose generation 0 is the initial program; `run_id` and `numbered` are those of `Archive.create`.
    Raises ArchiveError, MachineError."""
    identity = identity_of(config, program_hash(program), evaluators)
    text = render_config(config)
    with Archive.create(folder, config_text=text, identity=identity, run_id=run_id, numbered=numbered) as archive:
        record_initial(archive, program, initial, evaluators)
        yield archive


def identity_of(config: Config, initial_hash: str, evaluators: EvaluatorPair) -> dict[str, Any]:
    """The identity of a run whose initial program has this hash."""
    task = evaluators.task
    name = task.program_name
    identity: dict[str, Any] = {
        "task": task.name,
        "suite": evaluators.evaluator.suite.name,
        "seed": config.seed,
        "initial": initial_hash,
    }
    if name != PROGRAM:  # nothing where the file is called what it is by default
        identity["program"] = name
    return identity | evaluators.identity()


def record_initial(archive: Archive, program: Files, initial: Confirmation, evaluators: EvaluatorPair) -> None:
    """Record generation 0."""
    event = EvaluatedEvent(
        generation=0,
        attempt=0,
        parents=(),
        inspirations=(),
        island=0,
        origin=Origin(
            kind=PatchKind.INITIAL,
            model="",
            patch_name="initial_program",
            description="The program that the run began with.",
        ),
        source_hash=program_hash(program),
        evaluation=verdict_of(initial.evaluation),
    )
    archive.evaluated(event, files=program, patch_text="", answers=initial.evaluation.answers)
    if initial.held_out is not None:
        evaluators.record_held_out(archive, 0, initial.held_out)

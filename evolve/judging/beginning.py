"""What stands at the beginning of a run: its initial program, and room on the disk."""

from pathlib import Path

from evaluator.evaluation import Outcome
from evaluator.untrusted import one_line
from evolve.archive.archive import Archive
from evolve.config import Config
from evolve.errors import InputError
from evolve.invocation import command
from evolve.judging.evaluators import Confirmation, EvaluatorPair
from evolve.language import language_of_task
from evolve.program import Origin, PatchKind, normalised_hash


def check_initial(initial: Confirmation, path: Path, *, task: str) -> None:
    """Raise InputError for a program that nothing can be evolved from; `task` is what the configuration calls the
    task."""
    evaluation = initial.evaluation
    if evaluation.outcome is Outcome.LOAD_ERROR:
        which = () if task == Config.model_fields["task"].default else ("--task", task)
        said = one_line(evaluation.detail.strip().splitlines()[-1], 300)
        raise InputError(f"{path}: the initial program does not load: {said} (more: {command('score', path, *which)})")
    if evaluation.quarantine is not None:
        raise InputError(
            f"{path}: the initial program is quarantined, and nothing can be evolved from "
            f"it: {one_line(evaluation.quarantine, 500)}"
        )


def record_initial(archive: Archive, source: str, initial: Confirmation, evaluators: EvaluatorPair) -> None:
    """Record generation 0."""
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
        source_hash=normalised_hash(source, language_of_task(evaluators.task)),
        evaluation=initial.evaluation,
    )
    if initial.held_out is not None:
        evaluators.record_held_out(archive, 0, initial.held_out)

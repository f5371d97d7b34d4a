"""Opens the evaluator of a task: it calls the entry point of programs, or runs a script or a repository's commands."""

from evaluator.evaluator import SandboxedEvaluator
from evaluator.program_files import Files
from evaluator.repository.evaluator import RepositoryEvaluator
from evaluator.sandbox.options import STRONGEST, SandboxOptions
from evaluator.script import ScriptEvaluator
from evaluator.task import Suite, Task

OpenedEvaluator = SandboxedEvaluator | ScriptEvaluator | RepositoryEvaluator


def open_evaluator(
    task: Task,
    suite: Suite,
    *,
    workers: int,
    control: Files | None = None,
    confined: SandboxOptions = STRONGEST,
    alone: bool = False,
    seed: int = 0,
) -> OpenedEvaluator:
    """The evaluator of one suite of a task; the arguments are those of `SuiteEvaluator`. Raises TaskError and
    SandboxError."""
    kind: type[OpenedEvaluator] = SandboxedEvaluator if task.script is None else ScriptEvaluator
    if task.repository is not None:
        kind = RepositoryEvaluator
    return kind(task, suite, workers=workers, control=control, confined=confined, alone=alone, seed=seed)

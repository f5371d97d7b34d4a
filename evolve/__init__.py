"""Evolve: LLM-driven algorithm discovery with scores you can trust. The public names are described in `evolve.api`.

A name is imported when it is first used, so that the commands start at once.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # as `typing` has it; type checkers take it for True

if TYPE_CHECKING:
    from evaluator.errors import EvaluatorError, SandboxError, TaskError
    from evaluator.evaluation import Evaluation, InstanceResult, Outcome
    from evaluator.task import Task
    from evaluator.task_files import load_task
    from evolve.api import Run, open_run, resume, run, score
    from evolve.archive.records import ProgramRecord
    from evolve.core.config import Config
    from evolve.core.errors import ArchiveError, EvolveError, InputError, MachineError, ProgramError
    from evolve.progress import (
        Confirmed,
        Evaluated,
        Failed,
        Progress,
        Refused,
        ServerTrouble,
        Stopping,
        Summarised,
        Warned,
    )
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
    "__version__",
    "load_task",
    "open_run",
    "resume",
    "run",
    "score",
]

_HOMES = {
    "evaluator.errors": ("EvaluatorError", "SandboxError", "TaskError"),
    "evaluator.evaluation": ("Evaluation", "InstanceResult", "Outcome"),
    "evaluator.task": ("Task",),
    "evaluator.task_files": ("load_task",),
    "evolve.api": ("Run", "open_run", "resume", "run", "score"),
    "evolve.archive.records": ("ProgramRecord",),
    "evolve.core.config": ("Config",),
    "evolve.core.errors": ("ArchiveError", "EvolveError", "InputError", "MachineError", "ProgramError"),
    "evolve.progress": (
        *("Confirmed", "Evaluated", "Failed", "Progress", "Refused", "ServerTrouble", "Stopping", "Summarised"),
        "Warned",
    ),
    "evolve.seams": ("Listener",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a type checker must find the public names, and nothing else

    def __getattr__(name):
        """Load a public name when it is first used."""
        from importlib import import_module

        if name not in _HOME:
            raise AttributeError(f"module 'evolve' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__})

"""The errors of an evaluation. A candidate's own failures are data, never exceptions.

    EvaluatorError
    |-- TaskError             2: a task's folder, suite, data or own code is missing or wrong
    |-- SandboxError          3: this machine cannot run candidates (what is missing, and how to get it)
    |-- HarnessError          3: an evaluation failed, and not by the program's fault
    `-- EvaluationCancelled 130: the evaluator was cancelled or closed

Every message names the file, the key and the value. The number is the exit code of a command. `InvalidAnswer` and
`Infeasible` are verdicts on an answer, for a task's judge to raise.
"""

from typing import ClassVar


class EvaluatorError(Exception):
    """Base of the errors that this package raises on purpose. `exit_code` is what a command ends with."""

    exit_code: ClassVar[int] = 2


class TaskError(EvaluatorError):
    """Raised when a task, a suite or one of its files is missing or malformed, or when a task's own code (judge,
    adapter, exact solver) raises or returns something wrong."""


class SandboxError(EvaluatorError):
    """Raised when the machine lacks what running a candidate needs, or a worker could not be started."""

    exit_code: ClassVar[int] = 3


class HarnessError(EvaluatorError):
    """Raised without a verdict when neither a program nor the task's initial program could be evaluated, or when the
    machine gave it no core."""

    exit_code: ClassVar[int] = 3


class EvaluationCancelled(EvaluatorError):
    """Raised in an evaluation under way when the evaluator is cancelled or closed: there is no verdict."""

    exit_code: ClassVar[int] = 130


class InvalidAnswer(Exception):
    """Raised by a judge for what is no answer at all: the wrong type or shape, an index that does not exist."""


class Infeasible(Exception):
    """Raised by a judge for an answer that breaks a constraint."""

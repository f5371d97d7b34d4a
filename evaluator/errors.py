"""What can go wrong in evaluating, apart from the candidate itself (whose failures are data, never exceptions).

    EvaluatorError
    |-- TaskError       a task's folder, suite or data file is missing or malformed
    `-- SandboxError    this machine cannot run candidates (what is missing, and how to get it)

Every message names the file, the key and the value.
"""

from typing import ClassVar


class EvaluatorError(Exception):
    """Base of the errors that this package raises on purpose. `exit_code` is what a command ends with."""

    exit_code: ClassVar[int] = 2


class TaskError(EvaluatorError):
    """Raised when a task, a suite or one of its files is missing or malformed: the caller's input."""


class EvaluationCancelled(EvaluatorError):
    """Raised where an evaluation was ended before it was over."""


class SandboxError(EvaluatorError):
    """Raised when the machine lacks what running a candidate needs, or a worker could not be started."""

    exit_code: ClassVar[int] = 3

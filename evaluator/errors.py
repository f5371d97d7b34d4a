"""What can go wrong in evaluating, apart from the candidate itself (whose failures are data, never exceptions).

    EvaluatorError
    |-- TaskError             2: a task's folder, suite, data or own code is missing, malformed, or does wrong
    |-- SandboxError          3: this machine cannot run candidates (what is missing, and how to get it)
    |-- HarnessError          3: an evaluation came to nothing, and it was not the program's fault
    `-- EvaluationCancelled 130: whoever wanted the verdict wants it no more

Every message names the file, the key and the value. The number is what a command ends with.

`InvalidAnswer` and `Infeasible` are for a task's judge to raise: verdicts on an answer.
"""

from typing import ClassVar


class EvaluatorError(Exception):
    """Base of the errors that this package raises on purpose. `exit_code` is what a command ends with."""

    exit_code: ClassVar[int] = 2


class TaskError(EvaluatorError):
    """Raised when a task, a suite or one of its files is missing or malformed, or when its own code (judge, adapter,
    exact solver) raises or returns what it must not: the caller's input."""


class SandboxError(EvaluatorError):
    """Raised when the machine lacks what running a candidate needs, or a worker could not be started."""

    exit_code: ClassVar[int] = 3


class HarnessError(EvaluatorError):
    """Raised when a program could not be evaluated, and the task's initial program neither, or when the machine gave it
    no core: no verdict on anybody."""

    exit_code: ClassVar[int] = 3


class EvaluationCancelled(EvaluatorError):
    """Raised in an evaluation under way when the evaluator is cancelled or closed: there is no verdict."""

    exit_code: ClassVar[int] = 130


class InvalidAnswer(Exception):
    """Raised by a judge for what is no answer at all: the wrong type or shape, an index that does not exist."""


class Infeasible(Exception):
    """Raised by a judge for an answer that breaks a constraint."""

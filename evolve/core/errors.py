"""What can go wrong, as classes. Every message says what happened, why, and what to do next.

    EvolveError           raised on purpose; a command prints its message and ends with `exit_code`
    |-- InputError        2: a file, option or configuration key that the user gave is wrong
    |   |-- UserCommandError  2: a command that the user gave fails; what it printed is shown, too
    |   |-- ProgramError  2: a program with a broken evolve block, too large, or not Python where it should be
    |   |-- UntrustedArchive  2: somebody else's run names code or endpoints that are not built in
    |   `-- ArchiveError  2: a run folder that is missing, locked, damaged or something else
    |-- PromptTooLong     2: the required parts of a prompt do not fit into `prompt_tokens`
    |-- MachineError      3: the machine or environment lacks something (disk, git, a key)
    `-- PatchError        1: a patch was refused, whole; the message tells the model what to correct

The evaluator has its own tree (`evaluator.errors`), with the same exit codes.
"""

from typing import ClassVar


class EvolveError(Exception):
    """Base of the errors that this package raises on purpose."""

    exit_code: ClassVar[int] = 2


class InputError(EvolveError):
    """Raised when something that the user gave is wrong."""


class UserCommandError(InputError):
    """Raised when a command that the user gave fails. `output` holds lines to show below the message: what it printed,
    untrusted."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


class ProgramError(InputError):
    """Raised when a program has a broken evolve block, is too large, or should be Python and is not. `line` counts from
    1; None where no line is at fault."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


class UnclosedBlock(ProgramError):
    """Raised when an evolve block has no end."""


class ArchiveError(InputError):
    """Raised when a run folder is missing, locked by another process, damaged, or something else."""


class UntrustedArchive(InputError):
    """Raised when somebody else's run would use code or endpoints that are not built in, without consent."""


class PromptTooLong(EvolveError):
    """Raised when the required parts of a prompt do not fit into the configured length."""


class MachineError(EvolveError):
    """Raised when the machine or the environment lacks something."""

    exit_code: ClassVar[int] = 3


class PatchError(EvolveError):
    """Raised when a patch is refused. `reason` is a stable short name. The message tells the model what to do: it is
    the `fact`, one line; the `detail` that shows it; and the `advice`, what to send instead."""

    exit_code: ClassVar[int] = 1

    def __init__(self, reason: str, fact: str, *, detail: str = "", advice: str = "") -> None:
        super().__init__(f"{fact}{detail}{advice}")
        self.reason = reason
        self.fact, self.detail, self.advice = fact, detail, advice

"""Whose fault it is when a program's evaluation comes to nothing: the program's, or that of the machine.

The program is tried again in a fresh place, alone; then the control (a program that is known to run) in its place.
Where the control fails too it is the machine: HarnessError. Otherwise the program gets a third try, and when that fails
as well, it is what takes its worker down.
"""

from collections.abc import Callable
from typing import TypeVar

from evaluator.errors import HarnessError, SandboxError
from evaluator.sandbox.cancellation import Cancellation

T = TypeVar("T")


class TakesItsWorkerDown(Exception):
    """Raised when a program fails three times out of three where the control runs; the message is a sentence."""


def tried(
    first: Callable[[], T],
    alone: Callable[[], T],
    control: Callable[[], object],
    cancellation: Cancellation,
) -> T:
    """What `first` returns, or `alone` where that failed (SandboxError) for no fault of the program's.

    Raises HarnessError, TakesItsWorkerDown and EvaluationCancelled.
    """
    try:
        return first()
    except SandboxError as cause:
        cancellation.check()
        why = cause
    try:
        return alone()
    except SandboxError:
        cancellation.check()
    try:
        control()
    except SandboxError as cause:
        cancellation.check()
        again = "" if str(cause) == str(why) else f" ({cause})"
        raise HarnessError(
            f"a program could not be evaluated ({why}), tried twice, and in the same place neither could the "
            f"task's initial program{again}: it is this machine's fault, and there is no verdict"
        ) from None
    try:
        return alone()
    except SandboxError as cause:
        cancellation.check()
        raise TakesItsWorkerDown(
            f"the program takes its worker down: {cause}, three times out of three, where others run"
        ) from None

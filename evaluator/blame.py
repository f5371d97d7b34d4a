"""Whose fault a failed evaluation is: the program's or the machine's.

The program gets a second try, alone in a fresh place. Then the control, a program that is known to run, is tried there.
If the control fails too, the machine is at fault: HarnessError. Otherwise the program gets a third try; if that fails
as well, the program takes its worker down.
"""

from collections.abc import Callable
from typing import TypeVar

from evaluator.errors import HarnessError, SandboxError
from evaluator.sandbox.turns import Cancellation

T = TypeVar("T")


class TakesItsWorkerDown(Exception):
    """Raised when a program fails three times out of three where the control runs; the message is a sentence."""


def run_with_retries(
    first: Callable[[], T], alone: Callable[[], T], control: Callable[[], object], cancellation: Cancellation
) -> T:
    """What `first` returns; after a SandboxError, what `alone` returns. Raises HarnessError, TakesItsWorkerDown and
    EvaluationCancelled."""
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
            f"a program could not be evaluated in two tries ({why}), and then the task's initial program could not "
            f"either{again}: the fault is this machine's, and there is no verdict"
        ) from None
    try:
        return alone()
    except SandboxError as cause:
        cancellation.check()
        raise TakesItsWorkerDown(
            f"the program takes its worker down: {cause}, three times out of three, where others run"
        ) from None

"""Ending what is under way from another thread, within a moment.

Whoever waits here waits in slices and looks in between; the thread that holds a candidate kills it itself, so that no
descriptor is ever touched by two.
"""

import threading
from typing import Final

from evaluator.errors import EvaluationCancelled

SLICE_S: Final = 0.25
"""The longest time between two looks."""


class Cancellation(threading.Event):
    """Set once, for good, from any thread: nobody wants a verdict any more."""

    def check(self) -> None:
        """Raises EvaluationCancelled once it was set."""
        if self.is_set():
            raise EvaluationCancelled("the evaluator was closed before there was a verdict")

    def sleep(self, seconds: float) -> None:
        """Wait so long. Raises EvaluationCancelled at once when it is set."""
        self.wait(seconds)
        self.check()

"""How a generator says what it waits for. The loop runs the job in a worker thread, and sends back what came of it."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class WaitPhase(StrEnum):
    """What a job does that a generator waits for."""

    ASKING = "asking"
    TUNING = "tuning"
    EVALUATING = "evaluating"
    CONFIRMING = "confirming"
    SUMMARISING = "summarising"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What a generator waits for: `phase` says what the `job` does, and so which threads run it."""

    phase: WaitPhase
    job: Callable[[], Any]


Steps = Generator[Wait, Any, None]
"""What the loop drives. Where no answer can be had it throws CallFailed; what is left for a later session is closed."""


class BudgetReached(Exception):  # it says what happened
    """Raised by a generator whose next question a budget does not allow. Nothing was asked."""

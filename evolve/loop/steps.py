"""How a generator says what it waits for. The loop runs the job in a worker thread, and sends back what came of it."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What a generator waits for: `phase` says what the `job` is (`asking`, `tuning`, `evaluating`, `confirming`,
    `summarising`), and so which threads run it."""

    phase: str
    job: Callable[[], Any]


Steps = Generator[Wait, Any, None]
"""What the loop drives. Where no answer can be had it throws CallFailed; what is left for a later session is closed."""


class BudgetReached(Exception):  # it says what happened
    """Raised by a generator whose next question a budget does not allow. Nothing was asked."""

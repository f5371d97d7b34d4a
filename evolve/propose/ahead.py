"""Whose turn it is to ask an endpoint for what it has not taken yet: one request goes ahead, the others wait for it.

An endpoint that refuses a parameter would else refuse it as often as requests are in flight. A refusal comes at once,
an answer takes its time: after FIRST_S seconds without a refusal the others follow.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evolve.propose.adapting import Parameters

FIRST_S = 5.0
"""Seconds that the others wait at most for the one that goes ahead."""
_POLL_S = 0.05


@dataclass(slots=True)
class Turn:
    """A request that may go now, with the parameters that it sends. Whoever sends it says whether they were `taken`."""

    sent: Parameters
    taken: bool = False


class OneAhead:
    """The turns at one endpoint. Thread-safe."""

    def __init__(self, stopping: threading.Event, *, first_s: float = FIRST_S) -> None:
        self._stopping = stopping
        self._first_s = first_s
        self._changed = threading.Condition()
        self._taken: set[str] = set()
        self._ahead: Turn | None = None
        self._since = 0.0

    @contextmanager
    def take(self, parameters: Callable[[], Parameters]) -> Iterator[Turn]:
        """Wait until a request may go. `parameters` are asked for then, and not before: what was learnt meanwhile
        counts. A run that ends waits for nobody."""
        turn = self._wait(parameters)
        try:
            yield turn
        finally:
            with self._changed:
                if turn.taken:
                    self._taken |= _pairs(turn.sent)
                if self._ahead is turn:
                    self._ahead = None
                self._changed.notify_all()

    def _wait(self, parameters: Callable[[], Parameters]) -> Turn:
        with self._changed:
            while True:
                turn = Turn(parameters())
                if _pairs(turn.sent) <= self._taken or self._stopping.is_set():
                    return turn
                if self._ahead is None:
                    self._ahead, self._since = turn, time.monotonic()
                    return turn
                if time.monotonic() - self._since >= self._first_s:
                    self._taken |= _pairs(self._ahead.sent)
                    self._ahead = None
                    self._changed.notify_all()
                else:
                    self._changed.wait(_POLL_S)


def _pairs(sent: Parameters) -> set[str]:
    """Each parameter with its value, as something that can be compared."""
    return {json.dumps([name, value], sort_keys=True, default=str) for name, value in sent.items()}

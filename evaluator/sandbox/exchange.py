"""What a runner does with a process that answers: one request after another, each with its result.

A `Candidate` (`evaluator.sandbox.supervisor`) is such a process. A recording of one, which is played back, is another
(`evaluator.recording`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from evaluator.evaluation import Outcome
from evaluator.sandbox import protocol
from evaluator.task import Limits


@dataclass(slots=True)
class Exchange:
    """One request with its result. `failure` is None when there is an answer; `fault` describes an exception, if
    any."""

    failure: Outcome | None
    detail: str = ""
    fault: protocol.Fault | None = None
    answer: Any = None
    item: int | None = None  # the last item of an instance that is asked item by item
    size: int = 0  # of the reply, in bytes
    cpu_s: float = 0.0
    wall_s: float = 0.0


class AnsweringProcess(ABC):
    """A process that loads a program and answers requests. After an exchange that ends it, it is not `alive`."""

    judged_here: ClassVar[bool] = True
    """Whether its answers are judged as they come."""
    _limits: Limits

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether it can take another request."""

    @abstractmethod
    def begin(self, per_item_s: float | None = None) -> None:
        """Begin an instance: the limits apply to everything that is `put` until `finish`. `per_item_s` limits the CPU
        time of one reply."""

    @abstractmethod
    def put(self, fields: bytes) -> Exchange:
        """One request and its reply; only `finish` checks the limits to the end."""

    @abstractmethod
    def finish(self, exchange: Exchange) -> None:
        """End the instance: this exchange gets the times of all of it, and fails if they are over a limit."""

    @abstractmethod
    def end(self) -> object:
        """End the process."""

    def load(self, source: str, seed: int) -> Exchange:
        """Load the program. The time counts against the total."""
        exchange = self.ask(protocol.load_fields(seed, source))
        if exchange.failure is None and exchange.answer is not None:
            self.end()
            return Exchange(Outcome.PROTOCOL, "the reply to loading holds an answer")
        if exchange.failure is Outcome.OOM:
            exchange.failure = Outcome.LOAD_ERROR
            exchange.detail = f"loading needs more than the limit of {self._limits.memory_mb} MB of memory"
        return exchange

    def ask(self, fields: bytes) -> Exchange:
        """Run the program on one instance; `fields` is `{"seed":...,"instance":...}` as JSON text."""
        self.begin()
        exchange = self.put(fields)
        self.finish(exchange)
        return exchange

"""What one request to a candidate came to."""

from typing import Any

from evaluator.evaluation import Outcome
from evaluator.sandbox import protocol


class Exchange:
    """What one request came to. `failure` is None when there is an answer; `fault` is the exception's story, if any."""

    __slots__ = ("answer", "cpu_s", "detail", "failure", "fault", "item", "size", "wall_s")

    def __init__(self, failure: Outcome | None, detail: str = "", fault: protocol.Fault | None = None) -> None:
        self.failure = failure
        self.detail = detail
        self.fault = fault
        self.answer: Any = None
        self.item: int | None = None  # which of the items of an instance was the last, where they are asked one by one
        self.size = 0  # of the reply, in bytes
        self.cpu_s = 0.0
        self.wall_s = 0.0

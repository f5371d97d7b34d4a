"""An instance asked item by item: a judge's `converse`, with every fault of it as a TaskError.

    def converse(instance):                      plain data, a copy; a generator, trusted, in the harness
        for size in instance["sizes"]:
            bin = yield {"size": size}           what the program is asked next; its answer comes back
            ...                                  raise InvalidAnswer or Infeasible, as a judge does
        return bins                              the verdict: an int, a Fraction or a float

The generator makes the next item only after an answer, so that no program can learn it early.
"""

import json
from collections.abc import Callable
from fractions import Fraction
from types import GeneratorType
from typing import Any, Final

from evaluator.errors import Infeasible, InvalidAnswer, TaskError
from evaluator.evaluation import Outcome, Verdict
from evaluator.task_code import RAISED, TaskModule, describe_error

MOST_ITEMS: Final = 100_000
"""A conversation with more items counts as endless."""
CONVERSE: Final = "converse"
_encode: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class Conversation:
    """The conversation on one instance. `asked` counts the items so far, `answers` holds the answers to them; `verdict`
    is None until the last item is answered."""

    __slots__ = ("_exact", "_generator", "_instance", "_module", "answers", "asked", "verdict")

    def __init__(self, module: TaskModule, instance: int, data: Any, exact: Callable[[object], Fraction]) -> None:
        """`exact` turns what the generator returns into a number, or raises TaskError. Raises TaskError."""
        self._module = module
        self._instance = instance
        self._exact = exact
        self.answers: list[Any] = []
        self.asked = 0
        self.verdict: Verdict | None = None
        generator = module.call(CONVERSE, f" on instance {instance}", data)
        if not isinstance(generator, GeneratorType):
            raise module.wrong(
                CONVERSE, f"returned an object of type {type(generator).__name__}: it must yield what is asked"
            )
        self._generator = generator

    @property
    def item(self) -> int:
        """The number of the last item that was asked, from 0."""
        return self.asked - 1

    def after(self, answer: object) -> bytes | None:
        """The next item, as JSON text, after this answer (None at the beginning); None once there is a verdict. Raises
        TaskError."""
        if self.asked:
            self.answers.append(answer)
        try:
            asked = self._generator.send(answer)
        except StopIteration as end:
            self.verdict = Verdict(outcome=Outcome.OK, cost=self._exact(end.value))
            return None
        except (Infeasible, InvalidAnswer) as why:
            self.verdict = failed(why)
            return None
        except RAISED as cause:
            raise self._module.blame(cause, CONVERSE, self._where()) from cause
        self.asked += 1
        if self.asked > MOST_ITEMS:
            raise self._wrong(f"asked for more than {MOST_ITEMS} items: does it never end?")
        try:
            return _encode(asked).encode("ascii")
        except (TypeError, ValueError, RecursionError) as cause:
            raise self._wrong(f"yielded what JSON cannot hold ({describe_error(cause)})") from None

    def close(self) -> None:
        """Close the generator. Raises TaskError when it raises, or goes on asking."""
        try:
            self._generator.close()
        except RAISED as cause:
            raise self._module.blame(cause, CONVERSE, f"{self._where()}, when it was closed") from cause

    def _where(self) -> str:
        place = f"after item {self.item} of" if self.asked else "on"
        return f" {place} instance {self._instance}"

    def _wrong(self, what: str) -> TaskError:
        frame = self._generator.gi_frame
        line = f" (line {frame.f_lineno})" if frame is not None else ""
        return self._module.wrong(CONVERSE, f"{what}{line}, at item {self.item} of instance {self._instance}")


def replayed(conversation: Conversation, answers: object) -> Verdict:
    """The verdict on answers that were recorded, or that no program gave. Raises TaskError."""
    if not isinstance(answers, list):
        return Verdict(outcome=Outcome.INVALID_OUTPUT, detail="the answers must be a list with one for each item")
    used = 0
    try:
        asked = conversation.after(None)
        while asked is not None and used < len(answers):
            asked = conversation.after(answers[used])
            used += 1
    finally:
        conversation.close()
    verdict = conversation.verdict
    if verdict is None:
        return Verdict(outcome=Outcome.INVALID_OUTPUT, detail=f"item {conversation.item} has no answer")
    if used < len(answers) and verdict.outcome is Outcome.OK:
        return Verdict(outcome=Outcome.INVALID_OUTPUT, detail=f"there are answers after item {conversation.item}")
    return verdict


def failed(why: Infeasible | InvalidAnswer) -> Verdict:
    """The verdict of a judge that raised `why`."""
    outcome = Outcome.INFEASIBLE if isinstance(why, Infeasible) else Outcome.INVALID_OUTPUT
    try:
        detail = str(why)
    except Exception:  # noqa: BLE001 - boundary: its arguments may not be printable
        detail = ""
    return Verdict(outcome=outcome, detail=detail or "the judge gives no reason")

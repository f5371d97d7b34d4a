"""An instance asked item by item: a judge's `converse`, held to what it may do.

    def converse(instance):                      plain data, a copy; a generator, trusted, in the harness
        for size in instance["sizes"]:
            bin = yield {"size": size}           what the program is asked next; its answer comes back
            ...                                  raise InvalidAnswer or Infeasible, as a judge does
        return bins                              the verdict: an int, a Fraction or a float

The generator runs only after each answer, so that what is to come is not even made when a program answers. Whatever it
does wrong is a TaskError with file, line and function.
"""

import json
from collections.abc import Callable
from fractions import Fraction
from types import GeneratorType
from typing import Any, Final

from evaluator.errors import Infeasible, InvalidAnswer, TaskError
from evaluator.evaluation import Outcome, Verdict
from evaluator.task_code import RAISED, TaskModule, told

MOST_ITEMS: Final = 100_000
"""A conversation of more is taken for one that never ends."""
CONVERSE: Final = "converse"
_encode: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class Conversation:
    """One instance being asked. `asked` counts the items so far, `answers` are those to them; `verdict` is None until
    the last is answered."""

    __slots__ = ("_exact", "_generator", "_instance", "_module", "answers", "asked", "verdict")

    def __init__(self, module: TaskModule, instance: int, data: Any, exact: Callable[[object], Fraction]) -> None:
        """`exact` makes a number of what the generator returns, or raises TaskError. Raises TaskError."""
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
        """The last item that was asked, counted from 0."""
        return self.asked - 1

    def after(self, answer: object) -> bytes | None:
        """What is asked after this answer (None at the beginning), as JSON text; None at the end, when there is a
        verdict. Raises TaskError."""
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
            raise self._wrong(f"yielded what is no JSON ({told(cause)})") from None

    def close(self) -> None:
        """Let the generator end where it stands. Raises TaskError when it raises, or goes on asking."""
        try:
            self._generator.close()
        except RAISED as cause:
            raise self._module.blame(cause, CONVERSE, f"{self._where()}, when it was closed") from cause

    def _where(self) -> str:
        return (
            f" after item {self.item} of instance {self._instance}" if self.asked else f" on instance {self._instance}"
        )

    def _wrong(self, what: str) -> TaskError:
        frame = self._generator.gi_frame
        line = f" (line {frame.f_lineno})" if frame is not None else ""
        return self._module.wrong(CONVERSE, f"{what}{line}, at item {self.item} of instance {self._instance}")


def replayed(conversation: Conversation, answers: object) -> Verdict:
    """The verdict on answers that were given before, or that something else than a program gave. Raises TaskError."""
    if not isinstance(answers, list):
        return Verdict(outcome=Outcome.INVALID_OUTPUT, detail="the answers are no list, with one for each item")
    try:
        asked = conversation.after(None)
        for answer in answers:
            if asked is None:
                beyond = f"there are answers after item {conversation.item}"
                verdict = conversation.verdict
                if verdict is None or verdict.outcome is Outcome.OK:
                    return Verdict(outcome=Outcome.INVALID_OUTPUT, detail=beyond)
                return verdict  # the one for which nothing more was asked
            asked = conversation.after(answer)
    finally:
        conversation.close()
    if conversation.verdict is None:
        return Verdict(outcome=Outcome.INVALID_OUTPUT, detail=f"item {conversation.item} has no answer")
    return conversation.verdict


def failed(why: Infeasible | InvalidAnswer) -> Verdict:
    """The verdict that a judge gives by raising `why`."""
    outcome = Outcome.INFEASIBLE if isinstance(why, Infeasible) else Outcome.INVALID_OUTPUT
    try:
        detail = str(why)
    except Exception:  # noqa: BLE001 - boundary: what it was raised with may not be printable
        detail = ""
    return Verdict(outcome=outcome, detail=detail or "the judge gives no reason")

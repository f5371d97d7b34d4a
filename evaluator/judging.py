"""`judge.py` and `exact.py` as the rest of the house meets them: what they raise or return wrongly is a TaskError.

A task's own code is trusted, and as likely to be wrong as any other. Nothing that it does may pass for a verdict on a
program, and none of it ends in a traceback of ours: the message says which file, line and function did what.
"""

import copy
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeGuard

from evaluator.conversation import CONVERSE, Conversation, replayed
from evaluator.errors import EvaluatorError, TaskError
from evaluator.evaluation import Outcome, Summary, Verdict
from evaluator.task import BoundCheck, Converse, Instance, Permute, Rename
from evaluator.task_code import RAISED, TaskModule, told
from evaluator.untrusted import one_line

_OK: Final = Outcome.OK
_OF_A_JUDGE: Final = (_OK, Outcome.INFEASIBLE, Outcome.INVALID_OUTPUT)
_PLAIN: Final = 1 << 1000  # a fraction of smaller numbers is within the range of a float
_MOST_BITS: Final = 14_000  # what Python writes and reads in decimal: 4300 digits
_DESCRIPTION: Final = 200


class JudgeModule:
    """A task's `judge.py`; used by several threads at once. `digest` is that of the file and its helpers."""

    def __init__(self, path: Path) -> None:
        """Load it. Raises TaskError."""
        self._module = TaskModule(path, ())
        self.digest = self._module.digest
        self._judge = self._module.function("judge")
        self.converse: Converse | None = self._converse if self._module.function(CONVERSE) else None
        if (self._judge is None) is (self.converse is None):
            neither = "does not define judge() (nor converse(), which asks item by item)"
            both = "defines judge() and converse(): a task has one of them"
            raise TaskError(f"{path}: {neither if self._judge is None else both}")
        if self._module.function("summarise") is None:
            raise TaskError(f"{path}: does not define summarise()")
        self.renamed: Rename | None = self._renamed if self._module.function("renamed") else None
        self.permuted: Permute | None = self._permuted if self._module.function("permuted") else None
        self._describe = self._module.function("describe")

    def judge(self, instance: Instance, answer: object) -> Verdict:
        """The verdict on one answer; on the list of all of them where it asks item by item. Raises TaskError."""
        if self._judge is None:
            return replayed(self._converse(instance), answer)
        try:
            verdict = self._judge(instance, answer)
        except RAISED as cause:
            raise self._module.blame(cause, "judge", f" on instance {instance.index}") from cause
        if _is_plain(verdict):  # what a sound judge gives, told at once: this runs for every answer
            return verdict
        return self._checked(verdict, instance)

    def _converse(self, instance: Instance) -> Conversation:
        return Conversation(
            self._module,
            instance.index,
            copy.deepcopy(instance.data),
            lambda cost: self._exact(cost, instance, CONVERSE),
        )

    def _checked(self, verdict: object, instance: Instance) -> Verdict:
        """The verdict that it is, its cost a fraction. Raises TaskError when it is none."""
        if not isinstance(verdict, Verdict):
            raise self._wrong("judge", f"returned {_shown(verdict)}, not a Verdict", instance)
        if verdict.outcome not in _OF_A_JUDGE or not isinstance(verdict.outcome, Outcome):
            allowed = ", ".join(outcome.value for outcome in _OF_A_JUDGE)
            raise self._wrong("judge", f"gave the outcome {_shown(verdict.outcome)}, not one of {allowed}", instance)
        if not isinstance(verdict.detail, str):
            raise self._wrong("judge", f"gave the detail {_shown(verdict.detail)}, not a text", instance)
        if verdict.outcome is not Outcome.OK:
            if verdict.cost is not None:
                raise self._wrong("judge", f"gave the cost {_shown(verdict.cost)} of an answer that fails", instance)
            return verdict
        return replace(verdict, cost=self._exact(verdict.cost, instance))

    def summarise(self, verdicts: Sequence[Verdict], instances: Sequence[Instance]) -> Summary:
        """The score of a program over a suite, every number finite. Raises TaskError."""
        summary = self._call("summarise", "", verdicts, instances)
        if not isinstance(summary, Summary):
            raise self._module.wrong("summarise", f"returned {_shown(summary)}, not a Summary")
        if not isinstance(summary.metrics, Mapping) or not all(isinstance(name, str) for name in summary.metrics):
            raise self._module.wrong("summarise", f"gave the metrics {_shown(summary.metrics)}, not numbers by name")
        return Summary(
            score=self._finite("score", summary.score),
            published_score=self._finite("published_score", summary.published_score),
            metrics={name: self._finite(f"metrics[{name!r}]", value) for name, value in summary.metrics.items()},
        )

    def describe(self, instance: Instance) -> str:
        """What an instance is like, in a few words; empty when the judge does not say. Raises TaskError."""
        if self._describe is None:
            return ""
        text = self._call("describe", f" on instance {instance.index}", instance)
        if not isinstance(text, str):
            raise self._wrong("describe", f"returned {_shown(text)}, not a text", instance)
        return one_line(text, _DESCRIPTION)

    def _renamed(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._rewritten("renamed", data)

    def _permuted(self, data: Mapping[str, Any], rng: random.Random) -> Mapping[str, Any]:
        return self._rewritten("permuted", data, rng)

    def _rewritten(self, name: str, data: Mapping[str, Any], *more: random.Random) -> Mapping[str, Any]:
        found = self._call(name, "", data, *more)
        if not isinstance(found, Mapping):
            raise self._module.wrong(name, f"returned {_shown(found)}, not an instance's data")
        try:
            json.dumps(found)
        except (TypeError, ValueError, RecursionError) as cause:
            raise self._module.wrong(name, f"returned what is no JSON ({told(cause)})") from None
        return found

    def _exact(self, cost: object, instance: Instance, name: str = "judge") -> Fraction:
        if isinstance(cost, bool) or not isinstance(cost, int | float | Fraction):
            raise self._wrong(name, f"gave the cost {_shown(cost)}, not an int, a Fraction or a float", instance)
        if isinstance(cost, float) and not math.isfinite(cost):
            raise self._wrong(name, f"gave the cost {cost}", instance)
        exact = Fraction(cost)  # a float is the exact rational number that it is
        bits = max(exact.numerator.bit_length(), exact.denominator.bit_length())
        if bits > _MOST_BITS or not _fits_a_float(exact):
            raise self._wrong(name, f"gave a cost of {bits} bits, beyond the range of a float", instance)
        return exact

    def _finite(self, name: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise self._module.wrong("summarise", f"gave {name} as {_shown(value)}, not a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self._module.wrong("summarise", f"gave {name} as {number}; it must be finite")
        return number

    def _function(self, name: str) -> Callable[..., Any]:
        function = self._module.function(name)
        assert function is not None  # the module was loaded with it
        return function

    def _call(self, name: str, where: str, *arguments: object) -> Any:
        try:
            return self._function(name)(*arguments)
        except RAISED as cause:
            raise self._module.blame(cause, name, where) from cause

    def _wrong(self, name: str, what: str, instance: Instance) -> EvaluatorError:
        return self._module.wrong(name, f"{what}, on instance {instance.index}")


class ExactSolver:
    """A task's `exact.py`. What it raises as an EvaluatorError on purpose (no solver installed) is passed on."""

    def __init__(self, path: Path, function: str) -> None:
        """Load it; it must define `function`. Raises TaskError."""
        self._module = TaskModule(path, (function,))

    def verify(self, instance: Instance, *, limit_s: float) -> BoundCheck:
        """Proves an instance's bound again. Raises TaskError."""
        check = self._call("verify", instance, limit_s=limit_s)
        if not isinstance(check, BoundCheck) or not isinstance(check.holds, bool | None):
            raise self._module.wrong("verify", f"returned {_shown(check)}, not a BoundCheck")
        if check.instance != instance.index:
            raise self._module.wrong("verify", f"checked instance {check.instance}, and was asked for {instance.index}")
        return check

    def place(self, instance: Instance, *, seconds: float) -> Any:
        """The best answer found in about so many seconds. Raises TaskError."""
        return self._call("place", instance, seconds=seconds)

    def _call(self, name: str, instance: Instance, **options: float) -> Any:
        function = self._module.function(name)
        assert function is not None  # the module was loaded with it
        try:
            return function(instance, **options)
        except EvaluatorError:
            raise
        except RAISED as cause:
            raise self._module.blame(cause, name, f" on instance {instance.index}") from cause


def _is_plain(verdict: object) -> TypeGuard[Verdict]:
    if type(verdict) is not Verdict or verdict.outcome is not _OK or type(verdict.detail) is not str:
        return False
    cost = verdict.cost
    return type(cost) is Fraction and -_PLAIN < cost.numerator < _PLAIN and cost.denominator < _PLAIN


def _fits_a_float(cost: Fraction) -> bool:
    try:
        float(cost)
    except OverflowError:
        return False
    return True


def _shown(value: object) -> str:
    """A value that a task's code made, in a few words; its `repr` may raise, or be endless."""
    try:
        text = one_line(repr(value), 80)
    except Exception:  # noqa: BLE001 - boundary: the class may be the task's own
        text = "an object"
    return f"{text} ({type(value).__name__})"

"""A task's `judge.py` behind the interface `Judge`: whatever it raises or returns wrongly is a TaskError.

A task's own code is trusted, and may be wrong like any other. No fault of it passes for a verdict on a program, or ends
in a traceback: the message names file, line and function.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

from evaluator.conversation import CONVERSE, Conversation, failed, replayed
from evaluator.errors import EvaluatorError, Infeasible, InvalidAnswer, TaskError
from evaluator.evaluation import FARTHEST, Outcome, Summary, Verdict
from evaluator.objective import COMBINED, Direction, Objective
from evaluator.task import Converse, Draw, Instance, Judge, Reword
from evaluator.task_code import RAISED, TaskModule, describe_error, describe_value
from evaluator.untrusted import one_line

_PLAIN: Final = 1 << 1000  # a fraction of smaller numbers is within the range of a float
_MOST_BITS: Final = 14_000  # what Python writes and reads in decimal: 4300 digits
_DESCRIPTION: Final = 200
_SUCCESS: Final = "success_rate"
_PUBLISHED: Final = "published_score"
_TAKES: Final = {
    "judge": ("instance", "answer"),
    CONVERSE: ("instance",),
    "summarise": ("verdicts", "instances"),
    "describe": ("instance",),
    "draw": ("instance", "answer"),
    "renamed": ("data", "rng"),
    "permuted": ("data", "rng"),
    "draw_instance": ("rng", "suite"),
}
"""The functions of a judge, each with its parameters."""


class JudgeModule:
    """A task's `judge.py`; used by several threads at once. `digest` covers the file and its helpers."""

    def __init__(self, path: Path, objective: Objective, *, timed: bool) -> None:
        """Load the file. `timed`: the objective's metric comes from a clock, not from the judge. Raises TaskError."""
        self._module = TaskModule(path, ())
        self._objective = objective
        self._timed = timed
        self.digest = self._module.digest
        for name, parameters in _TAKES.items():
            self._module.check_signature(name, parameters)
        self._judge = self._module.function("judge")
        self.converse: Converse | None = self._converse if self._module.function(CONVERSE) else None
        if (self._judge is None) is (self.converse is None):
            neither = "does not define judge() (nor converse(), which asks item by item)"
            both = "defines judge() and converse(): a task has one of them"
            raise TaskError(f"{path}: {neither if self._judge is None else both}")
        self.renamed: Reword | None = self._maker("renamed")
        self.permuted: Reword | None = self._maker("permuted")
        self.draw_instance: Draw | None = self._maker("draw_instance")

    def instances(self) -> list[Any]:
        """`INSTANCES` as a program gets them through JSON. Raises TaskError."""
        listed = self._module.value("INSTANCES")
        if listed is None:
            raise self._module.misdefined("INSTANCES", "is not defined, and the suite names no file of instances")
        if not isinstance(listed, list | tuple) or not listed:
            what = f"is {describe_value(listed)}, not a list of at least one instance"
            raise self._module.misdefined("INSTANCES", what)
        return [self._plain(f"INSTANCES[{number}]", data) for number, data in enumerate(listed)]

    def judge(self, instance: Instance, answer: object) -> Verdict:
        """See Judge. Raises TaskError."""
        if self._judge is None:
            return replayed(self._converse(instance), answer)
        try:
            cost = self._judge(instance.fresh(), answer)
        except (Infeasible, InvalidAnswer) as why:
            return failed(why)
        except RAISED as cause:
            raise self._module.blame(cause, "judge", f" on instance {instance.index}") from cause
        if type(cost) is Fraction and -_PLAIN < cost.numerator < _PLAIN and cost.denominator < _PLAIN:
            return Verdict(outcome=Outcome.OK, cost=cost)  # the fast path: this runs for every answer
        return Verdict(outcome=Outcome.OK, cost=self._exact(cost, instance))

    def _converse(self, instance: Instance) -> Conversation:
        return Conversation(
            self._module, instance.index, instance.fresh(), lambda cost: self._exact(cost, instance, CONVERSE)
        )

    def summarise(self, verdicts: Sequence[Verdict], instances: Sequence[Instance]) -> Summary:
        """The score of a program over a suite, every number finite. Raises TaskError.

        The score is the success rate where the program fails an instance, and where a clock makes the score.
        """
        costs = [verdict.cost for verdict in verdicts if verdict.outcome is Outcome.OK and verdict.cost is not None]
        rate = len(costs) / len(verdicts)
        if self._module.function("summarise") is None:
            metrics, own, published = self._mean(costs, whole=rate == 1), None, None
        else:
            metrics, own, published = self._summarised(verdicts, instances)
        score, wanted = rate, self._objective.metric
        if self._timed:
            metrics.pop(wanted, None)
        elif rate == 1 and wanted == COMBINED:
            if own is None:
                raise self._missing(wanted)
            score = own
        elif rate == 1:
            if wanted not in metrics:
                raise self._missing(wanted)
            score = self._objective.direction.sign * metrics[wanted] if own is None else own
        metrics.setdefault(_SUCCESS, rate)
        optimality = _optimality(verdicts, instances, self._objective.per_instance)
        if optimality is not None:
            metrics.setdefault("optimality", optimality)
        return Summary(score=score + 0.0, published_score=published, metrics=metrics)

    def _mean(self, costs: Sequence[Fraction], *, whole: bool) -> dict[str, float]:
        if not whole or self._timed:
            return {}
        if self._objective.metric == COMBINED:
            raise self._missing(COMBINED)
        return {self._objective.metric: float(sum(costs, start=Fraction(0)) / len(costs))}

    def _summarised(
        self, verdicts: Sequence[Verdict], instances: Sequence[Instance]
    ) -> tuple[dict[str, float], float | None, float | None]:
        """(metrics, combined score, published score) of the judge's `summarise`; None for a missing score."""
        summary = self._module.call("summarise", "", list(verdicts), [instance.fresh() for instance in instances])
        if not isinstance(summary, Mapping) or not all(isinstance(name, str) for name in summary):
            raise self._module.wrong("summarise", f"returned {describe_value(summary)}, not numbers by name")
        metrics = {str(name): self._finite(name, value) for name, value in summary.items()}
        return metrics, metrics.pop(COMBINED, None), metrics.pop(_PUBLISHED, None)

    def _missing(self, metric: str) -> EvaluatorError:
        if self._module.function("summarise") is None:
            return self._module.misdefined("summarise()", f"is not defined, and the objective's metric is {metric!r}")
        return self._module.wrong("summarise", f"gave no {metric!r}, which is the objective's metric (task.yaml)")

    def draw(self, instance: Instance, answer: object) -> str:
        """See Judge. Raises TaskError."""
        if self._module.function("draw") is None:
            return ""
        text = self._module.call("draw", f" on instance {instance.index}", instance.fresh(), answer)
        if not isinstance(text, str) or not text.lstrip().startswith(("<svg", "<?xml")):
            raise self._wrong("draw", f"returned {describe_value(text)}, not an SVG text", instance)
        return text

    def describe(self, instance: Instance) -> str:
        """See Judge. Raises TaskError."""
        if self._module.function("describe") is None:
            return ""
        text = self._module.call("describe", f" on instance {instance.index}", instance.fresh())
        if not isinstance(text, str):
            raise self._wrong("describe", f"returned {describe_value(text)}, not a text", instance)
        return one_line(text, _DESCRIPTION)

    def _maker(self, name: str) -> Callable[[Any, Any], Any] | None:
        """The judge's function that makes data of an instance; None where it defines none."""
        return partial(self._data, name) if self._module.function(name) else None

    def _data(self, name: str, *arguments: object) -> Any:
        """The plain data that the function `name` returns. Raises TaskError."""
        data = self._module.call(name, "", *arguments)
        if name != "draw_instance" and isinstance(data, Mapping) is not isinstance(arguments[0], Mapping):
            raise self._module.wrong(name, f"returned {describe_value(data)}, not an instance's data")
        try:
            return plain_data(data)
        except (TypeError, ValueError, RecursionError) as cause:
            raise self._module.wrong(name, f"returned what is no JSON ({describe_error(cause)})") from None

    def _plain(self, what: str, data: Any) -> Any:
        try:
            return plain_data(data)
        except (TypeError, ValueError, RecursionError) as cause:
            raise self._module.misdefined(what, f"cannot be written as JSON ({describe_error(cause)})") from None

    def _exact(self, cost: object, instance: Instance, name: str = "judge") -> Fraction:
        """The exact number that the judge returned. Raises TaskError when it is none."""
        number = _number(cost)
        if number is None:
            raise self._wrong(
                name,
                f"returned {describe_value(cost)}, not an int, a Fraction or a float (for an answer that fails, raise "
                "InvalidAnswer or Infeasible)",
                instance,
            )
        if isinstance(number, float) and not math.isfinite(number):
            raise self._wrong(name, f"returned {number}: return a finite number", instance)
        exact = Fraction(number)
        bits = max(exact.numerator.bit_length(), exact.denominator.bit_length())
        if bits > _MOST_BITS or abs(exact) > FARTHEST:
            raise self._wrong(
                name,
                f"returned a number of {bits} bits, or farther than {FARTHEST:g} from 0: say what failed",
                instance,
            )
        return exact

    def _finite(self, name: str, value: object) -> float:
        number = _number(value)
        if number is None:
            raise self._module.wrong(
                "summarise", f"gave '{one_line(name, 60)}' as {describe_value(value)}, not a number"
            )
        if not -FARTHEST <= number <= FARTHEST:  # nor NaN
            shown = float(number) if isinstance(number, float) else "a number too large"
            raise self._module.wrong(
                "summarise", f"gave '{one_line(name, 60)}' as {shown}; it must be finite, and at most {FARTHEST:g}"
            )
        return float(number)

    def _wrong(self, name: str, what: str, instance: Instance) -> EvaluatorError:
        return self._module.wrong(name, f"{what}, on instance {instance.index}")


class SelfJudged(Judge):
    """Stands in for the judge of a task whose script scores programs in their own process (`evaluator.script`). There
    is one pseudo instance, whose cost is the score exactly."""

    digest = ""

    def __init__(self, path: Path) -> None:
        """`path`: the script's, for messages."""
        self._path = path

    def instances(self) -> list[None]:
        """The pseudo instance."""
        return [None]

    def judge(self, instance: Instance, answer: object) -> Verdict:
        """Raises TaskError: there are no answers."""
        raise TaskError(f"{self._path}: scores programs itself, so there is no answer to judge")

    def summarise(self, verdicts: Sequence[Verdict], instances: Sequence[Instance]) -> Summary:
        """The script's score; 0 for a program that is not correct."""
        cost = verdicts[0].cost
        score = 0.0 if cost is None else float(cost)
        return Summary(score=score, published_score=None, metrics={})


def plain_data(value: Any) -> Any:
    """`value` after a round trip through JSON, which turns tuples into lists. Raises TypeError, ValueError or
    RecursionError where JSON cannot hold it."""
    _check_keys(value)
    return json.loads(json.dumps(value, allow_nan=False))


def _check_keys(value: Any) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is no text")
            _check_keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_keys(inner)


def _number(value: object) -> int | float | Fraction | None:
    """A number from a judge, numpy's scalars unwrapped; None for anything else."""
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return None
    return value


def _optimality(verdicts: Sequence[Verdict], instances: Sequence[Instance], direction: Direction) -> float | None:
    """The mean ratio to the bound, at most 1, failures counting 0. None unless every bound and cost is above 0."""
    ratios = []
    for verdict, instance in zip(verdicts, instances, strict=True):
        if instance.bound is None or instance.bound <= 0:
            return None
        if verdict.cost is not None:
            small, large = float(instance.bound), float(verdict.cost)
            if direction is Direction.MAXIMISE:
                small, large = large, small
            if large <= 0 or small <= 0 or not math.isfinite(small / large):
                return None
            ratios.append(small / large)
    return math.fsum(ratios) / len(verdicts)

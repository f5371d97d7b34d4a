"""An evaluator without a sandbox, for the task `climb`. It lives here alone: nothing installed may score in-process."""

import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import FrameType
from typing import Any

from evaluator.errors import EvaluationCancelled
from evaluator.evaluation import Evaluation, Incumbent, InstanceResult, Outcome, StrictReport
from evaluator.program_files import Files
from evaluator.task import Suite, Task
from tests.builders import make_evaluation

Found = tuple[Outcome, Fraction | None, str]


class InProcessEvaluator:
    """Runs programs in the caller's thread, and trusts them."""

    version = "in-process"
    sandbox = "none"
    ceiling = None
    ceiling_is_proven = False

    def __init__(self, task: Task, suite: Suite) -> None:
        self.suite = suite
        self._task = task
        self._cancelled = threading.Event()

    def evaluate(self, program: Files) -> Evaluation:
        """See Evaluator."""
        names: dict[str, Any] = {}
        try:
            self._traced(lambda: exec(compile(program.only, "<candidate>", "exec"), names))
            guess = names[self._task.entry_point]
        except EvaluationCancelled:
            raise
        except Exception as cause:  # noqa: BLE001 - a program may raise anything
            failed: Found = (Outcome.LOAD_ERROR, None, repr(cause))
            return self._evaluation([failed] + [(Outcome.NOT_RUN, None, "")] * (len(self.suite.instances) - 1))
        return self._evaluation([self._asked(guess, instance.data["n"]) for instance in self.suite.instances])

    def examine(self, program: Files, evaluation: Evaluation, best: Incumbent | None = None) -> Evaluation:
        """See Evaluator. Asks again, each instance in a program of its own: what differs was kept between them."""
        alone: list[Found] = []
        for instance in self.suite.instances:
            names: dict[str, Any] = {}
            exec(compile(program.only, "<candidate>", "exec"), names)
            alone.append(self._asked(names[self._task.entry_point], instance.data["n"]))
        agrees = [found[:2] for found in alone] == [(result.outcome, result.cost) for result in evaluation.results]
        if agrees:
            return replace(evaluation, strict=StrictReport(agrees=True))
        return replace(
            evaluation, strict=StrictReport(agrees=False), outcome=Outcome.NONDETERMINISTIC, quarantine="it keeps state"
        )

    def cancel(self) -> None:
        """See Evaluator."""
        self._cancelled.set()

    def _asked(self, guess: Callable[[int], Any], n: int) -> Found:
        try:
            found = self._traced(lambda: guess(n))
        except EvaluationCancelled:
            raise
        except Exception as cause:  # noqa: BLE001 - a program may raise anything
            return Outcome.EXCEPTION, None, repr(cause)
        if type(found) not in (int, float):
            return Outcome.INVALID_OUTPUT, None, "the answer is not a number"
        return Outcome.OK, 4 + abs(Fraction(found) - n) / 10, ""

    def _traced(self, call: Callable[[], Any]) -> Any:
        """What `call` returns; each line that it runs looks whether it is cancelled."""

        def look(frame: FrameType, event: str, argument: object) -> Any:
            if self._cancelled.is_set():
                raise EvaluationCancelled("cancelled")
            return look

        sys.settrace(look)
        try:
            return call()
        finally:
            sys.settrace(None)

    def _evaluation(self, found: list[Found]) -> Evaluation:
        costs = [float(cost) for _, cost, _ in found if cost is not None]
        rate = len(costs) / len(found)
        score = rate + (100 * len(costs) / sum(costs) if rate == 1 else 0.0)
        outcome, _, detail = next((one for one in found if one[0] is not Outcome.OK), found[0])
        return make_evaluation(
            score=score,
            results=[
                InstanceResult(instance=index, outcome=outcome, cost=cost, detail=detail)
                for index, (outcome, cost, detail) in enumerate(found)
            ],
            task=self._task.name,
            suite=self.suite.name,
            outcome=outcome,
            detail=detail,
            ceiling=None,
            metrics={"success_rate": rate},
            sandbox=self.sandbox,
            version=self.version,
            runtime_s=0.0,
        )

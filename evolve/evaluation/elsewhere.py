"""Evaluations on the workers of a cluster: what is done when one is lost, and when its word is checked at home."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from evaluator.errors import HarnessError
from evaluator.evaluation import OF_THE_MOMENT, Evaluation, Outcome
from evaluator.program_files import Files
from evaluator.recording import Recording
from evaluator.remote import ConnectionLost, RemoteEvaluator, WorkerLost, WorkerState
from evaluator.strict import in_words

CHECKED: Final = 0.02
"""The share of evaluations on workers that are done again at home. Those of would-be bests always are."""


class MachineLost(HarnessError):
    """Raised when the workers that evaluated a program were lost, and it is not known to be the program's fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseWord:
    """A worker reported another verdict than the same program has at home, twice."""

    worker: str
    host: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """An evaluation that counts, and the worker whose word it refutes, if so."""

    evaluation: Evaluation
    refutes: FalseWord | None = None


class Elsewhere:
    """Evaluates on the workers of a cluster; used by several threads. `control` is a program that is known to run."""

    def __init__(self, evaluator: RemoteEvaluator, control: Files) -> None:
        self._evaluator, self._control = evaluator, control

    @property
    def level(self) -> str:
        """The lowest sandbox level of a worker."""
        return self._evaluator.remote.level

    def workers(self) -> tuple[WorkerState, ...]:
        """Every worker so far."""
        return self._evaluator.remote.workers()

    def evaluate(self, program: Files) -> Evaluation:
        """The verdict on one program.

        A program whose worker is lost is evaluated again on another worker. If that is lost as well, the control is
        evaluated in the same place, then the program a third time. A program that takes three workers down where the
        control runs has crashed, unless the way to all workers was lost.

        Raises MachineLost, TaskError and EvaluationCancelled.
        """
        evaluate = self._evaluator.evaluate
        try:
            try:
                return evaluate(program)
            except WorkerLost as lost:
                first = lost
            try:
                return evaluate(program, avoid=frozenset({first.worker}))
            except WorkerLost as lost:
                second = lost
        except HarnessError as cause:
            raise MachineLost(str(cause)) from cause
        why = f"{first}; {second}"
        try:
            evaluate(self._control, only=second.host)
        except (WorkerLost, HarnessError) as cause:
            raise MachineLost(f"{why}; and then the initial program could not be evaluated there: {cause}") from cause
        try:
            return evaluate(program, only=second.host)
        except HarnessError as cause:
            raise MachineLost(f"{why}; {cause}") from cause
        except WorkerLost as third:
            if any(isinstance(lost, ConnectionLost) for lost in (first, second, third)):
                raise MachineLost(f"{why}; {third}") from third
            sentence = f"the program takes its worker down: {third.why}, three times out of three, where others run"
            return self._evaluator.home.play(program, Recording(takes_worker_down=sentence))

    def expel(self, refuted: FalseWord) -> None:
        """Give this worker nothing more to do."""
        self._evaluator.remote.expel(refuted.worker, refuted.why)

    def cancel(self) -> None:
        """End what is being evaluated, in any thread."""
        self._evaluator.remote.cancel()


def is_drawn(seed: int, generation: int) -> bool:
    """Whether the evaluation of a generation's program on a worker is checked at home."""
    return random.Random(f"{seed}:{generation}:check").random() < CHECKED


def checked(reported: Evaluation, at_home: Callable[[], Evaluation]) -> Checked:
    """The evaluation at home of a program that a worker evaluated; it counts. A program that differs from itself at
    home refutes nobody."""
    evaluation = at_home()
    difference = _difference(reported, evaluation)
    if reported.on is None or difference is None or _difference(evaluation, at_home()) is not None:
        return Checked(evaluation=evaluation)
    refuted = FalseWord(worker=reported.on.worker, host=reported.on.host, why=difference)
    return Checked(evaluation=evaluation, refutes=refuted)


def _difference(reported: Evaluation, own: Evaluation) -> str | None:
    """Where two evaluations of one program contradict each other, in words; None where they agree, as far as no limit
    of time or memory was met. The score of a self-judged program may vary."""
    cut_short = [Outcome.NOT_RUN] if {reported.outcome, own.outcome} & OF_THE_MOMENT else []
    for first, second in zip(reported.results, own.results, strict=True):
        if {first.outcome, second.outcome} & {*OF_THE_MOMENT, *cut_short}:
            return None
        if reported.self_judged:
            first, second = replace(first, cost=None), replace(second, cost=None)
        if first.exact_result != second.exact_result:
            said, measured = in_words(first.exact_result), in_words(second.exact_result)
            return f"it reported {said} on instance {first.instance}, and at home it is {measured}"
    return None

"""What the two evaluators of a suite share (`evaluator.evaluator`, `evaluator.script`)."""

import contextlib
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Self

from evaluator.evaluation import Classification, Evaluation, OrderRange, Outcome, StrictReport
from evaluator.program_files import Files
from evaluator.recording import Recording
from evaluator.sandbox.options import STRONGEST, SandboxOptions
from evaluator.sandbox.turns import OF_THIS_PROCESS, Cancellation
from evaluator.suite_scorer import SuiteScorer
from evaluator.task import Suite, Task
from evaluator.version import version_of


class SuiteEvaluator(ABC):
    """Scores programs over one suite; `evaluate` and `examine` may be called from several threads at once."""

    sandbox: str
    """The level of the sandbox that programs run in."""

    def __init__(
        self,
        task: Task,
        suite: Suite,
        *,
        workers: int,
        control: Files | None = None,
        confined: SandboxOptions = STRONGEST,
        alone: bool = False,
        seed: int = 0,
    ) -> None:
        """Get ready to run up to `workers` programs at a time, `confined` as asked for.

        `control` is a program that is known to run (default: the task's initial program): if it fails too, the fault is
        the machine's. `alone`: `evaluate` too runs while no other candidate of this process runs, for suites that
        confirm a score. `seed` is the run's, and decides how a program is examined. Raises SandboxError when this
        machine cannot run candidates so or a variable of the script is not set, TaskError when the task's code is
        wrong.
        """
        self.version = version_of(task, suite)
        self.suite = suite
        self._task = task
        self._scorer = SuiteScorer(task, suite)
        self.ceiling = self._scorer.ceiling
        self.ceiling_is_proven = all(instance.proven for instance in suite.instances)
        self._control = task.initial_files() if control is None else control
        self._workers, self._alone, self._seed = workers, alone, seed
        self._cancellation = Cancellation()
        self._start(confined)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cancel(self) -> None:
        """End every running and later evaluation with EvaluationCancelled, within a moment. Returns at once; any thread
        may call it, any number of times."""
        self._cancellation.set()

    @abstractmethod
    def _start(self, confined: SandboxOptions) -> None:
        """Start what runs programs."""

    @abstractmethod
    def close(self) -> None:
        """Cancel, and end whatever runs."""

    def in_new_orders(self, program: Files) -> OrderRange | None:
        """The score range in orders that no confirmation of this seed uses; None where there are none."""
        return None

    def _refuted(self, evaluation: Evaluation, report: StrictReport) -> Evaluation:
        """`evaluation`, not correct any more, with a report that does not agree."""
        outcome, detail, quarantine = evaluation.outcome, evaluation.detail, evaluation.quarantine
        if outcome is Outcome.OK:
            # Where the clock is the score only outcomes are compared: the program was wrong in the second one.
            as_found = self._task.uses_clock or report.classification is Classification.INCONCLUSIVE
            outcome = report.differences[0].found[0] if as_found else Outcome.NONDETERMINISTIC
            detail = report.detail
        if report.classification is Classification.STATE:
            quarantine = quarantine or report.detail
        return replace(evaluation, strict=report, outcome=outcome, detail=detail, quarantine=quarantine, beyond=None)

    def _entered(self) -> contextlib.AbstractContextManager[None]:
        """Entered while a program runs, as the only one of this process if `alone`."""
        return OF_THIS_PROCESS.alone(self._cancellation) if self._alone else contextlib.nullcontext()


class RecordingEvaluator(SuiteEvaluator):
    """An evaluator that can judge at home what ran on another machine."""

    @abstractmethod
    def refuse(self, program: Files) -> Evaluation | None:
        """The evaluation of a program that is not run at all; None for any other."""

    @abstractmethod
    def record(self, program: Files) -> Recording:
        """A recording of a program, for another machine to judge. Raises HarnessError, TaskError,
        EvaluationCancelled."""

    @abstractmethod
    def play(self, program: Files, recording: Recording) -> Evaluation:
        """The evaluation of a program that another machine ran. Raises RecordingMismatch, TaskError, HarnessError."""

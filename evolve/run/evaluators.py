"""What judges the programs of a run: the evaluator of its suite, and beside it that of the held-out twin.

A program that would become the best is confirmed first: re-evaluated strictly and, if it stands, scored on the twin.
The twin's score is recorded and shown. It reaches no prompt, no meta document and no decision.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evaluator.evaluation import Evaluation
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task import Task
from evolve.archive.archive import Archive
from evolve.seams import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A best program's evaluation with its strict report, and that on the twin: None without one, or when the program
    did not stand."""

    evaluation: Evaluation
    held_out: Evaluation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorPair:
    """The evaluators of a run, of its suite and of the suite's twin; both may be called from several threads."""

    task: Task
    evaluator: Evaluator
    held_out: Evaluator | None

    def confirm(self, source: str, evaluation: Evaluation) -> Confirmation:
        """What becomes of the evaluation of a program that would be the best."""
        examined = self.evaluator.examine(source, evaluation)
        held_out = None
        if self.held_out is not None and examined.correct:
            held_out = self.held_out.evaluate(source)
        return Confirmation(evaluation=examined, held_out=held_out)

    def judge(self, source: str) -> Confirmation:
        """Evaluate a program that has nothing to be compared with, and confirm it if it is correct."""
        evaluation = self.evaluator.evaluate(source)
        if not evaluation.correct:
            return Confirmation(evaluation=evaluation, held_out=None)
        return self.confirm(source, evaluation)

    def cancel(self) -> None:
        """End what is being evaluated, in whichever thread: EvaluationCancelled is raised there."""
        self.evaluator.cancel()
        if self.held_out is not None:
            self.held_out.cancel()

    def identity(self) -> dict[str, str | None]:
        """What a run's scores depend on: a run goes on only where all of it is the same."""
        return {
            "evaluator_version": self.evaluator.version,
            "sandbox": self.evaluator.sandbox,
            "held_out": None if self.held_out is None else self.held_out.version,
        }


@contextmanager
def open_evaluators(
    task: Task,
    suite: str | None,
    *,
    workers: int,
    control: str,
    require_level: str | None = None,
    unsafe: bool = False,
) -> Iterator[EvaluatorPair]:
    """The evaluators of a suite (None: the task's default) and of its twin. `control` is the run's initial program, by
    which the machine's faults are told from a program's; `require_level` and `unsafe` are the evaluators'.

    Raises TaskError, SandboxError.
    """
    demands: dict[str, Any] = {"control": control, "require_level": require_level, "unsafe": unsafe}
    chosen = task.suite(suite)
    with SandboxedEvaluator(task, chosen, workers=workers, **demands) as evaluator:
        if chosen.held_out is None:
            yield EvaluatorPair(task=task, evaluator=evaluator, held_out=None)
            return
        # Bests are rare: one worker does.
        with SandboxedEvaluator(task, task.suite(chosen.held_out), workers=1, alone=True, **demands) as held_out:
            yield EvaluatorPair(task=task, evaluator=evaluator, held_out=held_out)


def complete_held_out(archive: Archive, evaluators: EvaluatorPair) -> None:
    """Score the best program on the twin if the run was cut off between recording it and that."""
    best = archive.best
    if best is not None and evaluators.held_out is not None and best.generation not in archive.held_out_scores:
        archive.held_out(best.generation, evaluators.held_out.evaluate(archive.source(best)))

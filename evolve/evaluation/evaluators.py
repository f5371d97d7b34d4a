"""What evaluates the programs of a run: the evaluator of its suite, and that of the held-out suite.

A program that would become the best is confirmed first: re-evaluated strictly and, if it stands, scored on the held-out
suite. The held-out score reaches people: the terminal, the pages and the exit code. No prompt, insights report or
decision of the search depends on it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from evaluator.evaluation import Evaluation, Incumbent
from evaluator.opening import open_evaluator
from evaluator.program_files import Files
from evaluator.sandbox.options import STRONGEST, SandboxOptions
from evaluator.task import Task
from evolve.archive.archive import Archive
from evolve.archive.events import HeldOutEvent
from evolve.archive.reader import RunReader
from evolve.evaluation.generalisation import Open, record_held_out
from evolve.seams import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A best's evaluation with its strict report, and that on the held-out suite: None where there is none."""

    evaluation: Evaluation
    held_out: Evaluation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorPair:
    """The evaluators of a run, of its suite and of the held-out suite; both may be called from several threads."""

    task: Task
    evaluator: Evaluator
    held_out: Evaluator | None
    others: Open | None = None  # for further suites of the task

    def confirm(self, program: Files, evaluation: Evaluation, best: Incumbent | None) -> Confirmation:
        """What becomes of the evaluation of a program that would be the best in place of `best`."""
        examined = self.evaluator.examine(program, evaluation, best)
        held_out = self.held_out.evaluate(program) if self.held_out is not None and examined.correct else None
        return Confirmation(evaluation=examined, held_out=held_out)

    def confirm_if_best(
        self, archive: Archive, generation: int, program: Files, evaluation: Evaluation
    ) -> Confirmation:
        """The evaluation of a program of a run, confirmed if that program would be the best of the run."""
        if archive.reader.would_be_best(generation, evaluation):
            return self.confirm(program, evaluation, incumbent(archive.reader))
        return Confirmation(evaluation=evaluation)

    def judge(self, program: Files) -> Confirmation:
        """Evaluate the initial program even where it is no good: the others are compared with it."""
        evaluation = self.evaluator.evaluate(program)
        examined = self.evaluator.examine(program, evaluation) if evaluation.correct else evaluation
        held_out = None if self.held_out is None else self.held_out.evaluate(program)
        return Confirmation(evaluation=examined, held_out=held_out)

    def record_held_out(self, archive: Archive, generation: int, evaluation: Evaluation) -> HeldOutEvent:
        """Record what a program scores on the held-out suite, and whether its gains hold there."""
        assert self.held_out is not None
        return record_held_out(
            archive, generation, evaluation, suite=self.evaluator.suite, held_out=self.held_out.suite
        )

    def cancel(self) -> None:
        """End what is being evaluated, in any thread: EvaluationCancelled is raised there."""
        self.evaluator.cancel()
        if self.held_out is not None:
            self.held_out.cancel()

    def identity(self) -> dict[str, str | None]:
        """What a run's scores depend on: a run goes on only where all of it is the same."""
        return {
            "evaluator_version": self.evaluator.version,
            "sandbox": self.evaluator.sandbox,
            "task_digest": self.task.digest,
            "held_out": None if self.held_out is None else self.held_out.version,
        }


def incumbent(reader: RunReader) -> Incumbent | None:
    """The best program so far; None before there is one."""
    best = reader.best
    if best is None:
        return None
    return Incumbent(commit=best.commit, program=reader.files(best), score=best.combined_score)


@contextmanager
def open_evaluators(
    task: Task,
    suite: str | None,
    *,
    workers: int,
    control: Files,
    confined: SandboxOptions = STRONGEST,
    seed: int = 0,
) -> Iterator[EvaluatorPair]:
    """The evaluators of a suite (None: the task's default) and of its held-out suite. `control` is the run's initial
    program, which tells the machine's faults from a program's; `confined` and `seed` are the evaluators'.

    Raises TaskError, SandboxError.
    """
    chosen, opened = task.suite(suite), partial(open_evaluator, task, control=control, confined=confined, seed=seed)
    others = partial(opened, workers=1, alone=True)
    with opened(chosen, workers=workers) as evaluator:
        if chosen.held_out is None:
            yield EvaluatorPair(task=task, evaluator=evaluator, held_out=None, others=others)
            return
        # Bests are rare: one worker does.
        with others(task.suite(chosen.held_out)) as held_out:
            yield EvaluatorPair(task=task, evaluator=evaluator, held_out=held_out, others=others)


def complete_held_out(archive: Archive, evaluators: EvaluatorPair) -> None:
    """Score the initial and the best program on the held-out suite, if a cut-off run has not done so yet."""
    reader, held_out = archive.reader, evaluators.held_out
    for record in [reader.programs[0], *([] if reader.best is None else [reader.best])]:
        if held_out is not None and record.generation not in reader.held_out_scores:
            evaluators.record_held_out(archive, record.generation, held_out.evaluate(reader.files(record)))

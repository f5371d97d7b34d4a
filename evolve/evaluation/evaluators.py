"""What evaluates the programs of a run: the evaluator of its suite, and that of the held-out suite.

A program that would become the best is confirmed first: re-evaluated strictly and, if it stands, scored on the held-out
suite. The held-out score reaches people: the terminal, the pages and the exit code. No prompt, insights report or
decision of the search depends on it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from evaluator.evaluation import Evaluation, Incumbent
from evaluator.opening import open_evaluator
from evaluator.program_files import Files
from evaluator.remote import RemoteEvaluator, WorkerActivity, WorkerState
from evaluator.sandbox.options import STRONGEST, SandboxOptions
from evaluator.task import Task
from evolve.archive.archive import Archive
from evolve.archive.events import HeldOutEvent
from evolve.archive.reader import RunReader
from evolve.core.clusters import ClusterAddress
from evolve.evaluation.elsewhere import Checked, Elsewhere, FalseWord, checked, is_drawn
from evolve.evaluation.generalisation import Open, record_held_out
from evolve.seams import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A best's evaluation with its strict report, and that on the held-out suite: None where there is none. `refutes`
    is the worker that reported another verdict before, if one did."""

    evaluation: Evaluation
    held_out: Evaluation | None = None
    refutes: FalseWord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorPair:
    """The evaluators of a run on this machine, of its suite and of the held-out suite, and (`elsewhere`) the cluster
    that evaluates most programs, if there is one. All may be called from several threads."""

    task: Task
    evaluator: Evaluator
    held_out: Evaluator | None
    others: Open | None = None  # for further suites of the task
    elsewhere: Elsewhere | None = None
    seed: int = 0

    def evaluate(self, program: Files, *, generation: int) -> Checked:
        """The evaluation of the program of a generation: on the cluster, if there is one; of those that are drawn by
        the seed at home as well, which counts then. Raises MachineLost, too."""
        if self.elsewhere is None:
            return Checked(evaluation=self.evaluator.evaluate(program))
        evaluation = self.elsewhere.evaluate(program)
        if evaluation.on is None or not is_drawn(self.seed, generation):
            return Checked(evaluation=evaluation)
        return self._checked(program, evaluation)

    def workers(self) -> tuple[WorkerState, ...]:
        """The workers of the cluster; none without one."""
        return () if self.elsewhere is None else self.elsewhere.workers()

    @property
    def level(self) -> str:
        """The lowest sandbox level that programs run in."""
        return self.evaluator.sandbox if self.elsewhere is None else self.elsewhere.level

    def room(self, processes: int) -> int:
        """How many programs can be evaluated at a time, where this machine has that many `processes`."""
        if self.elsewhere is None:
            return processes
        return max(
            1, sum(worker.state in (WorkerActivity.IDLE, WorkerActivity.BUSY) for worker in self.elsewhere.workers())
        )

    def _checked(self, program: Files, evaluation: Evaluation) -> Checked:
        """The evaluation at home in place of a worker's. A worker that it refutes gets nothing more to do."""
        at_home = checked(evaluation, partial(self.evaluator.evaluate, program))
        if at_home.refutes is not None and self.elsewhere is not None:
            self.elsewhere.expel(at_home.refutes)
        return at_home

    def confirm(self, program: Files, evaluation: Evaluation, best: Incumbent | None) -> Confirmation:
        """What becomes of the evaluation of a program that would be the best in place of `best`. A worker's counts for
        nothing here: the program is evaluated at home first."""
        own = Checked(evaluation=evaluation) if evaluation.on is None else self._checked(program, evaluation)
        examined = self.evaluator.examine(program, own.evaluation, best)
        held_out = self.held_out.evaluate(program) if self.held_out is not None and examined.correct else None
        return Confirmation(evaluation=examined, held_out=held_out, refutes=own.refutes)

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
        if self.elsewhere is not None:
            self.elsewhere.cancel()
        self.evaluator.cancel()
        if self.held_out is not None:
            self.held_out.cancel()

    def identity(self) -> dict[str, str | None]:
        """What a run's scores depend on: a run goes on only where all of it is the same."""
        return {
            "evaluator_version": self.evaluator.version,
            "sandbox": self.level,
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
    cluster: ClusterAddress | None = None,
) -> Iterator[EvaluatorPair]:
    """The evaluators of a suite (None: the task's default) and of its held-out suite. `control` is the run's initial
    program, which tells the machine's faults from a program's; `confined` and `seed` are the evaluators'. Most programs
    are evaluated on the `cluster`, if there is one, and the rest on this machine; all of them where speed is the score.

    Raises TaskError, SandboxError; with a cluster MachineError and HarnessError, too.
    """
    chosen, opened = task.suite(suite), partial(open_evaluator, task, control=control, confined=confined, seed=seed)
    others = partial(opened, workers=1, alone=True)
    with ExitStack() as stack:
        evaluator = opened(chosen, workers=workers)
        stack.enter_context(evaluator)
        held_out = None
        if chosen.held_out is not None:
            held_out = others(task.suite(chosen.held_out))  # bests are rare: one worker does
            stack.enter_context(held_out)
        elsewhere = None
        if cluster is not None and task.reference is None:  # times of two machines do not compare
            from evolve.cluster.remote import open_remote  # runs without a cluster do not need it

            level = confined.require_level or evaluator.sandbox
            remote = stack.enter_context(open_remote(cluster, task, chosen, control=control, level=level))
            remote.wait_for_worker()  # a wrong address is found before anything is written
            elsewhere = Elsewhere(RemoteEvaluator(evaluator, remote), control)
        yield EvaluatorPair(
            task=task, evaluator=evaluator, held_out=held_out, others=others, elsewhere=elsewhere, seed=seed
        )


def complete_held_out(archive: Archive, evaluators: EvaluatorPair) -> None:
    """Score the initial and the best program on the held-out suite, if a cut-off run has not done so yet."""
    reader, held_out = archive.reader, evaluators.held_out
    for record in [reader.programs[0], *([] if reader.best is None else [reader.best])]:
        if held_out is not None and record.generation not in reader.held_out_scores:
            evaluators.record_held_out(archive, record.generation, held_out.evaluate(reader.files(record)))

"""Scores programs over one suite of a task, each in a process of its own.

    with SandboxedEvaluator(task, task.suite("adrs"), workers=2) as evaluator:
        evaluation = evaluator.evaluate(source)      any text; always a verdict, never an exception of the program's
        evaluation = evaluator.examine(source, evaluation)      does it answer the same, however it is asked?

Both may be called from several threads at once; at most `workers` candidates run at a time, the rest wait. While a
program is examined no other candidate of this process runs, in whichever evaluator. Whatever a program does, the
instances, the judge and the clock are on this side.

Both raise TaskError where the task's own code is wrong, HarnessError where the machine is, and EvaluationCancelled once
the evaluator was cancelled or closed: no verdict on the program, each of them.
"""

import threading
from dataclasses import replace

from evaluator import explain
from evaluator.certificate import KeptAnswers, certified
from evaluator.evaluation import Evaluation, InstanceResult, OrderRange, Outcome
from evaluator.feedback import feedback
from evaluator.places import source_of
from evaluator.running import SOURCE_LIMIT, Execution, Runner, not_run, question
from evaluator.sandbox.options import SandboxOptions
from evaluator.sandbox.pool import WorkerPool
from evaluator.sandbox.turns import OF_THIS_PROCESS
from evaluator.sandbox.worker import WorkerSettings
from evaluator.strict import OTHER_HASH_SEED, Examination
from evaluator.suite_evaluator import SuiteEvaluator
from evaluator.task import Suite, Task
from evaluator.timing import Speed, Stopwatch, with_speed


class SandboxedEvaluator(SuiteEvaluator):
    """Scores programs by calling their entry point on each instance."""

    def _start(self, confined: SandboxOptions) -> None:
        task, suite = self._task, self.suite
        self._questions = tuple(question(instance) for instance in suite.instances)
        self._runner = Runner(task, suite, control=self._control)
        self._stopwatch: Stopwatch | None = None  # where the clock is the score
        if task.reference is not None:
            reference = source_of(task.reference, "the reference program")
            self._stopwatch = Stopwatch(task, self._runner, self._questions, reference=reference)
        self._settings = _settings(task, suite)
        self._pool = WorkerPool(self._settings, workers=self._workers, cancellation=self._cancellation, wanted=confined)
        self._further_pools: dict[WorkerSettings, WorkerPool] = {}  # started when they are first needed
        self._starting = threading.Lock()
        self.sandbox = self._pool.confinement.level

    def close(self) -> None:
        """Cancel, and end the workers and their candidates, however long those would have run."""
        self.cancel()
        with self._starting:  # who is starting the other workers has a moment to see that nobody wants them
            pools = [self._pool, *self._further_pools.values()]
        for pool in pools:
            pool.close()

    def evaluate(self, source: str, *, kept: KeptAnswers | None = None) -> Evaluation:
        """The verdict on one program, which may be any text; `kept` gets what it answered."""
        if len(source) > SOURCE_LIMIT:
            detail = f"the source is {len(source)} characters long; at most {SOURCE_LIMIT} are run"
            return self._conclude(
                Execution(outcome=Outcome.LOAD_ERROR, detail=detail, results=not_run(self._questions))
            )
        with self._entered():
            execution = self._runner.run(source, self._questions, self._pool, kept=kept)
            if self._stopwatch is None or execution.outcome is not Outcome.OK:
                return self._conclude(execution)
            speed = self._stopwatch.measure(source, self._further_pool(self._settings, 1))
        return self._conclude(execution, speed) if isinstance(speed, Speed) else self._conclude(speed)

    def evaluate_one(self, source: str, place: int) -> InstanceResult:
        """How the program ends on one instance of the suite, in a process of its own."""
        with self._entered():
            execution = self._runner.run(source, [self._questions[place]], self._pool)
        (result,) = execution.results
        loaded = result.outcome is not Outcome.NOT_RUN
        return result if loaded else replace(result, detail=explain.short(execution.detail))

    def examine(self, source: str, evaluation: Evaluation) -> Evaluation:
        """`evaluation`, this evaluator's own of `source`, with the report of strict re-evaluation and its consequences.

        Asks the program again in every way that must not matter: see `evaluator.strict`. One that answers otherwise
        is not correct any more, and one that keeps state across instances is quarantined. One that stays correct gets
        its answers along as a certificate (`evaluator.certificate`). A program that no instance was put to stays as it
        is, without a report.
        """
        if all(result.outcome is Outcome.NOT_RUN for result in evaluation.results):
            return evaluation
        examination = self._examination(
            self._further_pool(replace(self._settings, hash_seed=OTHER_HASH_SEED), self._workers)
        )
        examination.wait(source)
        timed, kept = self._stopwatch is not None, KeptAnswers()
        with OF_THIS_PROCESS.alone(self._cancellation):
            report = examination.report(source, evaluation, None if timed else kept)  # answers bear out no speed
            if not report.agrees:
                found = self._refuted(evaluation, report)
                return replace(found, feedback=feedback(self._task, self.suite, found))
            found = replace(evaluation, strict=report)
            if timed or not found.correct:
                return found
            return replace(found, answers=certified(self._task, self.suite, found, kept))

    def in_new_orders(self, source: str) -> OrderRange | None:
        """See SuiteEvaluator."""
        with self._entered():
            return self._examination(self._pool).in_orders(source, new=True)

    def _examination(self, other_pool: WorkerPool) -> Examination:
        return Examination(
            task=self._task,
            suite=self.suite,
            runner=self._runner,
            pool=self._pool,
            other_pool=other_pool,
            seed=self._seed,
        )

    def _further_pool(self, settings: WorkerSettings, workers: int) -> WorkerPool:
        """One with the confinement of the first."""
        with self._starting:
            self._cancellation.check()
            if settings not in self._further_pools:
                self._further_pools[settings] = WorkerPool(
                    settings,
                    workers=workers,
                    cancellation=self._cancellation,
                    wanted=SandboxOptions(confinement=self._pool.confinement),
                )
            return self._further_pools[settings]

    def _conclude(self, execution: Execution, speed: Speed | None = None) -> Evaluation:
        """Score a run: metrics, ceiling, quarantine, feedback; `speed` is the score where the clock is."""
        calls = [result.cpu_s for result in execution.results if result.outcome is not Outcome.NOT_RUN]
        evaluation = self._scorer.score(
            execution.results,
            outcome=execution.outcome,
            detail=explain.full(execution.detail),
            sandbox=self.sandbox,
            evaluator_version=self.version,
        )
        evaluation = replace(
            evaluation,
            feedback=feedback(self._task, self.suite, evaluation),
            peak_memory_mb=execution.peak_memory_mb,
            runtime_s=sum(calls) / len(calls) if calls else 0.0,
        )
        return with_speed(evaluation, speed, self._task, self.suite) if self._task.uses_clock else evaluation


def _settings(task: Task, suite: Suite) -> WorkerSettings:
    return WorkerSettings(
        entry_point=task.entry_point,
        adapter_source=task.adapter_source,
        adapter_file=str(task.adapter_file),
        item_by_item=task.judge.converse is not None,
        packages=task.packages,
        memory_mb=suite.limits.memory_mb,
        cpu_total_s=suite.limits.cpu_total_s,
        answer_bytes=suite.limits.answer_bytes,
    )

"""Scores programs over one suite of a task, each in a process of its own.

    with SandboxedEvaluator(task, task.suite("adrs"), workers=2) as evaluator:
        evaluation = evaluator.evaluate(program)     any text; always a verdict, never an exception of the program's
        evaluation = evaluator.examine(program, evaluation)     strict: are the answers the same in every way of asking?

Both may be called from several threads at once; at most `workers` candidates run at a time, the rest wait. While a
program is examined no other candidate runs in this process, not even in another evaluator. The instances, the judge and
the clock are in the harness, out of a program's reach.

Both raise TaskError where the task's own code is wrong, HarnessError where the machine is, and EvaluationCancelled once
the evaluator was cancelled or closed. None of them is a verdict on the program.
"""

import threading
from dataclasses import replace

from evaluator.certificate import KeptAnswers, certificate_of
from evaluator.evaluation import Evaluation, Incumbent, InstanceResult, OrderRange, Outcome
from evaluator.feedback import feedback, shorten, shorten_block
from evaluator.places import source_of
from evaluator.program_files import Files
from evaluator.running import SOURCE_LIMIT, Execution, Runner, not_run, question
from evaluator.sandbox.options import SandboxOptions
from evaluator.sandbox.pool import WorkerPool
from evaluator.sandbox.turns import OF_THIS_PROCESS
from evaluator.sandbox.worker import WorkerSettings
from evaluator.strict import OTHER_HASH_SEED, Examination
from evaluator.suite_evaluator import SuiteEvaluator
from evaluator.timing import Speed, Stopwatch, with_speed


class SandboxedEvaluator(SuiteEvaluator):
    """Scores programs by calling their entry point on each instance."""

    def _start(self, confined: SandboxOptions) -> None:
        task, suite = self._task, self.suite
        self._questions = tuple(question(instance) for instance in suite.instances)
        self._runner = Runner(task, suite, control=self._control.only)
        self._stopwatch: Stopwatch | None = None  # where the clock is the score
        if task.reference is not None:
            reference = source_of(task.reference, "the reference program")
            self._stopwatch = Stopwatch(task, self._runner, self._questions, reference=reference)
        self._settings = WorkerSettings(
            entry_point=task.entry_point,
            adapter_source=task.adapter_source,
            adapter_file=str(task.adapter_file),
            item_by_item=task.judge.converse is not None,
            packages=task.packages,
            memory_mb=suite.limits.memory_mb,
            cpu_total_s=suite.limits.cpu_total_s,
            answer_bytes=suite.limits.answer_bytes,
        )
        self._pool = WorkerPool(self._settings, workers=self._workers, cancellation=self._cancellation, wanted=confined)
        self._further_pools: dict[WorkerSettings, WorkerPool] = {}  # each starts when it is first needed
        self._starting = threading.Lock()
        self.sandbox = self._pool.confinement.level

    def close(self) -> None:
        """Cancel, and end the workers and their candidates."""
        self.cancel()
        with self._starting:  # a thread that is starting further workers sees the cancellation and stops
            pools = [self._pool, *self._further_pools.values()]
        for pool in pools:
            pool.close()

    def evaluate(self, program: Files, *, kept: KeptAnswers | None = None) -> Evaluation:
        """The verdict on one program, which may be any text; `kept` gets its answers."""
        source = program.only
        if len(source) > SOURCE_LIMIT:
            detail = f"the source is {len(source)} characters long; at most {SOURCE_LIMIT} are run"
            execution = Execution(outcome=Outcome.LOAD_ERROR, detail=detail, results=not_run(self._questions))
            return self._conclude(execution)
        with self._entered():
            execution = self._runner.run(source, self._questions, self._pool, kept=kept)
            if self._stopwatch is None or execution.outcome is not Outcome.OK:
                return self._conclude(execution)
            speed = self._stopwatch.measure(source, self._further_pool(self._settings, 1))
        return self._conclude(execution, speed) if isinstance(speed, Speed) else self._conclude(speed)

    def evaluate_one(self, program: Files, place: int) -> InstanceResult:
        """The result of the program on one instance of the suite, in a process of its own."""
        with self._entered():
            execution = self._runner.run(program.only, [self._questions[place]], self._pool)
        (result,) = execution.results
        loaded = result.outcome is not Outcome.NOT_RUN
        return result if loaded else replace(result, detail=shorten(execution.detail))

    def examine(self, program: Files, evaluation: Evaluation, best: Incumbent | None = None) -> Evaluation:
        """`evaluation`, this evaluator's own of `program`, after strict re-evaluation (`evaluator.strict`).

        A program with other answers is not correct any more; one that keeps state across instances is quarantined. One
        that stays correct gets its answers as a certificate (`evaluator.certificate`). A program that did not load is
        returned as it is, without a report.
        """
        if all(result.outcome is Outcome.NOT_RUN for result in evaluation.results):
            return evaluation
        examination = self._examination(
            self._further_pool(replace(self._settings, hash_seed=OTHER_HASH_SEED), self._workers)
        )
        source = program.only
        examination.wait(source)
        timed, kept = self._stopwatch is not None, KeptAnswers()
        with OF_THIS_PROCESS.alone(self._cancellation):
            report = examination.report(source, evaluation, None if timed else kept)  # answers cannot prove a speed
            if not report.agrees:
                refuted = self._refuted(evaluation, report)
                return replace(refuted, feedback=feedback(self._task, self.suite, refuted))
            examined = replace(evaluation, strict=report)
            if timed or not examined.correct:
                return examined
            return replace(examined, answers=certificate_of(self._task, self.suite, examined, kept))

    def in_new_orders(self, program: Files) -> OrderRange | None:
        """See SuiteEvaluator."""
        with self._entered():
            return self._examination(self._pool).in_orders(program.only, new=True)

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
        """A pool with the confinement of the first."""
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
        """The evaluation of a run; `speed` is the score where the task uses the clock."""
        calls = [result.cpu_s for result in execution.results if result.outcome is not Outcome.NOT_RUN]
        evaluation = self._scorer.score(
            execution.results,
            outcome=execution.outcome,
            detail=shorten_block(execution.detail),
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

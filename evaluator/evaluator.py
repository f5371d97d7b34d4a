"""Scores programs over one suite of a task, each in a process of its own.

    with Evaluator(task, task.suite("adrs"), workers=2) as evaluator:
        evaluation = evaluator.evaluate(source)      any text; always a verdict, never an exception of the program's

`evaluate` may be called from several threads at once; at most `workers` candidates run at a time, the rest wait.
Whatever a program does, the instances, the judge and the clock are on this side.
"""

import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Final

from evaluator import explain
from evaluator.errors import SandboxError
from evaluator.evaluation import Evaluation, InstanceResult, Outcome, Verdict
from evaluator.feedback import feedback
from evaluator.sandbox import protocol
from evaluator.sandbox.pool import WorkerPool
from evaluator.sandbox.supervisor import Candidate, Step
from evaluator.sandbox.worker import Confinement, Worker, WorkerDiedError, WorkerSettings
from evaluator.task import Suite, Task

SOURCE_LIMIT: Final = 1 << 20
"""The longest source that is given to a candidate's process, in characters."""
_BEYOND_BOUND: Final = Fraction(10**9 - 1, 10**9)
_LOW_CPU: Final = 0.5
"""A wall limit hit with less than this share of the CPU limit used says more about the machine than the program."""
_SUSPECT: Final = frozenset({Outcome.CRASH, Outcome.FORBIDDEN, Outcome.PROTOCOL})
"""Outcomes after which a worker is replaced, though nothing is known to be wrong with it."""


@dataclass(slots=True, kw_only=True)
class _Run:
    """What running one program came to, before it is scored."""

    results: list[InstanceResult] = field(default_factory=list)
    outcome: Outcome = Outcome.OK
    detail: str = ""
    peak_memory_mb: float = 0.0
    starved: bool = False  # killed at a wall limit, with little CPU used


class Evaluator:
    """Scores programs over one suite; `evaluate` may be called from several threads at once."""

    def __init__(
        self,
        task: Task,
        suite: Suite,
        *,
        workers: int,
        require_level: str | None = None,
        unsafe: bool = False,
        confinement: Confinement | None = None,
    ) -> None:
        """Start the workers at the strongest level that this machine reaches; `sandbox` names it.

        `require_level` ("standard", "strong") refuses less; `unsafe` allows level "none", where the machine reaches
        no other; `confinement` takes exactly those layers (for measurements and tests). Raises SandboxError when
        this machine cannot run candidates so, and TaskError when the task's adapter does not load.
        """
        self.version = _version(task, suite)
        self._task = task
        self.suite = suite
        self.ceiling = ceiling_of(task, suite)
        self.ceiling_is_proven = all(instance.proven for instance in suite.instances)
        self._requests = [
            protocol.instance_fields(_seed(suite.name, str(instance.index)), instance.data)
            for instance in suite.instances
        ]
        # Costs below these are impossible.
        self._thresholds = [
            None if instance.bound is None else instance.bound * _BEYOND_BOUND for instance in suite.instances
        ]
        self._not_run = [_not_run(instance.index) for instance in suite.instances]
        self._pool = WorkerPool(
            WorkerSettings(
                entry_point=task.entry_point,
                adapter_source=task.adapter_source,
                numpy=task.numpy,
                memory_mb=suite.limits.memory_mb,
                cpu_total_s=suite.limits.cpu_total_s,
            ),
            workers=workers,
            require_level=require_level,
            unsafe=unsafe,
            confinement=confinement,
        )
        self.sandbox = self._pool.footing.level

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        self._pool.close()

    def evaluate(self, source: str) -> Evaluation:
        """The verdict on one program, which may be any text."""
        if len(source) > SOURCE_LIMIT:
            detail = f"the source is {len(source)} characters long; at most {SOURCE_LIMIT} are run"
            return self._conclude(_Run(outcome=Outcome.LOAD_ERROR, detail=detail, results=list(self._not_run)))
        try:
            run = self._run(source, self._pool.worker())
        except (WorkerDiedError, SandboxError):  # ours, not the program's: once more, with a fresh worker
            try:
                run = self._run(source, self._pool.worker())
            except (WorkerDiedError, SandboxError) as cause:
                run = _Run(outcome=Outcome.HARNESS_ERROR, detail=str(cause), results=list(self._not_run))
        if run.starved:
            try:
                run = self._run(source, self._pool.alone())
            except (WorkerDiedError, SandboxError) as cause:
                run = _Run(outcome=Outcome.HARNESS_ERROR, detail=str(cause), results=list(self._not_run))
        return self._conclude(run)

    def _run(self, source: str, place: AbstractContextManager[Worker]) -> _Run:
        """Run a program on every instance. Raises WorkerDiedError and SandboxError for what is not its fault."""
        run = _Run()
        with place as worker:
            candidate = Candidate(worker, self.suite.limits)
            with candidate:
                step = candidate.load(source, _seed(self.suite.name, "load"))
                if step.failure is None:
                    self._run_instances(source, candidate, run)
                else:
                    self._fail_load(source, step, run)
            run.peak_memory_mb = candidate.peak_memory_mb
            if run.outcome in _SUSPECT:
                worker.retired = True
        return run

    def _run_instances(self, source: str, candidate: Candidate, run: _Run) -> None:
        judge = self._task.judge.judge
        for instance, fields in zip(self.suite.instances, self._requests, strict=True):
            if not candidate.alive:
                run.results.append(self._not_run[instance.index])
                continue
            step = candidate.ask(fields)
            if step.failure is None:
                verdict = judge(instance, step.answer)
                outcome, cost, detail = verdict.outcome, verdict.cost, verdict.detail
                text = detail
            else:
                outcome, cost = step.failure, None
                detail, text = self._told(source, step, instance.index)
                if outcome is Outcome.TIMEOUT and step.cpu_s < _LOW_CPU * self.suite.limits.cpu_per_instance_s:
                    run.starved = True
            run.results.append(
                InstanceResult(
                    instance=instance.index,
                    outcome=outcome,
                    cost=cost,
                    detail=explain.short(detail),
                    cpu_s=step.cpu_s,
                    wall_s=step.wall_s,
                )
            )
            if outcome is not Outcome.OK and run.outcome is Outcome.OK:
                run.outcome = outcome
                run.detail = text if step.failure else f"{self._place(instance.index)}: {text}"

    def _fail_load(self, source: str, step: Step, run: _Run) -> None:
        run.results = list(self._not_run)
        run.outcome = Outcome.LOAD_ERROR if step.fault is not None else step.failure or Outcome.LOAD_ERROR
        if step.fault is None:
            run.detail = f"{step.detail} while the program was loaded"
            limit = self.suite.limits.cpu_per_instance_s
            run.starved = step.failure is Outcome.TIMEOUT and step.cpu_s < _LOW_CPU * limit
        elif step.detail:  # out of memory
            run.detail = step.detail
        else:
            run.detail = explain.traceback(step.fault, source.splitlines())

    def _told(self, source: str, step: Step, index: int) -> tuple[str, str]:
        """(one line, full text) of a failure on one instance."""
        limits, place = self.suite.limits, self._place(index)
        if step.failure is Outcome.OOM and step.fault is not None:
            text = f"over the limit of {limits.memory_mb} MB of memory"
            return text, f"{text} on {place}"
        if step.failure is Outcome.OUTPUT_LIMIT and step.fault is not None:
            text = f"{step.fault.message}, over the limit of {protocol.FRAME_CAP} bytes"
            return text, f"{text}, on {place}"
        if step.fault is None:
            return step.detail, f"{step.detail} on {place}"
        return explain.summary(step.fault), f"{explain.traceback(step.fault, source.splitlines())}\non {place}"

    def _place(self, index: int) -> str:
        description = self._task.describe(self.suite.instances[index])
        where = f"instance {index} of {len(self.suite.instances)}"
        return f"{where} ({description})" if description else where

    def _conclude(self, run: _Run) -> Evaluation:
        """Score a run: metrics, ceiling, quarantine, feedback."""
        instances = self.suite.instances
        verdicts = [Verdict(outcome=r.outcome, cost=r.cost, detail=r.detail) for r in run.results]
        summary = self._task.judge.summarise(verdicts, instances)
        calls = [result.cpu_s for result in run.results if result.outcome is not Outcome.NOT_RUN]
        runtime_s = sum(calls) / len(calls) if calls else 0.0
        detail, quarantine = explain.full(run.detail), self._impossible(run.results)
        return Evaluation(
            task=self._task.name,
            suite=self.suite.name,
            outcome=run.outcome,
            detail=detail,
            combined_score=summary.score,
            published_score=summary.published_score,
            ceiling=self.ceiling,
            metrics=summary.metrics,
            results=tuple(run.results),
            feedback=feedback(
                self._task, self.suite, run.results, outcome=run.outcome, detail=detail, quarantine=quarantine
            ),
            sandbox=self.sandbox,
            evaluator_version=self.version,
            quarantine=quarantine,
            peak_memory_mb=run.peak_memory_mb,
            runtime_s=runtime_s,
        )

    def _impossible(self, results: Sequence[InstanceResult]) -> str | None:
        """The first cost that is below its lower bound, in words; None when there is none."""
        for result, instance in zip(results, self.suite.instances, strict=True):
            threshold = self._thresholds[instance.index]
            if result.cost is None or threshold is None or result.cost >= threshold:
                continue
            bound = "proven optimum" if instance.proven else "proven lower bound"
            return (
                f"instance {instance.index}: cost {result.cost} is below the {bound} {instance.bound}: "
                "the evaluator or the task has a hole"
            )
        return None


def _not_run(index: int) -> InstanceResult:
    return InstanceResult(instance=index, outcome=Outcome.NOT_RUN, cost=None)


def ceiling_of(task: Task, suite: Suite) -> float | None:
    """The score of a program that attains every instance's bound; None when one has no bound."""
    if any(instance.bound is None for instance in suite.instances):
        return None
    verdicts = [Verdict(outcome=Outcome.OK, cost=instance.bound) for instance in suite.instances]
    return task.judge.summarise(verdicts, suite.instances).score


def _seed(suite: str, what: str) -> int:
    """What `random` and `numpy.random` are seeded with before one call: a function of suite and instance alone."""
    return int.from_bytes(hashlib.sha256(f"{suite}:{what}".encode()).digest()[:4], "big")


def _version(task: Task, suite: Suite) -> str:
    """A hash over everything that decides a verdict: judge, adapter, instances, limits, and this package."""
    digest = hashlib.sha256(f"{task.digest}:{suite.digest}".encode())
    here = Path(__file__).resolve().parent
    for path in sorted([*here.glob("*.py"), *(here / "sandbox").glob("*.py")]):
        digest.update(f":{path.name}:".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]

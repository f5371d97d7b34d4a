"""An exact solver as a peer of programs: what it reaches on a suite in a given time per instance.

Its answers are judged and scored exactly as a program's. It is trusted code that runs in the harness, with as many
threads as it likes, so that its time is no comparison with a program's CPU.
"""

import time
from collections.abc import Iterator

from evaluator.errors import EvaluatorError, SandboxError, TaskError
from evaluator.evaluation import Evaluation, InstanceResult, Outcome, Verdict
from evaluator.evaluator import ceiling_of
from evaluator.task import Suite, Task

IN_THE_HARNESS = "harness"
"""What stands in place of a sandbox level: nothing untrusted was run."""


def solve_suite(task: Task, suite: Suite, *, seconds: float) -> Iterator[InstanceResult]:
    """The result of each instance as soon as it is there.

    Raises TaskError when the task has no solver, or one that is wrong, SandboxError when what it needs is not
    installed.
    """
    solver = task.exact("place")
    for instance in suite.instances:
        began = time.process_time(), time.perf_counter()
        try:
            verdict = task.judge.judge(instance, solver.place(instance, seconds=seconds))
        except (SandboxError, TaskError):
            raise
        except EvaluatorError as nothing:
            verdict = Verdict(outcome=Outcome.INFEASIBLE, detail=str(nothing))
        yield InstanceResult(
            instance=instance.index,
            outcome=verdict.outcome,
            cost=verdict.cost,
            detail=verdict.detail,
            cpu_s=time.process_time() - began[0],
            wall_s=time.perf_counter() - began[1],
        )


def score_results(task: Task, suite: Suite, results: list[InstanceResult]) -> Evaluation:
    """The evaluation that the results of a whole suite add up to."""
    verdicts = [Verdict(outcome=r.outcome, cost=r.cost, detail=r.detail) for r in results]
    summary = task.judge.summarise(verdicts, suite.instances)
    first = next((result for result in results if result.outcome is not Outcome.OK), None)
    return Evaluation(
        task=task.name,
        suite=suite.name,
        outcome=Outcome.OK if first is None else first.outcome,
        detail="" if first is None else f"instance {first.instance}: {first.detail}",
        combined_score=summary.score,
        published_score=summary.published_score,
        ceiling=ceiling_of(task, suite),
        metrics=summary.metrics,
        results=tuple(results),
        feedback="",
        sandbox=IN_THE_HARNESS,
        evaluator_version="",
        runtime_s=sum(result.cpu_s for result in results) / len(results),
    )

"""An exact solver as a peer of programs: what it reaches on a suite in a given time per instance.

Its answers are judged and scored exactly as a program's. It is trusted code that runs in the harness, with as many
threads as it likes, so that its time is no comparison with a program's CPU.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

from evaluator.errors import EvaluatorError, SandboxError, TaskError
from evaluator.evaluation import Evaluation, InstanceResult, Outcome, Verdict
from evaluator.suite_scorer import SuiteScorer
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
            answer = solver.call("place", f" on instance {instance.index}", instance, seconds=seconds)
            verdict = task.judge.judge(instance, answer)
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
    evaluation = SuiteScorer(task, suite).score(results, sandbox=IN_THE_HARNESS, evaluator_version="")
    return replace(evaluation, runtime_s=sum(result.cpu_s for result in results) / len(results))

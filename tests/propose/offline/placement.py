"""Requests, as the loop makes them, and programs run on real instances of the placement task."""

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from evaluator.evaluation import Outcome, Verdict
from evaluator.task import Instance, Task
from evaluator.task_files import load_task
from evaluator.tasks.placement.adapter import prepare
from evolve.core.program import PatchKind
from evolve.proposal import Request, ScoredProgram
from tests.builders import make_evaluation, make_origin, make_scored

ENTRY = "compute_model_placement"


def candidate(source: str, generation: int = 0, score: float = 1.0) -> ScoredProgram:
    evaluation = make_evaluation(score=score, results=(), ceiling=None, metrics={}, sandbox="none", runtime_s=0.0)
    return make_scored(source, generation, evaluation, make_origin(model="offline", description=""))


def request_for(
    source: str,
    *,
    kind: PatchKind = PatchKind.DIFF,
    inspirations: Sequence[str] = (),
    seed: int = 0,
    generation: int = 1,
    attempt: int = 0,
) -> Request:
    return Request(
        seed=seed,
        generation=generation,
        attempt=attempt,
        kind=kind,
        parent=candidate(source),
        inspirations=tuple(candidate(text, number + 1) for number, text in enumerate(inspirations)),
    )


@lru_cache(maxsize=1)
def placement() -> tuple[Task, tuple[Instance, ...]]:
    task = load_task("placement")
    return task, task.suite("adrs").instances


def run_on(source: str, instances: Sequence[Instance]) -> list[Verdict]:
    """The verdicts on a program of ours (trusted, so in this process), judged as the evaluator does."""
    space: dict[str, object] = {"__name__": "candidate"}
    exec(compile(source, "candidate.py", "exec"), space)
    entry = space[ENTRY]
    assert callable(entry)
    verdicts = []
    for instance in instances:
        arguments, encode = prepare(json.loads(json.dumps(dict(instance.data))))
        verdicts.append(placement()[0].judge.judge(instance, encode(entry(*arguments))))
    return verdicts


def total_cost(source: str, count: int = 10) -> Fraction:
    """The sum of a program's costs on the first instances. Asserts that every verdict is ok."""
    verdicts = run_on(source, placement()[1][:count])
    assert [verdict.outcome for verdict in verdicts] == [Outcome.OK] * count
    return sum((verdict.cost for verdict in verdicts if verdict.cost is not None), Fraction(0))

"""Requests, as the loop makes them, and programs run on real instances of the placement task."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import pytest

from evaluator.evaluation import Evaluation, Outcome, Verdict
from evaluator.task import Instance, Task
from evaluator.task_files import load_task
from evaluator.tasks.placement.adapter import prepare
from evolve.offline.proposer import OfflineProposer
from evolve.program import Origin, PatchKind, Program
from evolve.proposal import Request, ScoredProgram

ENTRY = "compute_model_placement"


def candidate(source: str, generation: int = 0, score: float = 1.0) -> ScoredProgram:
    return ScoredProgram(
        program=Program(
            commit=f"{generation:040x}",
            generation=generation,
            source=source,
            parents=(),
            island=0,
            origin=Origin(kind=PatchKind.DIFF, model="offline", patch_name="a_patch", description=""),
        ),
        evaluation=Evaluation(
            task="placement",
            suite="adrs",
            outcome=Outcome.OK,
            combined_score=score,
            published_score=score,
            ceiling=None,
            metrics={},
            results=(),
            feedback="",
            sandbox="none",
            evaluator_version="test",
        ),
    )


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


@pytest.fixture(scope="session")
def task() -> Task:
    return placement()[0]


@pytest.fixture(scope="session")
def initial(task: Task) -> str:
    return task.initial.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def folder(task: Task) -> Path:
    assert task.ingredients is not None
    return task.ingredients


@pytest.fixture(scope="session")
def proposer(folder: Path) -> OfflineProposer:
    return OfflineProposer(folder, entry_point=ENTRY)


@pytest.fixture(scope="session")
def grown(initial: str, proposer: OfflineProposer) -> list[str]:
    """Programs at several distances from the initial one, as a blind search without judging makes them."""
    programs = [initial]
    for generation in range(1, 23):
        request = request_for(
            programs[-1] if generation % 3 else programs[len(programs) // 2],
            kind=PatchKind.DIFF if generation % 4 else PatchKind.CROSS,
            inspirations=programs[-3:-1],
            generation=generation,
        )
        edit = proposer.propose(request)
        if edit is not None:
            programs.append(edit.source)
    return programs


@pytest.fixture(scope="session")
def cost_of() -> Callable[..., Fraction]:
    return total_cost


@pytest.fixture(scope="session")
def make_request() -> Callable[..., Request]:
    return request_for

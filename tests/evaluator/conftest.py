"""A tiny task with tight limits, scored by real processes."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.evaluator import SandboxedEvaluator
from evaluator.task import Limits, Suite, Task
from evaluator.task_files import load_task


class QuickLimits(Limits):
    """Wall limits of a second, so that the tests of the backstop need not wait for it."""

    @property
    def wall_per_instance_s(self) -> float:
        return 1.0

    @property
    def wall_total_s(self) -> float:
        return 5.0


@pytest.fixture(scope="session")
def smallest() -> Task:
    return load_task(str(Path(__file__).parent.parent / "data" / "smallest"))


@pytest.fixture(scope="session")
def quick_suite(smallest: Task) -> Suite:
    suite = smallest.suite()
    return dataclasses.replace(suite, limits=QuickLimits(**dataclasses.asdict(suite.limits)))


@pytest.fixture(scope="module")
def evaluator(smallest: Task) -> Iterator[SandboxedEvaluator]:
    with SandboxedEvaluator(smallest, smallest.suite(), workers=1) as evaluator:
        yield evaluator

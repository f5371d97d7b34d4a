"""A tiny task with tight limits, scored by real processes."""

import dataclasses
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

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


SMALLEST = Path(__file__).parent.parent / "data" / "smallest"


@pytest.fixture(scope="session")
def smallest() -> Task:
    return load_task(str(SMALLEST))


@pytest.fixture(scope="session")
def with_numpy(smallest: Task) -> Task:
    """The task `smallest`, whose programs may import numpy: a worker then takes three times the CPU to start."""
    return dataclasses.replace(smallest, packages=("numpy",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the task `smallest`, for a test to change."""
    return Path(shutil.copytree(SMALLEST, tmp_path / "smallest", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def changed(folder: Path) -> Callable[..., Task]:
    """Loads the copy with keys of its `task.yaml` replaced."""

    def load(**keys: Any) -> Task:
        path = folder / "task.yaml"
        path.write_text(yaml.safe_dump(yaml.safe_load((SMALLEST / "task.yaml").read_text()) | keys))
        return load_task(str(folder))

    return load


@pytest.fixture(scope="session")
def quick_suite(smallest: Task) -> Suite:
    suite = smallest.suite()
    return dataclasses.replace(suite, limits=QuickLimits(**dataclasses.asdict(suite.limits)))


@pytest.fixture(scope="module")
def evaluator(smallest: Task) -> Iterator[SandboxedEvaluator]:
    with SandboxedEvaluator(smallest, smallest.suite(), workers=1) as evaluator:
        yield evaluator

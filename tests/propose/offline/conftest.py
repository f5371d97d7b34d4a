"""The placement task with its offline proposer, and programs that it made."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from evaluator.task import Task
from evolve.core.program import PatchKind
from evolve.proposal import Request
from evolve.propose.offline.proposer import OfflineProposer
from tests.propose.offline.placement import ENTRY, placement, request_for, total_cost


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

"""A changed file of a repository that is certain to fail when it is loaded is refused before any test runs."""

from pathlib import Path

import pytest

from evaluator.task import Task
from evolve.core.completion import Completion
from evolve.core.errors import PatchError
from evolve.core.program import PatchKind
from evolve.propose.building import build_program
from tests.repository_tasks import DISTANCE, nearby_task

TOP = "def distance(first: str, second: str) -> int:\n"


def answered(task: Task, search: str, replace: str) -> list[str]:
    """The names of the files of the program that results. Raises PatchError."""
    block = f"FILE: {DISTANCE}\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"
    answer = Completion(text=f"<NAME>n</NAME><DESCRIPTION>d</DESCRIPTION><DIFF>\n{block}</DIFF>\n")
    parent = task.initial_files()
    return list(
        build_program(
            answer, kind=PatchKind.DIFF, parent=parent, parent_works=True, task=task, known=lambda _: None
        ).files
    )


def test_an_undefined_name_is_refused_where_loading_reads_it(tmp_path: Path) -> None:
    task = nearby_task(tmp_path)
    with pytest.raises(PatchError, match=f"fail: {DISTANCE}, line 4: name `limt` is not defined"):
        answered(task, TOP, f"LIMIT = limt\n\n\n{TOP}")
    assert DISTANCE in answered(task, TOP, f"{TOP}    limt\n"), "only a call reads it"

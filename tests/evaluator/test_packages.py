"""What a task's packages offer works in the sandbox, although a program can load nothing."""

from pathlib import Path

import pytest

from evaluator.opening import open_evaluator
from evaluator.task_files import load_task
from tests.builders import one_file

SWEEP = Path(__file__).parent.parent / "data" / "packages_sweep.py"


@pytest.mark.slow
def test_no_function_of_numpy_or_scipy_needs_an_import_that_is_refused() -> None:
    pytest.importorskip("scipy")
    task = load_task("circle_packing")
    with open_evaluator(task, task.suite(), workers=1) as opened:
        evaluation = opened.evaluate(one_file(SWEEP.read_text(encoding="utf-8")))
    assert evaluation.correct, evaluation.detail

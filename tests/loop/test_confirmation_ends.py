"""What may go wrong with the confirmation of a would-be best, and must not hold a session up or spoil the record."""

from pathlib import Path

import pytest

from evaluator.errors import TaskError
from evaluator.evaluation import Evaluation, Incumbent
from evaluator.program_files import Files
from evolve.progress import TaskFailed
from evolve.review.run_end import standstill
from evolve.search.stopping import StopReason
from tests.loop.by_hand import begun
from tests.loop.climbing import ROOT, configure, count, evolve, opened, patch, script
from tests.loop.drawing import configure as drawing
from tests.seams.in_process import InProcessEvaluator

LUCK = ROOT / "tests" / "data" / "luck"


class CannotConfirm(InProcessEvaluator):
    """The task's own code fails whenever a program other than the initial one is confirmed."""

    def examine(self, program: Files, evaluation: Evaluation, best: Incumbent | None = None) -> Evaluation:
        if "OFFSET -= " in program.only:
            raise TaskError("judge.py cannot do that in another order")
        return super().examine(program, evaluation)


@pytest.mark.parametrize("parallel", [1, 4])
def test_a_task_that_cannot_confirm_is_not_asked_to_for_ever(tmp_path: Path, parallel: int) -> None:
    models = [script(tmp_path, [patch(number) for number in range(1, 9)])]
    config = configure(tmp_path, models=models, generations=8, parallel=parallel)
    with begun(tmp_path / "runs" / "r", config, CannotConfirm) as run:
        assert run.go() is StopReason.GENERATIONS
        best = run.archive.reader.best
        assert best is not None and best.generation == 0
        assert len(run.archive.reader.candidates) >= 1
        failed = [event for event in run.watch.events if isinstance(event, TaskFailed)]
    assert len(failed) == 1
    assert count(tmp_path, "rescored") == 0


def test_where_the_best_is_excluded_the_highest_that_was_confirmed_takes_its_place(tmp_path: Path) -> None:
    lines = ("own, other, width = 210, 210, 0", "own, other, width = 205, 240, 1")
    evolve(tmp_path, "run", drawing(tmp_path, *lines, task=str(LUCK)), "--name", "r")
    with opened(tmp_path) as archive:
        assert archive.best is not None and archive.best.generation == 1
        assert archive.funnel.improved == 2
        output = standstill(archive)
        assert output is not None and output["proposals"] == archive.ended_since_best
    evolve(tmp_path, "resume", "r", "--exclude", "1")
    with opened(tmp_path) as archive:
        assert archive.best is not None and archive.best.generation == 2

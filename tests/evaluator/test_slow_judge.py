"""A judge that takes long is warned of once, with what that makes per program."""

from pathlib import Path

import pytest

from evaluator import slow_judge
from evaluator.slow_judge import SlowJudge, TimedJudge
from evaluator.task_files import load_task

CURVE = str(Path(__file__).resolve().parents[1] / "data" / "curve")


def test_the_first_slow_answer_is_warned_of_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_judge, "SLOW_S", 0.0)
    task = load_task(CURVE)
    suite = task.suite()
    timed = TimedJudge(task, suite)
    with pytest.warns(
        SlowJudge, match=r"judge.py needed 0.0 s for instance 0; 8 instances make 0 s per program"
    ) as seen:
        verdicts = [timed.judge(instance, 1.0) for instance in suite.instances]
    assert len(seen) == 1
    assert verdicts == [task.judge.judge(instance, 1.0) for instance in suite.instances]

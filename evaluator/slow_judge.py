"""A judge that takes long delays every program, and nobody would know why: one warning says so."""

import time
import warnings
from typing import Final

from evaluator.evaluation import Verdict
from evaluator.task import Instance, Suite, Task

SLOW_S: Final = 5.0
"""Seconds for one answer from which on a judge is slow."""


class SlowJudge(UserWarning):
    """How long a task's judge needed for one answer, and what that makes per program."""


class TimedJudge:
    """The judge of a task, for the instances of one suite. The first answer that takes it long is warned of."""

    def __init__(self, task: Task, suite: Suite) -> None:
        self._judge, self._instances = task.judge, len(suite.instances)
        self._warned = False

    def judge(self, instance: Instance, answer: object) -> Verdict:
        """See Judge.judge."""
        began = time.monotonic()
        verdict = self._judge.judge(instance, answer)
        took = time.monotonic() - began
        if took >= SLOW_S and not self._warned:
            self._warned = True
            whole = took * self._instances
            per_program = f"{whole / 60:.0f} min" if whole >= 120 else f"{whole:.0f} s"
            warnings.warn(
                f"judge.py needed {took:.1f} s for instance {instance.index}; {self._instances} instances make "
                f"{per_program} per program",
                SlowJudge,
                stacklevel=2,
            )
        return verdict

"""Warns once of a slow judge, which delays every program."""

import time
import warnings
from typing import Final

from evaluator.evaluation import Verdict
from evaluator.task import Instance, Suite, Task

SLOW_S: Final = 5.0
"""Seconds for one answer that make a judge slow."""


class SlowJudge(UserWarning):
    """The warning: a judge's time for one answer, and per program."""


class TimedJudge:
    """The judge of a task, for the instances of one suite; warns of its first slow answer."""

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

"""The judge of a task that has none: a script scores its programs (`evaluator.script`), which share its process.

There is one pseudo instance, whose cost is the `combined_score` exactly.
"""

from collections.abc import Sequence
from pathlib import Path

from evaluator.errors import TaskError
from evaluator.evaluation import Summary, Verdict
from evaluator.task import Converse, Draw, Instance, Reword


class SelfJudged:
    """The judge of a task that has none: the score is the cost of the only instance."""

    converse: Converse | None = None
    renamed: Reword | None = None
    permuted: Reword | None = None
    draw_instance: Draw | None = None

    digest = ""

    def __init__(self, path: Path) -> None:
        """`path`: the script's, for messages."""
        self._path = path

    def instances(self) -> list[None]:
        """The pseudo instance."""
        return [None]

    def judge(self, instance: Instance, answer: object) -> Verdict:
        """Raises TaskError: there are no answers."""
        raise TaskError(f"{self._path}: it scores programs itself, so that there is no answer to judge")

    def summarise(self, verdicts: Sequence[Verdict], instances: Sequence[Instance]) -> Summary:
        """The score that the script gave; 0 of a program that is not correct."""
        cost = verdicts[0].cost
        score = 0.0 if cost is None else float(cost)
        return Summary(score=score, published_score=None, metrics={})

    def draw(self, instance: Instance, answer: object) -> str:
        """Nothing."""
        return ""

    def describe(self, instance: Instance) -> str:
        """Nothing: there is one."""
        return ""

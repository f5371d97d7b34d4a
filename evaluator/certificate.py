"""The answers of a program as its certificate: whoever has them and the task can judge them again, exactly, on any
machine, without running a program.

They are kept as JSON, one text per instance: what the judge was given, and of a judge that asks item by item the list
of the answers to one instance. Together they take at most `MOST_KEPT` characters; of a program that answers more, none
are kept.
"""

import json
from collections.abc import Mapping
from typing import Final

from evaluator.evaluation import Evaluation, InstanceResult, Outcome
from evaluator.peer import score_results
from evaluator.task import Instance, Suite, Task

MOST_KEPT: Final = 8 * 1024 * 1024
"""The most characters of JSON that the answers of one program may take, all instances together."""
_encode: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class KeptAnswers:
    """The answers of one program, in the order in which they come; none of them once they are too long together."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._size = 0

    def clear(self) -> None:
        """Forget them: the program is asked from the beginning again."""
        self._texts, self._size = [], 0

    def add(self, answer: object) -> None:
        """Keep one more, as it is now."""
        if self._size <= MOST_KEPT:
            text = _encode(answer)
            self._size += len(text)
            self._texts.append(text)
        if self._size > MOST_KEPT:
            self._texts.clear()

    @property
    def texts(self) -> tuple[str, ...] | None:
        """Each answer as JSON; None when they are too long together."""
        return None if self._size > MOST_KEPT else tuple(self._texts)


def judge_again(task: Task, suite: Suite, answers: Mapping[int, object]) -> Evaluation:
    """What answers, by the index of their instance, come to; an instance without one counts as failed. No program is
    run, so that nothing is said of time. Raises TaskError."""
    return score_results(task, suite, [_result(task, instance, answers) for instance in suite.instances])


def _result(task: Task, instance: Instance, answers: Mapping[int, object]) -> InstanceResult:
    if instance.index not in answers:
        return InstanceResult(instance=instance.index, outcome=Outcome.NOT_RUN, cost=None, detail="there is no answer")
    verdict = task.judge.judge(instance, answers[instance.index])
    return InstanceResult(instance=instance.index, outcome=verdict.outcome, cost=verdict.cost, detail=verdict.detail)


def certified(task: Task, suite: Suite, evaluation: Evaluation, kept: KeptAnswers) -> tuple[str, ...] | None:
    """The answers that bear an evaluation out; None where they are too long, or the judge does not say the same of them
    once more (one that changes what its program answered item by item, say)."""
    texts = kept.texts
    if texts is None or len(texts) != len(suite.instances):
        return None
    again = judge_again(task, suite, {place: json.loads(text) for place, text in enumerate(texts)})
    same = [one.exact_result for one in again.results] == [one.exact_result for one in evaluation.results]
    return texts if same else None

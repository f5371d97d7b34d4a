"""The answers of a program as its certificate: with them and the task anybody can judge the program again, exactly, on
any machine, without running it.

They are kept as JSON, one text per instance: what the judge was given, or the list of answers where it asks item by
item. If they take more than `MOST_KEPT` characters together, none are kept.
"""

import json
from collections.abc import Mapping
from typing import Final

from evaluator.evaluation import Evaluation, InstanceResult, Outcome
from evaluator.suite_scorer import score_results
from evaluator.task import Instance, Suite, Task

MOST_KEPT: Final = 8 * 1024 * 1024
"""Characters of JSON, all instances together."""
_encode: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class KeptAnswers:
    """The answers of one program, in the order in which they come."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._size = 0

    def clear(self) -> None:
        """Forget them: the program starts again."""
        self._texts, self._size = [], 0

    def add(self, answer: object) -> None:
        """Keep a copy of one more answer."""
        if self._size <= MOST_KEPT:
            text = _encode(answer)
            self._size += len(text)
            self._texts.append(text)
        if self._size > MOST_KEPT:
            self._texts.clear()

    @property
    def texts(self) -> tuple[str, ...] | None:
        """Each answer as JSON; None where they are too long together."""
        return None if self._size > MOST_KEPT else tuple(self._texts)


def judge_again(task: Task, suite: Suite, answers: Mapping[int, object]) -> Evaluation:
    """The evaluation of answers, given by the index of their instance, without times; an instance without an answer
    counts as failed. Raises TaskError."""
    return score_results(task, suite, [_result(task, instance, answers) for instance in suite.instances])


def _result(task: Task, instance: Instance, answers: Mapping[int, object]) -> InstanceResult:
    if instance.index not in answers:
        return InstanceResult(instance=instance.index, outcome=Outcome.NOT_RUN, cost=None, detail="there is no answer")
    verdict = task.judge.judge(instance, answers[instance.index])
    return InstanceResult(instance=instance.index, outcome=verdict.outcome, cost=verdict.cost, detail=verdict.detail)


def certificate_of(task: Task, suite: Suite, evaluation: Evaluation, kept: KeptAnswers) -> tuple[str, ...] | None:
    """The answers that prove an evaluation; None where they are too long, or where judging them again gives another
    result (a judge may change the answers that it gets item by item)."""
    texts = kept.texts
    if texts is None or len(texts) != len(suite.instances):
        return None
    again = judge_again(task, suite, {place: json.loads(text) for place, text in enumerate(texts)})
    same = all(a.exact_result == b.exact_result for a, b in zip(again.results, evaluation.results, strict=True))
    return texts if same else None

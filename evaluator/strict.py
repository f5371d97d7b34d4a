"""Strict re-evaluation: does a program answer the same, however it is asked?

First it is asked again just as it was. Then everything that must not matter is changed at once: a fresh process for
each instance, the instances in another order, another hash seed for strings, other names (the task's hook `renamed`);
`random` is seeded per instance as ever. A program passes when outcome and exact cost agree on every instance. One that
does not is asked once more with one change at a time, to say what it depends on; what is found is asked for a second
time, so that a program which never answers twice alike is called that and nothing worse.

Two evaluations that differ only in a limit of time or memory prove nothing: `inconclusive`. What a clock shows is seen
when it makes an answer differ between two evaluations a moment apart; a program that imports a clock is asked again
only after the second has changed.
"""

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

from evaluator.evaluation import (
    Classification,
    Disagreement,
    Evaluation,
    InstanceResult,
    Outcome,
    StrictReport,
    Verdict,
)
from evaluator.running import Question, Runner, question
from evaluator.sandbox.pool import WorkerPool
from evaluator.task import Suite, Task

OTHER_HASH_SEED: Final = 20_11
PERMUTATIONS: Final = 3
"""So many seeded orders are tried for `order_scores`."""
SHOWN: Final = 5
"""The most disagreements that a report holds."""
_LIMITS: Final = frozenset(
    {Outcome.TIMEOUT, Outcome.CPU_LIMIT, Outcome.OOM}
)  # what says as much about the moment and the machine as about the program
_CLOCK: Final = re.compile(r"\b(?:import|from)\s[^#\n]*\b(?:time|datetime)\b")
_NEXT_SECOND_S: Final = 1.05
# Appended to a program, it takes one place of every size that small objects can have, so that what the program makes
# lies at other addresses; what it computes from them (the order of a set of objects, say) then changes too.
_BALLAST: Final = "\n\n_ballast = [bytes(size) for size in range(0, 480, 16)]\n"

_HOW: Final = {
    "again": "asked again",
    "at once": "everything changed at once",
    "fresh": "in a fresh process for each instance",
    "hash": "with another hash seed",
    "names": "with other names",
}
_WHY: Final = {
    Classification.NONDETERMINISTIC: (
        "it depends on a clock, on the system's randomness or on memory addresses. Read no clock, and draw every "
        "random number from a generator that the function seeds"
    ),
    Classification.HASH_ORDER: (
        "it depends on the order of a set of strings, or on hash() of one. Sort before iterating, or use a list"
    ),
    Classification.STATE: (
        "it keeps state from one instance to the next (a counter, a cache, a generator made outside the function). "
        "Make everything that changes inside the function"
    ),
    Classification.NAMES: "it depends on the names in an instance, which mean nothing. Go by the quantities alone",
    Classification.INCONCLUSIVE: "it is too near to a limit to be called correct, and was not compared there",
}
_Ask = Callable[[str], Sequence[InstanceResult]]


class Examination:
    """Asks programs of one suite in every way that must not matter. `pool` has the ordinary hash seed."""

    def __init__(self, *, task: Task, suite: Suite, runner: Runner, pool: WorkerPool, other_pool: WorkerPool) -> None:
        self._task = task
        self._suite = suite
        self._runner = runner
        self._pool = pool
        self._other_pool = other_pool
        self._ordinary = tuple(question(suite, instance) for instance in suite.instances)
        self._renamed = self._ordinary
        if task.judge.renamed is not None:
            self._renamed = tuple(
                question(suite, instance, task.judge.renamed(instance.data)) for instance in suite.instances
            )
        skipped = (("names", task.judge.renamed), ("order", task.judge.permuted))
        self._skipped = tuple(name for name, hook in skipped if hook is None)

    def wait(self, source: str) -> None:
        """Before `report`, until a clock that the program reads shows another second: nobody is held up meanwhile."""
        if _CLOCK.search(source):
            self._pool.cancellation.sleep(_NEXT_SECOND_S)

    def report(self, source: str, evaluation: Evaluation, *, orders: bool) -> StrictReport:
        """What becomes of `evaluation`, which is of `source`, when the program is asked otherwise.

        `orders`: measure `order_scores` of a program that agrees and is correct.
        """
        before = evaluation.results
        again = self._compare("again", before, self._again(source))
        if again:
            return self._found(Classification.NONDETERMINISTIC, again)
        at_once = self._compare("at once", before, self._at_once(source))
        if not at_once:
            order_scores = self._order_scores(source, evaluation) if orders else ()
            return StrictReport(agrees=True, skipped=self._skipped, order_scores=order_scores)
        if _only_limits(at_once):
            return self._found(Classification.INCONCLUSIVE, at_once)
        return self._classified(source, before, at_once)

    def _classified(
        self, source: str, before: Sequence[InstanceResult], at_once: Sequence[Disagreement]
    ) -> StrictReport:
        """Which single change makes a program answer otherwise."""
        again = self._compare("again", before, self._again(source))
        if again and not _only_limits(again):
            return self._found(Classification.NONDETERMINISTIC, again)
        changes: list[tuple[Classification, str, _Ask, str]] = [
            (Classification.STATE, "fresh", self._apart, source + _BALLAST),
            # Before names: the order of a set of names changes with the names, too.
            (Classification.HASH_ORDER, "hash", self._hashed, source),
            (Classification.NAMES, "names", self._named, source),
        ]
        for classification, how, ask, source_again in changes:
            first = ask(source)
            found = self._compare(how, before, first)
            if not found or _only_limits(found):
                continue
            if self._compare(how, first, ask(source_again)):
                return self._found(Classification.NONDETERMINISTIC, found)
            return self._found(classification, found)
        return self._found(Classification.NONDETERMINISTIC, at_once)

    # -- ways of asking: each gives a result per instance, in the order of the suite ------------------------------

    def _again(self, source: str) -> Sequence[InstanceResult]:
        return self._runner.run(source, self._ordinary, self._pool).results

    def _hashed(self, source: str) -> Sequence[InstanceResult]:
        return self._runner.run(source, self._ordinary, self._other_pool).results

    def _named(self, source: str) -> Sequence[InstanceResult]:
        return self._runner.run(source, self._renamed, self._pool).results

    def _apart(self, source: str) -> Sequence[InstanceResult]:
        return self._each(source, self._ordinary, self._pool)

    def _at_once(self, source: str) -> Sequence[InstanceResult]:
        return self._each(source, self._renamed, self._other_pool)

    def _each(self, source: str, questions: Sequence[Question], pool: WorkerPool) -> Sequence[InstanceResult]:
        """A fresh process for each instance, in another order."""
        shuffled = list(questions)
        random.Random(f"{self._suite.name}:strict").shuffle(shuffled)
        results: dict[int, InstanceResult] = {}
        for each in shuffled:
            run = self._runner.run(source, [each], pool)
            (result,) = run.results
            if result.outcome is Outcome.NOT_RUN:  # it did not load this time
                result = InstanceResult(instance=result.instance, outcome=run.outcome, cost=None, detail=run.detail)
            results[result.instance] = result
        return [results[each.instance.index] for each in questions]

    def _order_scores(self, source: str, evaluation: Evaluation) -> tuple[float, ...]:
        """The score as it was, then with each instance in `PERMUTATIONS` other orders. Empty when not measured."""
        if self._task.judge.permuted is None or evaluation.outcome is not Outcome.OK:
            return ()
        scores = [evaluation.combined_score]
        for number in range(PERMUTATIONS):
            questions = []
            for instance in self._suite.instances:
                rng = random.Random(f"{self._suite.name}:{instance.index}:{number}")
                questions.append(question(self._suite, instance, self._task.judge.permuted(instance.data, rng)))
            run = self._runner.run(source, questions, self._pool)
            verdicts = [Verdict(outcome=r.outcome, cost=r.cost, detail=r.detail) for r in run.results]
            scores.append(self._task.judge.summarise(verdicts, self._suite.instances).score)
        return tuple(scores)

    # -- comparing ------------------------------------------------------------------------------------------------

    def _compare(
        self, how: str, before: Sequence[InstanceResult], after: Sequence[InstanceResult]
    ) -> list[Disagreement]:
        """Where two results disagree. What was not run after the program had died is not compared."""
        return [
            Disagreement(instance=one.instance, how=_HOW[how], ordinary=one.exact_result, found=other.exact_result)
            for one, other in zip(before, after, strict=True)
            if one.exact_result != other.exact_result and Outcome.NOT_RUN not in (one.outcome, other.outcome)
        ]

    def _found(self, classification: Classification, found: Sequence[Disagreement]) -> StrictReport:
        if _only_limits(found):
            classification = Classification.INCONCLUSIVE
        first, total = found[0], len(self._suite.instances)
        return StrictReport(
            agrees=False,
            classification=classification,
            detail=(
                f"{first.how}, it answers otherwise on {len(found)} of {total} instances "
                f"(instance {first.instance}: {_said(first.ordinary)}, then {_said(first.found)}): "
                f"{_WHY[classification]}"
            ),
            differences=tuple(found[:SHOWN]),
            skipped=self._skipped,
        )


def _only_limits(found: Sequence[Disagreement]) -> bool:
    return all(d.ordinary[0] in _LIMITS or d.found[0] in _LIMITS for d in found)


def _said(side: tuple[Outcome, object]) -> str:
    outcome, cost = side
    return outcome.value if cost is None else f"cost {cost}"

"""Strict re-evaluation: does a program answer the same, however it is asked?

First it is asked again just as it was. Then everything that must not matter is changed at once: fresh processes for
groups of instances, the instances in another order, another hash seed for strings, other names (the task's hook
`renamed`); `random` is seeded per instance as ever. Nothing that a program sees says that it is examined: names have
the shape that they always have, and a process is asked one instance or several, as chance has it. How all is dealt out
is a function of the run's seed and of the program, so that the same run finds the same.

A program passes when outcome and exact cost agree on every instance. One that does not is asked once more with one
change at a time, to say what it depends on; what is found is asked for a second time, so that a program which never
answers twice alike is called that and nothing worse.

A program that passes is also scored in other orders (the task's hook `permuted`), drawn by the run's seed: the range of
these scores stands in the report, and says how much of a score is luck of the order.

Two evaluations that differ only in a limit of time or memory prove nothing: `inconclusive`. What a clock shows is seen
when it makes an answer differ between two evaluations a moment apart; a program that imports a clock is asked again
only after the second has changed.
"""

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any, Final

from evaluator.certificate import KeptAnswers
from evaluator.evaluation import (
    OF_THE_MOMENT,
    Classification,
    Disagreement,
    Evaluation,
    InstanceResult,
    OrderRange,
    Outcome,
    StrictReport,
    Verdict,
)
from evaluator.running import Question, Runner, question
from evaluator.sandbox.pool import WorkerPool
from evaluator.task import Suite, Task

OTHER_HASH_SEED: Final = 20_11
MOST_GROUPS: Final = 12
"""In so many fresh processes at most the instances of a suite are asked: it bounds what strict re-evaluation costs."""
ORDERS: Final = 5
"""How many other orders confirm a score, and how many new ones follow at a run's end."""
_MOST_DRAWN: Final = 100
"""How many orders are drawn at most in search of different ones: tiny instances have few."""
SHOWN: Final = 5
"""The most disagreements that a report holds."""
_CLOCK: Final = re.compile(r"(?:^|#)(?>[^#\n]*?\b(?:import|from)\s)[^#\n]*\b(?:time|datetime)\b", re.MULTILINE)
_NEXT_SECOND_S: Final = 1.05
# Appended to a program, it takes one place of every size that small objects can have, so that what the program makes
# lies at other addresses; what it computes from them (the order of a set of objects, say) then changes too.
_BALLAST: Final = "\n\n_ballast = [bytes(size) for size in range(0, 480, 16)]\n"

_HOW: Final = {
    "again": "asked again",
    "at once": "everything changed at once",
    "fresh": "in fresh processes, and in another order",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deal:
    """How one program is examined: the instances with other names, and the groups (places in the suite) that a fresh
    process each is asked, in that order."""

    renamed: tuple[Question, ...]
    groups: tuple[tuple[int, ...], ...]


def dealt_out(count: int, rng: random.Random) -> tuple[tuple[int, ...], ...]:
    """The places 0 .. count - 1 in another order, in groups of random size: at most MOST_GROUPS, and more than one."""
    order = rng.sample(range(count), count)
    groups = min(MOST_GROUPS, count // 2 + 1)
    ends = [*sorted(rng.sample(range(1, count), groups - 1)), count]
    return tuple(tuple(order[begin:end]) for begin, end in zip([0, *ends], ends, strict=False))


class Examination:
    """Asks programs of one suite in every way that must not matter. `pool` has the ordinary hash seed; `seed` is the
    run's, which no program sees."""

    def __init__(
        self, *, task: Task, suite: Suite, runner: Runner, pool: WorkerPool, other_pool: WorkerPool, seed: int
    ) -> None:
        self._task = task
        self._suite = suite
        self._runner = runner
        self._pool = pool
        self._other_pool = other_pool
        self._seed = seed
        self._ordinary = tuple(question(instance) for instance in suite.instances)
        skipped = (("names", task.judge.renamed), ("order", task.judge.permuted))
        self._skipped = tuple(name for name, hook in skipped if hook is None)

    def wait(self, source: str) -> None:
        """Before `report`, until a clock that the program reads shows another second: nobody is held up meanwhile."""
        if _CLOCK.search(source):
            self._pool.cancellation.sleep(_NEXT_SECOND_S)

    def report(self, source: str, evaluation: Evaluation, kept: KeptAnswers | None = None) -> StrictReport:
        """What becomes of `evaluation`, which is of `source`, when the program is asked otherwise.

        `kept` gets the program's answers, when it is asked again just as it was.
        """
        before = evaluation.results
        again = self._compare("again", before, self._asked(source, self._ordinary, self._pool, kept))
        if again:
            return self._found(Classification.NONDETERMINISTIC, again)
        deal = self._deal(source)
        at_once = self._compare("at once", before, self._apart(source, deal, before, deal.renamed, self._other_pool))
        if not at_once:
            confirmed = self.in_orders(source) if evaluation.correct else None
            return StrictReport(agrees=True, skipped=self._skipped, confirmed=confirmed)
        if only_limits(at_once):
            return self._found(Classification.INCONCLUSIVE, at_once)
        return self._classified(source, deal, before, at_once)

    def _classified(
        self, source: str, deal: _Deal, before: Sequence[InstanceResult], at_once: Sequence[Disagreement]
    ) -> StrictReport:
        """Which single change makes a program answer otherwise."""
        again = self._compare("again", before, self._asked(source, self._ordinary, self._pool))
        if again and not only_limits(again):
            return self._found(Classification.NONDETERMINISTIC, again)
        changes: list[tuple[Classification, str, _Ask, str]] = [
            (
                Classification.STATE,
                "fresh",
                lambda text: self._apart(text, deal, before, self._ordinary, self._pool),
                source + _BALLAST,
            ),
            # Before names: the order of a set of names changes with the names, too.
            (
                Classification.HASH_ORDER,
                "hash",
                lambda text: self._asked(text, self._ordinary, self._other_pool),
                source,
            ),
            (Classification.NAMES, "names", lambda text: self._asked(text, deal.renamed, self._pool), source),
        ]
        for classification, how, ask, source_again in changes:
            first = ask(source)
            found = self._compare(how, before, first)
            if not found or only_limits(found):
                continue
            if self._compare(how, first, ask(source_again)):
                return self._found(Classification.NONDETERMINISTIC, found)
            return self._found(classification, found)
        return self._found(Classification.NONDETERMINISTIC, at_once)

    def _deal(self, source: str) -> _Deal:
        """Drawn from what no program can know of itself beforehand: the run's seed, with a digest of the program."""
        digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
        rng = random.Random(f"{self._seed}:{self._suite.digest}:{digest}:strict")
        groups = dealt_out(len(self._ordinary), rng)
        renamed = self._task.judge.renamed
        if renamed is None:
            return _Deal(renamed=self._ordinary, groups=groups)
        worded = tuple(question(each, renamed(each.data, rng)) for each in self._suite.instances)
        return _Deal(renamed=worded, groups=groups)

    # -- ways of asking: each gives a result per instance, in the order of the suite ------------------------------

    def _asked(
        self, source: str, questions: Sequence[Question], pool: WorkerPool, kept: KeptAnswers | None = None
    ) -> Sequence[InstanceResult]:
        return self._runner.run(source, questions, pool, kept=kept).results

    def _apart(
        self,
        source: str,
        deal: _Deal,
        before: Sequence[InstanceResult],
        questions: Sequence[Question],
        pool: WorkerPool,
    ) -> Sequence[InstanceResult]:
        """A fresh process for each group, until the program does not survive what it survived `before`: that is found
        then, and to wait for a limit once for each instance would hold up everybody. What was not run before is not."""
        results = {each.instance: replace(each, outcome=Outcome.NOT_RUN, cost=None) for each in before}
        known = {each.instance: each for each in before if each.outcome is not Outcome.NOT_RUN}
        for group in deal.groups:
            asked = [questions[place] for place in group if questions[place].instance.index in known]
            while asked:  # what stands behind an instance that it did not survive is asked in a process of its own
                run = self._runner.run(source, asked, pool)
                found = [result for result in run.results if result.outcome is not Outcome.NOT_RUN]
                if not found:  # it did not load this time
                    found = [
                        InstanceResult(instance=result.instance, outcome=run.outcome, cost=None, detail=run.detail)
                        for result in run.results
                    ]
                results |= {result.instance: result for result in found}
                asked, last = asked[len(found) :], found[-1]
                died = last.outcome is not Outcome.OK and (asked or last.outcome in OF_THE_MOMENT)
                if died and self._side(last) != self._side(known[last.instance]):
                    return [results[each.instance.index] for each in questions]
        return [results[each.instance.index] for each in questions]

    def in_orders(self, source: str, *, new: bool = False) -> OrderRange | None:
        """What the program scores in ORDERS other orders, the same for every program of a run; `new`: in those that
        follow them. None where there is no other order, or the clock is the score."""
        first = ORDERS if new else 0
        orders = () if self._task.uses_clock else islice(self._orders(), first, first + ORDERS)
        return OrderRange.of([self._score_in(source, questions) for questions in orders])

    def _orders(self) -> Iterator[Sequence[Question]]:
        """Different orders of the whole suite, none of them its own."""
        permuted = self._task.judge.permuted
        seen: list[list[Any]] = [[instance.data for instance in self._suite.instances]]
        for number in range(0 if permuted is None else _MOST_DRAWN):
            assert permuted is not None
            rng = random.Random(f"{self._seed}:{self._suite.digest}:order {number}")
            order = [permuted(instance.data, rng) for instance in self._suite.instances]
            if order not in seen:
                seen.append(order)
                yield tuple(map(question, self._suite.instances, order))

    def _score_in(self, source: str, questions: Sequence[Question]) -> float | None:
        results = self._runner.run(source, questions, self._pool).results
        verdicts = [Verdict(outcome=r.outcome, cost=r.cost, detail=r.detail) for r in results]
        if any(verdict.outcome is not Outcome.OK for verdict in verdicts):
            return None
        return self._task.judge.summarise(verdicts, [each.instance for each in questions]).score

    # -- comparing ------------------------------------------------------------------------------------------------

    def _compare(
        self, how: str, before: Sequence[InstanceResult], after: Sequence[InstanceResult]
    ) -> list[Disagreement]:
        """Where two results disagree. What was not run after the program had died is not compared."""
        return [
            Disagreement(instance=one.instance, how=_HOW[how], ordinary=self._side(one), found=self._side(other))
            for one, other in zip(before, after, strict=True)
            if self._side(one) != self._side(other) and Outcome.NOT_RUN not in (one.outcome, other.outcome)
        ]

    def _side(self, result: InstanceResult) -> tuple[Outcome, Fraction | None]:
        """What is compared of a result: where the clock is the score, whether it is right, and no cost."""
        return (result.outcome, None) if self._task.uses_clock else result.exact_result

    def _found(self, classification: Classification, found: Sequence[Disagreement]) -> StrictReport:
        if only_limits(found):
            classification = Classification.INCONCLUSIVE
        first, total = found[0], len(self._suite.instances)
        return StrictReport(
            agrees=False,
            classification=classification,
            detail=(
                f"{first.how}, it answers otherwise on {len(found)} of {total} instances "
                f"(instance {first.instance}: {in_words(first.ordinary)}, then {in_words(first.found)}): "
                f"{_WHY[classification]}"
            ),
            differences=tuple(found[:SHOWN]),
            skipped=self._skipped,
        )


def only_limits(found: Sequence[Disagreement]) -> bool:
    """Whether a limit was met on one side of each."""
    return all(d.ordinary[0] in OF_THE_MOMENT or d.found[0] in OF_THE_MOMENT for d in found)


def in_words(side: tuple[Outcome, object]) -> str:
    """The cost, or why there is none."""
    outcome, cost = side
    return outcome.value if cost is None else f"cost {cost}"

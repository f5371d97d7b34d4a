"""Strict re-evaluation: are a program's answers the same in every way of asking?

First it is asked again in the same way. Then everything that must not matter changes at once: fresh processes for
groups of instances, another order of the instances, another hash seed for strings, other names (the task's hook
`renamed`); `random` is seeded per instance as always. A program cannot see that it is examined: names keep their shape,
and a process gets one instance or several, at random. All of this is a function of the run's seed and the program, so
that the same run gives the same result.

A program passes when outcome and exact cost agree on every instance. Otherwise it is asked with one change at a time,
to find what it depends on. Each finding is tried a second time, so that a program with random answers is called
nondeterministic and nothing worse.

A program that passes is also scored in other orders (the task's hook `permuted`), drawn by the run's seed: the range of
these scores shows how much of a score is luck.

Two evaluations that differ only in a limit of time or memory prove nothing: `inconclusive`. A clock is detected where
answers differ between two evaluations a moment apart; a program that imports a clock is asked again only in another
second.
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
"""The most fresh processes for the instances of a suite, which bounds the cost of strict re-evaluation."""
ORDERS: Final = 5
"""The number of other orders that confirm a score, and of new ones at a run's end."""
_MOST_DRAWN: Final = 100
"""The most orders that are drawn to find different ones: tiny instances have few."""
SHOWN: Final = 5
"""The most disagreements in a report."""
_CLOCK: Final = re.compile(r"(?:^|#)(?>[^#\n]*?\b(?:import|from)\s)[^#\n]*\b(?:time|datetime)\b", re.MULTILINE)
_NEXT_SECOND_S: Final = 1.05
# Appended to a program, it takes one place of every size of small objects, so that the program's objects get other
# addresses; what depends on addresses (the order of a set of objects, say) then changes too.
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
    """How one program is examined: the instances with other names, and the groups (places in the suite), each for a
    fresh process, in that order."""

    renamed: tuple[Question, ...]
    groups: tuple[tuple[int, ...], ...]


def dealt_out(count: int, rng: random.Random) -> tuple[tuple[int, ...], ...]:
    """The places 0 to count - 1 in another order, in 2 to MOST_GROUPS groups of random size."""
    order = rng.sample(range(count), count)
    groups = min(MOST_GROUPS, count // 2 + 1)
    ends = [*sorted(rng.sample(range(1, count), groups - 1)), count]
    return tuple(tuple(order[begin:end]) for begin, end in zip([0, *ends], ends, strict=False))


class Examination:
    """Strict re-evaluation of programs on one suite. `pool` has the ordinary hash seed; `seed` is the run's, which no
    program sees."""

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
        """Wait, before `report`, until a clock that the program imports shows another second; other programs run on."""
        if _CLOCK.search(source):
            self._pool.cancellation.sleep(_NEXT_SECOND_S)

    def report(self, source: str, evaluation: Evaluation, kept: KeptAnswers | None = None) -> StrictReport:
        """The report on `evaluation`, which is of `source`; `kept` gets the answers of the second, unchanged run."""
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
        """The report on a program with other answers: which single change causes them."""
        again = self._compare("again", before, self._asked(source, self._ordinary, self._pool))
        if again and not only_limits(again):
            return self._found(Classification.NONDETERMINISTIC, again)
        changes: list[tuple[Classification, str, _Ask]] = [
            (Classification.STATE, "fresh", lambda text: self._apart(text, deal, before, self._ordinary, self._pool)),
            # Before names: other names also change the order of a set of names.
            (Classification.HASH_ORDER, "hash", lambda text: self._asked(text, self._ordinary, self._other_pool)),
            (Classification.NAMES, "names", lambda text: self._asked(text, deal.renamed, self._pool)),
        ]
        for classification, how, ask in changes:
            first = ask(source)
            differences = self._compare(how, before, first)
            if differences and not only_limits(differences):
                ballast = _BALLAST if classification is Classification.STATE else ""
                random_answers = self._compare(how, first, ask(source + ballast))
                return self._found(Classification.NONDETERMINISTIC if random_answers else classification, differences)
        return self._found(Classification.NONDETERMINISTIC, at_once)

    def _deal(self, source: str) -> _Deal:
        """Drawn from the run's seed and a digest of the program, which no program can predict."""
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
        """A fresh process for each group, until the program dies where it did not die `before`: that decides, and
        waiting for a limit on every instance would take too long. What was not run before is left out."""
        results = {each.instance: replace(each, outcome=Outcome.NOT_RUN, cost=None) for each in before}
        by_instance = {each.instance: each for each in before if each.outcome is not Outcome.NOT_RUN}
        for group in deal.groups:
            asked = [questions[place] for place in group if questions[place].instance.index in by_instance]
            while asked:  # after an instance on which the program dies, the rest gets another process
                run = self._runner.run(source, asked, pool)
                ran = [result for result in run.results if result.outcome is not Outcome.NOT_RUN]
                if not ran:  # it did not load this time
                    ran = [replace(result, outcome=run.outcome, detail=run.detail) for result in run.results]
                results |= {result.instance: result for result in ran}
                asked, last = asked[len(ran) :], ran[-1]
                died = last.outcome is not Outcome.OK and (asked or last.outcome in OF_THE_MOMENT)
                if died and self._side(last) != self._side(by_instance[last.instance]):
                    return [results[each.instance.index] for each in questions]
        return [results[each.instance.index] for each in questions]

    def in_orders(self, source: str, *, new: bool = False) -> OrderRange | None:
        """The score range in ORDERS other orders, the same for every program of a run; `new`: in the ORDERS after
        those. None where there is no other order, or the clock is the score."""
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
        """The instances on which two results disagree, without those that were not run after the program had died."""
        return [
            Disagreement(instance=a.instance, how=_HOW[how], ordinary=self._side(a), found=self._side(b))
            for a, b in zip(before, after, strict=True)
            if self._side(a) != self._side(b) and Outcome.NOT_RUN not in (a.outcome, b.outcome)
        ]

    def _side(self, result: InstanceResult) -> tuple[Outcome, Fraction | None]:
        """The part of a result that is compared: no cost where the clock is the score."""
        return (result.outcome, None) if self._task.uses_clock else result.exact_result

    def _found(self, classification: Classification, differences: Sequence[Disagreement]) -> StrictReport:
        if only_limits(differences):
            classification = Classification.INCONCLUSIVE
        first, total = differences[0], len(self._suite.instances)
        return StrictReport(
            agrees=False,
            classification=classification,
            detail=(
                f"{first.how}, it answers otherwise on {len(differences)} of {total} instances "
                f"(instance {first.instance}: {in_words(first.ordinary)}, then {in_words(first.found)}): "
                f"{_WHY[classification]}"
            ),
            differences=tuple(differences[:SHOWN]),
            skipped=self._skipped,
        )


def only_limits(differences: Sequence[Disagreement]) -> bool:
    """Whether each disagreement has a limit on one side."""
    return all(d.ordinary[0] in OF_THE_MOMENT or d.found[0] in OF_THE_MOMENT for d in differences)


def in_words(side: tuple[Outcome, object]) -> str:
    """The cost, or the outcome where there is none."""
    outcome, cost = side
    return outcome.value if cost is None else f"cost {cost}"

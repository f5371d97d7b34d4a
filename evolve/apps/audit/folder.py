"""The audit of another system's result folder: its programs are scored in our sandbox, and its claims compared.

How a folder computes its scores is not known at first. A recorded number counts as one that we compute too where it
agrees with ours for two programs, and not by chance in one round number; or where the user names it.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from evaluator.certificate import KeptAnswers
from evaluator.errors import TaskError
from evaluator.evaluation import Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.program_files import Files
from evaluator.suite_scorer import score_results
from evaluator.task import Suite, Task
from evolve.apps.audit.claims import (
    SCORE,
    Claim,
    Claimed,
    ClaimVerdict,
    Formula,
    agree,
    claim_of_folder,
    with_reason,
)
from evolve.apps.audit.conventions import with_entry_point
from evolve.apps.audit.measuring import AuditedProgram, KeptResults, measure
from evolve.seams import Evaluator

_AGREEING: Final = 2
"""The least number of different programs whose scores must agree before a formula counts as known."""
_ROUND: Final = 1000
"""A multiple of this part of 1 is a round number, in which different formulas may agree by chance."""
_A_TOLERANCE: Final = 1e-4
"""The largest relative difference that a tolerance of the recorded evaluator is looked for in."""


class FolderAudit:
    """The audit of the programs of one folder by one evaluator. `formula` is found by `claims`; None where it is not
    known."""

    def __init__(self, claimed: Sequence[Claimed], task: Task, evaluator: Evaluator) -> None:
        self._claimed, self._task, self._evaluator = claimed, task, evaluator
        self._with_text = [each for each in claimed if each.source is not None]
        self.size = len(self._with_text)
        self.formula: Formula | None = None

    def claims(self, kept: KeptResults, *, number: str | None, workers: int, step: Callable[[], None]) -> list[Claim]:
        """A row for every program, in the folder's order. `number` is the recorded number that the user calls the
        task's metric."""
        programs = [AuditedProgram(files=self._files(each)) for each in self._with_text]
        evaluations = measure(self._evaluator, programs, kept, workers=workers, step=step)
        measured = {each.id: result for each, result in zip(self._with_text, evaluations, strict=True)}
        return self.judge(measured, number=number)

    def judge(self, measured: Mapping[str, Evaluation], *, number: str | None = None) -> list[Claim]:
        """As `claims`, of programs that are measured already, by the id that is claimed."""
        self.formula = self._formula(measured, number)
        return [self._claim(each, measured.get(each.id)) for each in self._claimed]

    def _files(self, claimed: Claimed) -> Files:
        assert claimed.source is not None
        text = with_entry_point(claimed.source, self._task.name, self._task.entry_point)
        return Files.single(self._task.program_name, text)

    def _claim(self, claimed: Claimed, measured: Evaluation | None) -> Claim:
        claim = claim_of_folder(claimed, measured, self.formula)
        if claim.verdict is not ClaimVerdict.FALLS or measured is None or self.formula is None:
            return claim
        granted = next(self._taken_for_granted(claimed, measured, self.formula), None)
        return claim if granted is None else with_reason(claim, granted)

    # -- the formula ------------------------------------------------------------------------------------------------

    def _formula(self, measured: Mapping[str, Evaluation], number: str | None) -> Formula | None:
        """The formula of the folder's score, or else of another recorded number; None where none is known."""
        kinds = self._kinds()
        if number is not None:
            return replace(kinds[0], number=number)
        agreeing = defaultdict[tuple[str, int], set[tuple[str, float]]](set)
        for each in self._claimed:
            evaluation = measured.get(each.id)
            if evaluation is None or not evaluation.correct:
                continue
            ours = [kind.value(evaluation) for kind in kinds]
            for name, stated in each.numbers.items():
                for place, value in enumerate(ours):
                    if value is not None and math.isfinite(stated) and agree(stated, value):
                        agreeing[name, place].add((self._files(each).only, value))
        known = [key for key, pairs in agreeing.items() if _is_evidence(pairs)]
        if not known:
            return None
        # The score goes before other numbers, since programs were ranked by it; then what agrees most often.
        name, place = min(known, key=lambda key: (key[0] != SCORE, -len(agreeing[key]), key))
        return replace(kinds[place], number=name)

    def _kinds(self) -> list[Formula]:
        """Every number that we compute of a program, the task's metric first."""
        objective = self._task.objective
        return [
            Formula(
                number=SCORE,
                words=objective.metric,
                value=lambda evaluation: evaluation.value,
                bound=lambda evaluation: evaluation.value_bound,
                sign=objective.direction.sign,
            ),
            Formula(
                number=SCORE,
                words="published score, by the benchmark's own formula",
                value=lambda evaluation: evaluation.published_score,
                bound=lambda evaluation: None,
                sign=1,
            ),
            Formula(
                number=SCORE,
                words="score",
                value=lambda evaluation: evaluation.combined_score,
                bound=lambda evaluation: evaluation.ceiling,
                sign=1,
            ),
        ]

    # -- what the recorded evaluator took for granted ---------------------------------------------------------------

    def _taken_for_granted(self, claimed: Claimed, measured: Evaluation, formula: Formula) -> Iterator[str]:
        """What explains the difference of a claim that falls, in sentences."""
        stated = claimed.numbers.get(formula.number)
        if stated is None or not math.isfinite(stated):
            return
        reported = [name for name in claimed.numbers if "report" in name and agree(claimed.numbers[name], stated)]
        if reported and formula.number not in reported:
            yield f"the recorded score is what the program reported of itself ({reported[0]})"
        if (partial := self._without_failures(measured)) is not None:
            count, value = len(partial.results), formula.value(partial)
            if value is not None and agree(stated, value):
                left_out = len(measured.results) - count
                yield f"it is the score of the {count} instances that it solves: {left_out} were left out of the mean"
        value = formula.value(measured)
        if measured.correct and value and abs(stated - value) <= _A_TOLERANCE * abs(value):
            given = self._as_given(claimed)
            if given is not None and (before := formula.value(given[0])) is not None and agree(stated, before):
                yield f"its answer is valid only with a tolerance of {given[1]:.2g} or more"

    def _without_failures(self, measured: Evaluation) -> Evaluation | None:
        """The evaluation of the instances that a program solves; None where it solves all or none."""
        solved = [result for result in measured.results if result.outcome is Outcome.OK]
        if not solved or len(solved) == len(measured.results):
            return None
        instances = [self._evaluator.suite.instances[result.instance] for result in solved]
        return self._scored(
            replace(
                self._evaluator.suite,
                instances=tuple(replace(each, index=place) for place, each in enumerate(instances)),
                best_known=(),
            ),
            measured,
            [result.cost for result in solved],
        )

    def _as_given(self, claimed: Claimed) -> tuple[Evaluation, float] | None:
        """The evaluation of a program's answers as they are before the judge repairs them, and the tolerance that they
        need; None where that is not known."""
        if not isinstance(self._evaluator, SandboxedEvaluator):
            return None
        kept, suite = KeptAnswers(), self._evaluator.suite
        evaluation = self._evaluator.evaluate(self._files(claimed), kept=kept)
        if kept.texts is None or len(kept.texts) != len(suite.instances) or not evaluation.correct:
            return None
        pairs = zip(suite.instances, kept.texts, strict=True)
        given = [self._task.as_given(instance, json.loads(text)) for instance, text in pairs]
        sound = [each for each in given if each is not None]
        if len(sound) < len(given):
            return None
        scored = self._scored(suite, evaluation, [each.value for each in sound])
        return None if scored is None else (scored, float(max(each.tolerance for each in sound)))

    def _scored(self, suite: Suite, like: Evaluation, costs: Sequence[Fraction | None]) -> Evaluation | None:
        """The evaluation of other costs; None where the task's own code refuses them."""
        results = [
            replace(like.results[0], instance=place, outcome=Outcome.OK, cost=cost) for place, cost in enumerate(costs)
        ]
        try:
            return replace(score_results(self._task, suite, results), quarantine=None)
        except TaskError:
            return None


def _is_evidence(agreeing: Collection[tuple[str, float]]) -> bool:
    """Whether the programs with scores that agree show that a formula is the same."""
    scores = {score for _, score in agreeing}
    return len(agreeing) >= _AGREEING and (len(scores) > 1 or any(score * _ROUND % 1 for score in scores))

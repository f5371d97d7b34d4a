"""Scores programs over one suite by the task's evaluator script (`evaluator.script_run`), each in a sandbox of its own.

The interface and the errors are those of `evaluator.evaluator.SandboxedEvaluator`.

Where the task has a `judge.py`, the script writes the program's answers, and the judge decides in the harness. Without
one the program shares the process that scores it: the evaluation is `self_judged`. It has one pseudo instance, whose
cost is exactly the script's `combined_score`. A score that varies from run to run is not a fault; it gets a spread.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Final

from evaluator.certificate import KeptAnswers, certificate_of
from evaluator.evaluation import (
    Classification,
    Disagreement,
    Evaluation,
    Incumbent,
    InstanceResult,
    Outcome,
    StrictReport,
    Summary,
    Verdict,
)
from evaluator.feedback import feedback, shorten
from evaluator.objective import COMBINED
from evaluator.program_files import Files
from evaluator.sandbox.options import SandboxOptions
from evaluator.sandbox.tree import establish_tree
from evaluator.sandbox.turns import OF_THIS_PROCESS, Turns
from evaluator.script_run import ScriptRun, ScriptRunner
from evaluator.slow_judge import TimedJudge
from evaluator.strict import SHOWN, in_words, only_limits
from evaluator.suite_evaluator import SuiteEvaluator
from evaluator.task import Instance

SKIPPED: Final = ("hash seed", "names", "order")
"""The strict checks that a script is spared; where a judge decides, the last one is done."""
_AGAIN: Final = "asked again"
_BACKWARDS: Final = "asked in another order"
_WHY: Final = {
    Classification.NONDETERMINISTIC: "it depends on chance, on a clock or on the machine",
    Classification.STATE: "it keeps state from one instance to the next",
    Classification.INCONCLUSIVE: "it is too near to a limit to tell",
}


class ScriptEvaluator(SuiteEvaluator):
    """Scores programs by running the task's script on each."""

    def _start(self, confined: SandboxOptions) -> None:
        """Find the strongest sandbox for process trees that this machine reaches."""
        task = self._task
        self._judge = TimedJudge(task, self.suite)
        assert task.script is not None
        self._turns = Turns(self._workers, self._cancellation)
        sandbox = establish_tree(confined)
        self.sandbox = sandbox.level
        self._runner_of = partial(
            ScriptRunner,
            task.script,
            task.folder,
            sandbox=sandbox,
            turns=self._turns,
            control=self._control,
            program_folder=task.program_folder,
        )
        self._runner = self._runner_of(self.suite)

    def close(self) -> None:
        """Cancel, and wait a moment until the scripts are gone."""
        self._turns.close()

    def evaluate(self, program: Files) -> Evaluation:
        """The verdict on one program, which may be any text."""
        with self._entered():
            return self._asked(program)

    def evaluate_one(self, program: Files, place: int) -> InstanceResult:
        """The result of the program on one instance of the suite, by the task's judge, in a run of the script for it
        alone."""
        instances = self.suite.instances[place : place + 1]
        with self._entered():
            run = self._runner_of(replace(self.suite, instances=instances)).run(program)
        (verdict,) = self._verdicts(run, None, instances)
        if run.outcome is not Outcome.OK:
            verdict = Verdict(outcome=run.outcome, detail=run.detail)
        return replace(self._result(place, verdict, run), cpu_s=run.cpu_s, wall_s=run.wall_s)

    def examine(self, program: Files, evaluation: Evaluation, best: Incumbent | None = None) -> Evaluation:
        """`evaluation`, this evaluator's own of `program`, with the report of a second run.

        A program that is not correct again is not correct. Where a judge decides, the instances come in another order,
        and a program with other answers is not correct or keeps state. A self-judged score that varies gets a spread.
        """
        if self._task.self_judged:
            again = self._asked(program)
            report = _report(evaluation, again, _AGAIN)
            if not report.agrees:
                return self._refuted(evaluation, report)
            low, high = sorted((evaluation.combined_score, again.combined_score))
            spread = (low, high) if evaluation.correct and low < high else None
            return replace(evaluation, strict=report, spread=spread)
        kept = KeptAnswers()
        with OF_THIS_PROCESS.alone(self._cancellation):
            report = _report(evaluation, self._asked(program, kept, backwards=True), _BACKWARDS)
            if report.classification is Classification.NONDETERMINISTIC:
                same = _report(evaluation, self._asked(program), _AGAIN)
                report = same if not same.agrees else _classified(report, Classification.STATE)
        if not report.agrees:
            return self._refuted(evaluation, report)
        examined = replace(evaluation, strict=report)
        if not examined.correct:
            return examined
        return replace(examined, answers=certificate_of(self._task, self.suite, examined, kept))

    def _refuted(self, evaluation: Evaluation, report: StrictReport) -> Evaluation:
        """See SuiteEvaluator; a program that was not correct before is left as it is."""
        if evaluation.outcome is not Outcome.OK:
            return replace(evaluation, strict=report)
        state = report.classification is Classification.STATE
        means = "The score cannot be believed" if state else "The program counts as incorrect"
        feedback = "\n\n".join(filter(None, (f"{means}: {report.detail}", evaluation.feedback)))
        return replace(super()._refuted(evaluation, report), feedback=feedback)

    def _asked(self, program: Files, kept: KeptAnswers | None = None, *, backwards: bool = False) -> Evaluation:
        run = self._runner.run(program, backwards=backwards)
        evaluation = self._self_judged(run) if self._task.self_judged else self._judged(run, kept)
        return replace(
            evaluation,
            private=None if run.result is None else run.result.private,
            peak_memory_mb=run.peak_memory_mb,
            runtime_s=run.cpu_s / len(self.suite.instances),
        )

    # -- the script scores ----------------------------------------------------------------------------------------

    def _self_judged(self, run: ScriptRun) -> Evaluation:
        run = self._require_metric(run)
        score = None if run.result is None else run.result.score
        cost = None if run.outcome is not Outcome.OK or score is None else Fraction(score)
        result = self._result(0, Verdict(outcome=run.outcome, cost=cost, detail=run.detail), run)
        evaluation = self._scorer.score(
            [result],
            outcome=run.outcome,
            detail=run.detail,
            sandbox=self.sandbox,
            evaluator_version=self.version,
            summary=Summary(
                score=0.0 if cost is None or score is None else score,
                published_score=None,
                metrics={} if run.result is None else run.result.metrics,
            ),
        )
        return replace(evaluation, self_judged=True, feedback=run.feedback)

    def _require_metric(self, run: ScriptRun) -> ScriptRun:
        """`run`, or a failure where the metric of the task's objective is missing."""
        metric = self._task.objective.metric
        if run.outcome is not Outcome.OK or run.result is None or metric == COMBINED or metric in run.result.metrics:
            return run
        detail = f"the result is correct, and its `metrics` have no {metric!r}, which is the task's objective"
        text = "\n\n".join(filter(None, (detail, run.result.as_text())))
        return replace(run, outcome=Outcome.INVALID_OUTPUT, detail=detail, feedback=text)

    # -- a judge decides ------------------------------------------------------------------------------------------

    def _judged(self, run: ScriptRun, kept: KeptAnswers | None) -> Evaluation:
        verdicts = self._verdicts(run, kept, self.suite.instances)
        results = [self._result(place, verdict, run) for place, verdict in enumerate(verdicts)]
        evaluation = self._scorer.score(
            results, outcome=run.outcome, detail=run.detail, sandbox=self.sandbox, evaluator_version=self.version
        )
        texts = feedback(self._task, self.suite, evaluation), run.feedback
        return replace(evaluation, feedback="\n\n".join(filter(None, texts)))

    def _verdicts(self, run: ScriptRun, kept: KeptAnswers | None, instances: Sequence[Instance]) -> Sequence[Verdict]:
        """A verdict per instance, by the task's judge where there is an answer."""
        if run.result is None or run.result.answers is None:
            return [Verdict(outcome=run.outcome, detail=run.detail) for _ in instances]
        verdicts = []
        for instance, answer in zip(instances, run.result.answers, strict=True):
            if answer is None:
                verdicts.append(Verdict(outcome=Outcome.INVALID_OUTPUT, detail="the script has no answer"))
                continue
            if kept is not None:
                kept.add(answer)  # before the judge, which may change it
            verdicts.append(self._judge.judge(instance, answer))
        return verdicts

    def _result(self, place: int, verdict: Verdict, run: ScriptRun) -> InstanceResult:
        count = len(self.suite.instances)
        return InstanceResult(
            instance=self.suite.instances[place].index,
            outcome=verdict.outcome,
            cost=verdict.cost,
            detail=shorten(verdict.detail),
            cpu_s=run.cpu_s / count,
            wall_s=run.wall_s / count,
        )


def _report(before: Evaluation, again: Evaluation, how: str) -> StrictReport:
    """The comparison of two evaluations. Of a self-judged program only the outcomes must agree; the detail of the
    report says where its score varies."""
    skipped = SKIPPED if before.self_judged else SKIPPED[:-1]
    differences = [
        Disagreement(instance=first.instance, how=how, ordinary=first.exact_result, found=second.exact_result)
        for first, second in zip(before.results, again.results, strict=True)
        if first.outcome is not second.outcome or (first.cost != second.cost and not before.self_judged)
    ]
    if not differences:
        scores = before.combined_score, again.combined_score
        detail = f"asked twice, it scored {scores[0]!r} and {scores[1]!r}" if scores[0] != scores[1] else ""
        return StrictReport(agrees=True, detail=detail, skipped=skipped)
    report = StrictReport(agrees=False, differences=tuple(differences[:SHOWN]), skipped=skipped)
    inconclusive = only_limits(differences)
    return _classified(report, Classification.INCONCLUSIVE if inconclusive else Classification.NONDETERMINISTIC)


def _classified(report: StrictReport, classification: Classification) -> StrictReport:
    """A report that does not agree, with the reason in words."""
    first = report.differences[0]
    before, then = in_words(first.ordinary), in_words(first.found)
    return replace(
        report,
        classification=classification,
        detail=f"{first.how}, it came to {before} and then {then} (instance {first.instance}): {_WHY[classification]}",
    )
